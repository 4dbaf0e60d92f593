"""Provide functions that all launches share, for devices, clusters and the alignment of
operands."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import torch

from forgekit.errors import PlatformError, got_needed
from forgekit.kernels import VECTOR_BYTES

PIECE = 2**30  # the largest size per launch; 32-bit kernel indices may exceed it by up to one tile


def runner(compiled: Any, arch: str | None) -> Callable[..., None]:
    """Return the fastest callable for a compiled kernel; on a GPU, TVM-FFI checks the arguments."""
    call: Callable[..., None] = compiled if arch else compiled.launch
    return call if arch or torch.cuda.device_count() == 1 else on_its_device(call)


def on_its_device(call: Callable[..., None]) -> Callable[..., None]:
    """Return a function that launches on the first argument's GPU, which may not be the current
    GPU.

    The returned function raises PlatformError if that GPU's compute capability differs from that of
    the current GPU, for which the kernel was compiled.
    """
    capability = torch.cuda.get_device_capability
    compiled_for = capability()

    def run(x: torch.Tensor, *others: torch.Tensor) -> None:
        if capability(x.device) != compiled_for:
            got, needed = ("{}.{}".format(*each) for each in (capability(x.device), compiled_for))
            remedy = "select identical GPUs with CUDA_VISIBLE_DEVICES"
            what = f"compute capability of {x.device}"
            raise PlatformError(got_needed(what, got, f"{needed}, as on the first GPU", remedy))
        with torch.cuda.device(x.device):
            call(x, *others)

    return run


def strided(
    run: Callable[..., None], sizes: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> Callable[..., None]:
    """Return a launch that views each tensor's memory with these sizes and the tensor's strides, in
    elements."""
    return lambda *tensors: run(*map(torch.Tensor.as_strided, tensors, repeat(sizes), strides))


@functools.cache
def clusters_of(arch: str | None) -> int:
    """Return the maximum number of blocks per cluster: 16 on sm_90 and sm_100, 8 on sm_120, 1
    before sm_90.

    arch: the virtual GPU's architecture, or None for this machine's GPU. A cluster of 16 blocks
    exceeds the portable size of 8 that CUDA guarantees; the H200 supports it.
    """
    if arch is None:
        major = torch.cuda.get_device_capability()[0]
    else:
        major = int(arch.removeprefix("sm_").rstrip("af")) // 10
    return {8: 1, 9: 16, 10: 16}.get(major, 8)


def overlaps(arch: str | None) -> bool:
    """Return True if a kernel can start before the previous kernel ends, as on GPUs with
    clusters."""
    return clusters_of(arch) > 1


def aligned(x: torch.Tensor) -> torch.Tensor:
    """Return x, or a copy, as a contiguous tensor that begins at a 16-byte boundary. `contiguous`
    does not ensure this alignment, because it returns a contiguous tensor unchanged."""
    x = x.contiguous()
    return x.clone() if x.data_ptr() % VECTOR_BYTES else x
