"""Provide the plug-in, which replaces host code's calls to a GPU and tracks the tensors on
"cuda"."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from forgekit.cuda import bindings, cute_dsl, graphs, marks, tensors, torch_cuda
from forgekit.cuda.patches import Patches
from forgekit.vgpu.errors import KernelError, PlatformError
from forgekit.vgpu.plugins import Plugin
from forgekit.vgpu.wording import got_needed


class Cuda(Plugin):
    """Presents the virtual GPU to host code as a GPU."""

    def start(self) -> None:
        """Replace host code's calls to a GPU.

        Raises:
            PlatformError: torch finds a real GPU on this machine.
        """
        if torch.cuda.is_available():
            raise PlatformError(
                got_needed("cuda", "True on a machine with a GPU", "a machine without a GPU",
                           "leave it out, or set CUDA_VISIBLE_DEVICES= to hide the GPU")
            )  # fmt: skip
        self._patches, self._mode = Patches(), marks.Marking()
        for patch in (tensors.patch_tensors, tensors.patch_files, torch_cuda.patch_torch,
                      bindings.patch_bindings, cute_dsl.patch_cute_dsl):  # fmt: skip
            patch(self._patches)
        bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

        def in_thread(thread: threading.Thread) -> Any:
            with marks.Marking():
                return bootstrap(thread)

        self._patches.put(threading.Thread, "_bootstrap_inner", in_thread)
        marks.Marking.active = True
        self._mode.__enter__()

    def stop(self) -> None:
        """Restore the replaced calls. Tensors on "cuda" become CPU tensors, because they are in the
        CPU's memory."""
        marks.Marking.active = False
        if self._mode in torch.utils._python_dispatch._get_current_dispatch_mode_stack():
            self._mode.__exit__(None, None, None)
        self._patches.close()
        marks.KEPT.clear()

    def on_gpu(self, tensor: Any) -> bool:
        return marks.on_gpu(tensor)

    def on_host(self, tensor: Any) -> bool:
        return marks.on_host(tensor)

    def for_dlpack(self, tensor: Any) -> Any:
        return cute_dsl.GlobalTensor(tensor) if marks.on_gpu(tensor) else tensor

    def allocation_at(self, address: int) -> tuple[int, int, object] | None:
        return bindings.allocation_at(address) or marks.kept_at(address)

    def stopped(self, error: KernelError) -> KernelError:
        return cute_dsl.stopped(error)

    def current_stream(self) -> int:
        return graphs.current_stream()

    def keep(self, stream: int, work: Callable[[], object]) -> bool:
        return graphs.keep(stream, work)
