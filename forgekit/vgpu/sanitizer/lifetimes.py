"""Blocks of a cluster that reach each other's shared memory: is the other one there?

Shared memory is there from when its block starts until its last thread exits. That it has started
is certain behind a barrier of the cluster. That it has not left, if one of its warps joins, before
it exits, the access. The block's own asynchronous copies count like another block's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import WARP
from forgekit.vgpu.sanitizer.clocks import Snapshot


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
    """The accesses of a batch, until it is certain that they are over."""

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
        """Whether some block may not have started yet: no warp of it has been joined."""
        if self._started:
            return None
        warp = visits.who // WARP
        bad = warp // self._block_warps != visits.block
        if clock.vectors is not None:
            team, warps = self._warps(visits.block)
            joined = clock.vectors[team, warp[:, None] % (self._team * self._block_warps), warps]
            bad &= (joined == 0).all(axis=1)
        return _first(visits, bad)

    def too_late(self, clock: Snapshot) -> list[Bad]:
        """At the end: accesses to blocks that may have left before; none of their warps has joined
        the access."""
        found = []
        for visits in self._visits:
            bad = np.ones(len(visits.who), bool)
            if clock.vectors is not None:
                team, warps = self._warps(visits.block)
                joined = clock.vectors[team, warps, visits.place[:, None]]
                bad = (joined <= visits.epoch[:, None]).all(axis=1)
            found.append(_first(visits, bad))
        return [bad for bad in found if bad is not None]

    def _warps(self, block: Array) -> tuple[Array, Array]:
        """Blocks' teams, (n, 1), and their warps, numbered in the team: (n, warps of a block)."""
        team, mine = np.divmod(block, self._team)
        return team[:, None], mine[:, None] * self._block_warps + np.arange(self._block_warps)


def _first(visits: Visits, bad: Array) -> Bad | None:
    if not bad.any():
        return None
    i, count = int(bad.argmax()), int(np.count_nonzero(bad))
    return Bad(visits.pc, int(visits.who[i]), int(visits.block[i]), count)
