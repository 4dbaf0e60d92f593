"""Blocks of a cluster that reach each other's shared memory: is the other one there?

Shared memory is there from when its block starts until its last thread exits. That it has started
is known through a barrier of the cluster. That it has not left, if one of its warps learns, before
it exits, that the access is over. The block's own asynchronous copies count like another block's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.sanitizer.clocks import Snapshot, WarpClocks


class Visits(NamedTuple):
    """Accesses of one instruction to blocks' shared memory.

    who: threads; place: the number, in the team, of their warp or its asynchronous operations;
    epoch: of that place; block: whose memory, its row in the batch.
    """

    pc: int
    who: Array
    place: Array
    epoch: Array
    block: Array


class Bad(NamedTuple):
    """One access to memory that may not be there, and how many are like it."""

    pc: int
    who: int
    block: int
    often: int


class Lifetimes:
    """The accesses of a batch, until it is known that they are over."""

    def __init__(self, team: int, block_warps: int) -> None:
        self._team, self._block_warps = team, block_warps
        self._visits: list[Visits] = []
        self._started = team == 1

    def restart(self) -> None:
        """Everybody has met."""
        self._visits.clear()
        self._started = True

    def add(self, visits: Visits) -> None:
        self._visits.append(visits)

    def too_early(self, visits: Visits, clock: Snapshot) -> Bad | None:
        """Whether some block may not have started yet."""
        if self._started:
            return None
        bad = ~self._known(visits.block, clock.vectors, self._warps_of(visits.who), 0)
        own = visits.who // (self._block_warps * 32) == visits.block
        return _first(visits, bad & ~own)

    def too_late(self, clocks: WarpClocks) -> list[Bad]:
        """At the end: accesses to blocks that may have left before."""
        vectors, found = clocks.now.vectors, []
        for v in self._visits:
            known = np.zeros(len(v.who), bool)
            if vectors is not None:
                team, mine = np.divmod(v.block, self._team)
                for warp in range(self._block_warps):
                    place = mine * self._block_warps + warp
                    known |= vectors[team, place, v.place] > v.epoch
            bad = _first(v, ~known)
            if bad is not None:
                found.append(bad)
        return found

    def _warps_of(self, who: Array) -> Array:
        """The number in its team of each thread's warp."""
        return np.asarray(who // 32 % (self._team * self._block_warps))

    def _known(self, block: Array, vectors: Array | None, warp: Array, epoch: int) -> Array:
        """Whether warps know of an epoch of some warp of a block of their team."""
        if vectors is None:
            return np.zeros(len(block), bool)
        team, mine = np.divmod(block, self._team)
        first = mine * self._block_warps
        found = np.zeros(len(block), bool)
        for k in range(self._block_warps):
            found |= vectors[team, warp, first + k] > epoch
        return found


def _first(visits: Visits, bad: Array) -> Bad | None:
    if not bad.any():
        return None
    i = int(bad.argmax())
    count = int(np.count_nonzero(bad))
    return Bad(visits.pc, int(visits.who[i]), int(visits.block[i]), count)
