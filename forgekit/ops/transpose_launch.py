"""From a choice of kernel to something that can be called with x and y, compiled once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from forgekit.compiling.compiled import compile
from forgekit.compiling.specs import TensorSpec
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.launching import PIECE, runner
from forgekit.ops.transpose_choice import Choice, choose

__all__ = ["compile_choice", "launcher", "transpose_into"]

Run = Callable[[torch.Tensor, torch.Tensor], None]

# Types that are moved as integers of their width from the start: DLPack or TVM-FFI lack them.
_MOVED_AS = {
    torch.bool: torch.uint8,
    torch.float8_e4m3fn: torch.uint8,
    torch.float8_e5m2: torch.uint8,
    torch.uint16: torch.int16,
    torch.uint32: torch.int32,
    torch.uint64: torch.int64,
    torch.complex32: torch.int32,
    torch.complex64: torch.int64,
}


def compile_choice(choice: Choice, dtype: torch.dtype, device: str, arch: str | None = None) -> Any:
    """The compiled kernel of a choice: a function of x (M, N) and y (N, M), both of `dtype`.

    device, arch: see `forgekit.devices.current_target`.
    """
    from forgekit.kernels.copy_transpose import FlatTranspose, GatherTranspose, VectorTranspose

    bits = dtype.itemsize * 8
    align = choice.vector * dtype.itemsize
    kernel: Any
    if choice.kernel == "vector":
        promised = {0: choice.vector, 1: choice.vector}
        kernel = VectorTranspose(bits, choice.tile, choice.vector)
        x = TensorSpec(dtype, (None, None), (None, 1), align, promised)
        return compile(kernel, x, x, device=device, arch=arch)
    down: int | None = None
    across: int | None = None
    if choice.kernel == "gather":
        across = 1 if choice.contiguous else None
        threads = _threads(choice.tile, dtype.itemsize)
        kernel = GatherTranspose(bits, choice.tile, threads, choice.shifted, choice.contiguous)
    else:
        down = 1 if choice.vector > 1 else None
        kernel = FlatTranspose(bits, choice.vector > 1)
    x = TensorSpec(dtype, (None, None), (down, across), align)
    y = TensorSpec(dtype, (None, None), (None, 1), VECTOR_BYTES)
    return compile(kernel, x, y, device=device, arch=arch)


def _threads(tile: tuple[int, int], itemsize: int) -> int:
    """Threads of a block of "gather": some 20 loads each, but at least 16 bytes to store."""
    vectors = tile[0] * tile[1] * itemsize // VECTOR_BYTES
    return min(512, (64 if tile[1] == 64 else 128) * itemsize, vectors)


@functools.lru_cache(maxsize=4096)
def launcher(
    dtype: torch.dtype,
    arch: str | None,
    shape: tuple[int, int],
    stride: tuple[int, int],
    address: int,
    tile: int | None,
    apart: int | None = None,
) -> Run | None:
    """What transposes such an x into a contiguous y; None if there is nothing to do.

    dtype, shape, stride (elements), address (bytes modulo 16) of x; arch: that of the virtual GPU,
    None for the GPU; tile, apart: see `choose`. Compiles at the first call of its kind.
    """
    if 0 in shape:
        return None
    if dtype in _MOVED_AS:
        return _as_integers(_MOVED_AS[dtype], arch, tile)
    if max(shape) > PIECE:
        return _in_pieces(arch, tile)
    choice = choose(shape, stride, address, dtype.itemsize, tile, apart)
    run = compile_choice(choice, dtype, "virtual" if arch else "gpu", arch)
    call: Run = runner(run, arch)
    if choice.view == "row":
        return lambda x, y: call(x.t(), y.t())
    if choice.view == "line":
        return _as_a_line(call)
    return call


def transpose_into(x: torch.Tensor, y: torch.Tensor, arch: str | None, tile: int | None) -> None:
    """y (N, M), rows contiguous = x (M, N) transposed."""
    M, N = x.shape
    address, apart = x.data_ptr() % VECTOR_BYTES, y.stride(0)
    run = launcher(x.dtype, arch, (M, N), x.stride(), address, tile, apart)
    if run is not None:
        run(x, y)


def _as_integers(dtype: torch.dtype, arch: str | None, tile: int | None) -> Run:
    return lambda x, y: transpose_into(x.resolve_conj().view(dtype), y.view(dtype), arch, tile)


def _as_a_line(run: Run) -> Run:
    """Memory in the order of y already: one column, in pieces if it is long."""

    def call(x: torch.Tensor, y: torch.Tensor) -> None:
        source, target = x.t().view(-1, 1), y.view(1, -1)
        for at in range(0, len(source), PIECE):
            run(source[at : at + PIECE], target[:, at : at + PIECE])

    return call


def _in_pieces(arch: str | None, tile: int | None) -> Run:
    """More rows or columns than a kernel counts: piece by piece."""

    def call(x: torch.Tensor, y: torch.Tensor) -> None:
        for m in range(0, x.shape[0], PIECE):
            for n in range(0, x.shape[1], PIECE):
                piece = x[m : m + PIECE, n : n + PIECE]
                transpose_into(piece, y[n : n + PIECE, m : m + PIECE], arch, tile)

    return call
