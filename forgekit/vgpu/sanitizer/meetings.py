"""Order through memory: atomic, volatile, acquire and release accesses, with which locks, flags and
counters are made.

What a warp did before such an access is over for a warp that makes one later. Which address they
meet at is not compared, so that a correct protocol is never reported.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array


class Meetings:
    """The accesses of a launch that order others. Warps are numbered over the grid.

    time: counts the launch's accesses.
    """

    def __init__(self, warps_a_block: int) -> None:
        self.time = 0
        self.warps_a_block = warps_a_block
        self._events: list[tuple[int, Array]] = []
        self._sorted = 0  # events that the two tables hold
        self._of_warp: dict[int, list[int]] = {}
        self._of_block: dict[int, list[int]] = {}

    def add(self, warps: Array) -> None:
        """These warps make such an access now."""
        self._events.append((self.time, warps))

    def ordered(self, first: Array, earlier: int, second: Array, later: int) -> Array:
        """Whether what warp `first` did at time `earlier` is over for `second` at time `later`.

        Warps of one block meet as warps, others as blocks: within a block barriers do the rest.
        """
        result = np.zeros(len(first), bool)
        if not self._events or not len(first):
            return result
        self._sort()
        pairs, which = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
        for i, (a, b) in enumerate(pairs.T.tolist()):
            n = self.warps_a_block
            if a // n == b // n:
                released, acquired = self._of_warp.get(a, []), self._of_warp.get(b, [])
            else:
                released = self._of_block.get(a // n, [])
                acquired = self._of_block.get(b // n, [])
            after = bisect_right(released, earlier)
            before = bisect_left(acquired, later) - 1
            if after < len(released) and before >= 0 and released[after] <= acquired[before]:
                result |= which.reshape(-1) == i
        return result

    def _sort(self) -> None:
        for time, warps in self._events[self._sorted :]:
            for warp in warps.tolist():
                self._of_warp.setdefault(warp, []).append(time)
            for block in np.unique(warps // self.warps_a_block).tolist():
                self._of_block.setdefault(block, []).append(time)
        self._sorted = len(self._events)
