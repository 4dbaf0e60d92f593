"""What can watch the machine: counting, checking, tracing and drawing plug in here.

Semantics do not depend on listeners, and a machine without any pays nothing for the possibility.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.machine import Machine


class Listener:
    """Base class of all listeners: every event is ignored until a subclass cares.

    Arrays have any shape that broadcasts to `machine.shape`, (blocks, threads); a mask of None
    means every thread. `machine.pc` is the instruction, `machine.program` knows its source line.
    """

    def on_batch(self, m: Machine) -> None:
        """A batch of blocks starts."""

    def on_access(
        self, m: Machine, kind: str, space: str, address: Array, mask: Array | None, width: int
    ) -> None:
        """Threads access `width` bytes each.

        kind: `load`, `store`, `atomic`, `async load`, `async store`; space: `global`, `shared`,
        `local` or `generic`; address: virtual addresses (shared: within the block).
        """

    def on_run(self, m: Machine, start: int, stop: int, mask: Array | None) -> None:
        """The threads of `mask` have executed the instructions from `start` to before `stop`."""

    def on_divergence(self, m: Machine, taken: Array, rest: Array) -> None:
        """A branch splits the running group."""

    def on_barrier(self, m: Machine, mask: Array | None) -> None:
        """Threads arrive at a block barrier."""

    def on_warp_sync(self, m: Machine, members: Array | None) -> None:
        """Lanes meet at a warp-wide instruction (shuffle, vote, syncwarp)."""

    def on_batch_end(self, m: Machine) -> None:
        """Every thread of the batch has exited."""
