"""Plug-ins: what host code asks of a GPU besides launches of kernels.

The virtual GPU itself takes every tensor for one of the CPU's and runs each launch at once. A
plug-in changes that while it is active: it registers in `known`, and `install` starts it by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forgekit.vgpu.errors import KernelError


class Plugin:
    """What a plug-in may change; this one changes nothing."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """Undo what `start` did."""

    def on_gpu(self, tensor: Any) -> bool:
        """True if a tensor of the CPU's memory counts as memory of the GPU."""
        return False

    def on_host(self, tensor: Any) -> bool:
        """True if a kernel that gets tensors `on_gpu` cannot reach this one."""
        return False

    def for_dlpack(self, tensor: Any) -> Any:
        """What the DSL's `from_dlpack` gets in place of a tensor."""
        return tensor

    def allocation_at(self, address: int) -> tuple[int, int, object] | None:
        """(start, bytes, owner) of memory that host code has allocated by a call, or None."""
        return None

    def stopped(self, error: KernelError) -> KernelError:
        """What host code sees of a launch that was refused, or stopped half-way."""
        return error

    def current_stream(self) -> int:
        """The stream that TVM-FFI would pass: the default one."""
        return 0

    def keep(self, stream: int, work: Callable[[], object]) -> bool:
        """True if work of a stream is kept for later, and not to run now."""
        return False


known: dict[str, Callable[[], Plugin]] = {}

_NONE = Plugin()
active = _NONE


def start(name: str) -> None:
    """Start a plug-in, unless one is active already."""
    global active
    if active is _NONE:
        plugin = known[name]()
        plugin.start()
        active = plugin


def stop() -> None:
    """Stop the active plug-in, if there is one."""
    global active
    stopped, active = active, _NONE
    stopped.stop()
