"""Who is ordered after whom within a block: vector clocks of warps.

Each warp counts epochs; a barrier of the warp or of the block starts a new one. `knows[b, w, v]` is
the number of epochs of warp v that are over for everything warp w does from now on, because a
barrier lay in between (Fidge 1988, Mattern 1988).

Arrays are replaced, never changed, so that a reference to them is a snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array


_EVERYONE = -1  # the number of a barrier that the program has not


class Snapshot(NamedTuple):
    """epoch: (blocks, warps); knows: (blocks, warps, warps), or None where nobody knows a thing."""

    epoch: Array
    knows: Array | None


class WarpClocks:
    """The clocks of a batch of blocks."""

    def __init__(self, n_blocks: int, n_warps: int) -> None:
        self._start = Snapshot(np.zeros((n_blocks, n_warps), np.int32), None)
        self.now = self._start
        self._arrived: dict[int, Array] = {}  # barrier -> what those that have arrived know

    def restart(self) -> None:
        """Everybody has met: nothing before needs to be known any more."""
        self.now = self._start
        self._arrived.clear()

    def everyone(self, warps: Array) -> None:
        """Everybody has met, and what was before is still remembered somewhere."""
        self.arrive(_EVERYONE, warps)
        self.open(_EVERYONE, warps)

    def warp_sync(self, warps: Array) -> None:
        """The lanes of these warps, booleans (blocks, warps), have met."""
        self.now = Snapshot(self.now.epoch + warps.astype(np.int32), self.now.knows)

    def arrive(self, number: int, warps: Array) -> None:
        """These warps have arrived at a barrier: what they did so far is over for who passes it."""
        epoch, knows = self.now
        n_blocks, n = epoch.shape
        known = np.zeros((n_blocks, n, n), np.int32) if knows is None else knows
        own = known.copy()
        every = np.arange(n)
        own[:, every, every] = epoch + 1
        brought = np.where(warps[:, :, None], own, 0).max(axis=1)
        if number in self._arrived:
            brought = np.maximum(self._arrived[number], brought)
        self._arrived[number] = brought
        self.now = Snapshot(epoch + warps.astype(np.int32), known)

    def open(self, number: int, warps: Array) -> None:
        """A barrier has opened for these warps."""
        brought = self._arrived.get(number)
        epoch, knows = self.now
        if brought is None or knows is None:
            return
        learnt = np.where(warps[:, :, None], np.maximum(knows, brought[:, None, :]), knows)
        self.now = Snapshot(epoch, learnt)
        blocks = np.asarray(warps.any(axis=1))
        self._arrived[number] = np.where(blocks[:, None], 0, brought)
