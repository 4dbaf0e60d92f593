"""Define plug-ins, which handle the host code's requests to a GPU other than kernel launches.

Without a plug-in, the virtual GPU treats every tensor as a CPU tensor and runs each launch
immediately. A plug-in changes this behaviour while it is active. It adds itself to `known`, and
`install` starts it by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forgekit.vgpu.errors import KernelError


class Plugin:
    """The behaviour that a plug-in may change; this base class defines the default."""

    def start(self) -> None:
        """Start the plug-in."""

    def stop(self) -> None:
        """Undo what `start` did."""

    def on_gpu(self, tensor: Any) -> bool:
        """Return True if a tensor in CPU memory is treated as GPU memory."""
        return False

    def on_host(self, tensor: Any) -> bool:
        """Return True if a kernel that receives tensors `on_gpu` cannot access this tensor."""
        return False

    def for_dlpack(self, tensor: Any) -> Any:
        """Return the object to which the DSL's `from_dlpack` is applied in place of a tensor."""
        return tensor

    def allocation_at(self, address: int) -> tuple[int, int, object] | None:
        """Return (start, bytes, owner) of the memory that contains an address, if host code
        allocated it by a call; otherwise, return None."""
        return None

    def stopped(self, error: KernelError) -> KernelError:
        """Return the error that host code receives for a launch that was refused or stopped."""
        return error

    def current_stream(self) -> int:
        """Return the stream that TVM-FFI passes to a launch."""
        return 0

    def keep(self, stream: int, work: Callable[[], object]) -> bool:
        """Return True if work submitted to a stream is recorded, to run later instead of now."""
        return False


known: dict[str, Callable[[], Plugin]] = {}

_NONE = Plugin()
active = _NONE


def start(name: str) -> None:
    """Start a plug-in unless one is already active."""
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
