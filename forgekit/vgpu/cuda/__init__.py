"""A GPU for host code where there is none: torch's "cuda", cuda-python's driver and runtime.

    forgekit.vgpu.install(cuda=True)     # what `forgekit run` does, where there is no GPU

Tensors on "cuda" stay in the CPU's memory. It alone in `forgekit.vgpu` knows torch, and is imported
when it is asked for.

    patches.py          attributes that are replaced, and put back
    marks.py            which tensors count as being on the GPU
    tensors.py          what tensors answer; how they move
    products.py         products of half-precision matrices, with a GPU's bits
    torch_cuda.py       torch.cuda
    graphs.py           streams, events, captured graphs
    device.py           what the device says of itself
    bindings.py         the driver's and the runtime's calls
    cute_dsl.py         CuTe DSL's own helpers
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from forgekit.vgpu.cuda import bindings, cute_dsl, graphs, marks, tensors, torch_cuda
from forgekit.vgpu.cuda.patches import Patches
from forgekit.vgpu.errors import PlatformError
from forgekit.vgpu.host import arguments, cuda_runtime, signature
from forgekit.vgpu.wording import got_needed

_patches: Patches | None = None
_mode: marks.Marking | None = None


def pretend() -> None:
    """Let host code find a GPU, which is the virtual one.

    Raises:
        PlatformError: torch has a real GPU here.
    """
    global _patches, _mode
    if _patches is not None:
        return
    if torch.cuda.is_available():
        raise PlatformError(
            got_needed("cuda", "True on a machine with a GPU", "one without",
                       "leave it out, or set CUDA_VISIBLE_DEVICES= to hide the GPU")
        )  # fmt: skip
    _patches, _mode = Patches(), marks.Marking()
    for patch in (tensors.patch_tensors, tensors.patch_files, torch_cuda.patch_torch,
                  bindings.patch_bindings, cute_dsl.patch_cute_dsl):  # fmt: skip
        patch(_patches)
    _patches.put(arguments, "two_sides", True)
    _patches.put(cuda_runtime, "keep", graphs.keep)
    _patches.put(signature, "current_stream", graphs.current_stream)
    bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def in_thread(thread: threading.Thread) -> Any:
        with marks.Marking():
            return bootstrap(thread)

    _patches.put(threading.Thread, "_bootstrap_inner", in_thread)
    marks.Marking.active = True
    _mode.__enter__()


def pretends() -> bool:
    """Whether host code finds the virtual GPU."""
    return _patches is not None


def stop() -> None:
    """Undo `pretend`; tensors that were on "cuda" are on the CPU, where they always lay."""
    global _patches, _mode
    if _patches is None or _mode is None:
        return
    marks.Marking.active = False
    if _mode in torch.utils._python_dispatch._get_current_dispatch_mode_stack():
        _mode.__exit__(None, None, None)
    _patches.undo()
    _patches = _mode = None
