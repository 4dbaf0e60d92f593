"""What passes through clusters' barriers and mbarriers from those who arrive to those who wait.

Each has an entry: what is over for those who wait for the phase that is going on, and what is over
for those who wait for one that has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.machine.async_operations import AsyncOperation
    from forgekit.vgpu.sanitizer.clocks import WarpClocks


class SyncClocks:
    """Entries by number; made when first used."""

    def __init__(self, clocks: WarpClocks, numbers: int) -> None:
        self._clocks = clocks
        self._slots = np.full(numbers, -1, np.int32)
        self._open = np.zeros((0, clocks.now.epoch.shape[1]), np.int32)
        self._ended = self._open

    def forget(self) -> None:
        """Everybody knows everything."""
        self._open = np.zeros_like(self._open)
        self._ended = np.zeros_like(self._ended)

    def _entries(self, numbers: Array) -> Array:
        new = np.unique(numbers[self._slots[numbers] < 0])
        if len(new):
            have = len(self._open)
            self._slots[new] = np.arange(have, have + len(new))
            more = ((0, len(new)), (0, 0))
            self._open, self._ended = np.pad(self._open, more), np.pad(self._ended, more)
        return self._slots[numbers]

    def arrive(self, warps: Array, numbers: Array) -> None:
        """Warps (numbered over the batch, once for each number) tell what is over for them."""
        rows = self._clocks.own().reshape(-1, self._open.shape[1])
        at = self._entries(numbers)
        np.maximum.at(self._open, at, rows[warps])
        ticking = np.zeros(len(rows), bool)
        ticking[warps] = True
        self._clocks.replace(self._clocks.vectors())
        self._clocks.tick(ticking)

    def land(self, team_warp: Array, epochs: Array, numbers: Array) -> None:
        """Asynchronous operations of these warps (of their team) have arrived."""
        place = self._clocks.team_warps + team_warp
        at = self._entries(numbers)
        np.maximum.at(self._open, (at, place), epochs + 1)

    def end(self, numbers: Array) -> None:
        """A phase ends."""
        at = self._entries(numbers)
        self._ended[at] = np.maximum(self._ended[at], self._open[at])
        self._open[at] = 0

    def wait(self, warps: Array, numbers: Array) -> None:
        """Warps learn what the phases that have ended tell."""
        vectors = self._clocks.vectors().copy()
        rows = vectors.reshape(-1, vectors.shape[2])
        at = self._entries(numbers)
        np.maximum.at(rows, warps, self._ended[at])
        self._clocks.replace(vectors)


class AsyncToken:
    """Team, warp and epoch of each operation that one instruction has started."""

    def __init__(self, operation: AsyncOperation, clocks: WarpClocks) -> None:
        self.team, self.warp = np.divmod(operation.who // 32, clocks.team_warps)
        self.clock = clocks.now  # as they are when it starts
        self.epoch = clocks.start_async(self.team, self.warp)


def waited_for(token: AsyncToken, part: Array, clocks: WarpClocks) -> None:
    """The warps of `part` know that these operations of theirs have arrived."""
    vectors = clocks.vectors().copy()
    place = (token.team[part], token.warp[part], clocks.team_warps + token.warp[part])
    np.maximum.at(vectors, place, token.epoch[part] + 1)
    clocks.replace(vectors)
