"""Run a compiled kernel once more on the virtual GPU, on copies and quietly, and watch it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from forgekit.compiling.replay import run_again
from forgekit.errors import KernelError, MemoryAccessError, UsageError, brief, got_needed
from forgekit.vgpu.listeners import Listener

if TYPE_CHECKING:
    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.vgpu.batch import Batch
    from forgekit.vgpu.launch_record import LaunchRecord

L = TypeVar("L", bound=Listener)


def observe(
    kernel: CompiledKernel, args: tuple[Any, ...], watcher: Callable[[], L]
) -> tuple[L, KernelError | None, list[LaunchRecord]]:
    """Run on copies; what `watcher()` saw, what stopped the kernel, and what was launched.

    Blocks run together, and the first wrong access stops them all. The kernel then runs again,
    one block after the other, so that those before the wrong one come to their end.
    """
    seen, launches = watcher(), Launches()
    error = _run(kernel, args, (launches, seen))
    records = launches.launches
    if isinstance(error, MemoryAccessError) and records and math.prod(records[-1].grid) > 1:
        seen = watcher()
        _run(kernel, args, (seen,), batch_threads=1)
    return seen, error, records


class Launches(Listener):
    """Lists what was launched, in order."""

    def __init__(self) -> None:
        self.launches: list[LaunchRecord] = []

    def on_batch(self, m: Batch) -> None:
        if not self.launches or self.launches[-1] is not m.record:
            self.launches.append(m.record)


def _run(
    kernel: CompiledKernel, args: tuple[Any, ...], listeners: tuple[Listener, ...], **options: int
) -> KernelError | None:
    try:
        run_again(kernel, args, listeners=listeners, **options)
    except KernelError as error:
        return error.with_traceback(None)  # whose frames hold the whole machine
    return None


# -- blocks by number or coordinate, and what stopped the kernel -------------------------------
def stop_notes(error: KernelError | None, anything: bool) -> list[str]:
    """What stopped the kernel, in lines for a picture."""
    if error is None:
        return []
    lines = [line.strip() for line in str(error).split("\n")]
    shown = ["Shown is what had happened before."] if anything else []
    return [f"stopped: {lines[0]}", *lines[1:2], *shown]


def block_number(block: int | tuple[int, ...], records: list[LaunchRecord]) -> int:
    """A block's linear number, from that or from its coordinate in the largest grid.

    Raises:
        UsageError: no such block.
    """
    grid = max((r.grid for r in records), key=math.prod, default=(1, 1, 1))
    count = math.prod(grid)
    number = linear_block(block, grid)
    if not 0 <= number < count:
        needed = f"0 to {count - 1:,}, or a coordinate within the grid {grid}"
        remedy = "choose a block of the launch" if count > 1 else "there is one block only"
        raise UsageError(got_needed("block", brief(block), needed, remedy))
    return number


def linear_block(block: object, grid: tuple[int, int, int]) -> int:
    """The linear number of a block given so or by its coordinate; -1 for what is no block."""
    if isinstance(block, int) and not isinstance(block, bool):
        return block
    if not isinstance(block, tuple) or not 1 <= len(block) <= 3:
        return -1
    place = (*block, 0, 0)[:3]
    if not all(isinstance(b, int) and 0 <= b < n for b, n in zip(place, grid, strict=True)):
        return -1
    return place[0] + grid[0] * (place[1] + grid[1] * place[2])
