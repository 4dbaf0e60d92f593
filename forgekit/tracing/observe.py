"""Provide helpers for all views of a run: find a block by number or coordinate, and describe the
error that stopped a kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from forgekit.errors import KernelError, UsageError, brief, got_needed
from forgekit.vgpu import HARDWARE, Listener, Moment, Recording

Array = np.ndarray[Any, np.dtype[Any]]
Grid = tuple[int, int, int]

LANES = HARDWARE.LANES


class Launches(Listener):
    """Collects the launches of a run; `launches` contains one object per launch."""

    def __init__(self) -> None:
        self.launches: list[object] = []

    def on_batch(self, m: Moment) -> None:
        if not self.launches or self.launches[-1] is not m.record:
            self.launches.append(m.record)


def largest_grid(recording: Recording) -> Grid:
    grids = [launch.grid for launch in recording.launches]
    return max(grids, key=math.prod, default=(1, 1, 1))


def stop_notes(error: KernelError | None, anything: bool) -> list[str]:
    if error is None:
        return []
    lines = [line.strip() for line in str(error).split("\n")]
    shown = ["The picture shows the accesses up to the error."] if anything else []
    return [f"stopped: {lines[0]}", *lines[1:2], *shown]


def block_number(block: int | tuple[int, ...], grid: Grid) -> int:
    """Return the linear number of a block that is given as a number or a coordinate. Raise
    UsageError if there is no such block."""
    count = math.prod(grid)
    number = linear_block(block, grid)
    if not 0 <= number < count:
        needed = f"0 to {count - 1:,}, or a coordinate within the grid {grid}"
        remedy = "choose a block in the launch" if count > 1 else "choose block 0, the only block"
        raise UsageError(got_needed("block", brief(block), needed, remedy))
    return number


def linear_block(block: object, grid: Grid) -> int:
    """Return the linear number of a block that is given as a number or a coordinate, or -1 if there
    is no such block."""
    if isinstance(block, int) and not isinstance(block, bool):
        return block
    if not isinstance(block, tuple) or not 1 <= len(block) <= 3:
        return -1
    place = (*block, 0, 0)[:3]
    if not all(isinstance(b, int) and 0 <= b < n for b, n in zip(place, grid, strict=True)):
        return -1
    return place[0] + grid[0] * (place[1] + grid[1] * place[2])
