"""Order operations within a team (a block, or a cluster) by vector clocks of warps.

Each warp counts epochs; a barrier that it reaches starts a new one. `vectors[t, w, v]` is the
number of epochs of warp v that happened before warp w's next operation, because of a barrier in
between (Fidge 1988, Mattern 1988). If a kernel starts asynchronous operations, those of warp v
count as a separate warp, with number n + v if there are n warps. They are ordered before a warp
that waits for their completion; starting them does not order them.

A new epoch of a warp orders all its lanes. Only a sync of fewer lanes, `sync_warp(mask)`, is
recorded; the record is read when two lanes of the same warp touch the same memory.

Arrays are replaced, never changed, so that a reference to them is a snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import WARP, pack_lanes

_EVERYONE = -1  # a barrier number that no program uses


class PartSync(NamedTuple):
    """A synchronisation of some lanes of some warps.

    epoch: (teams, counted), the epochs that end here; met: (warps of the batch, 32), the lanes that
    each lane synchronised with, as bits; 0 if it did not take part.
    """

    epoch: Array
    met: Array


class Snapshot(NamedTuple):
    """The clocks at one moment. epoch: (teams, counted); vectors: (teams, warps, counted), or None
    if all are 0.

    counted: the warps, then their asynchronous operations if there are any; part_syncs: the syncs
    of partial warps so far.
    """

    epoch: Array
    vectors: Array | None
    part_syncs: Sequence[PartSync] = ()


class AsyncToken(NamedTuple):
    """The team, warp and epoch of each operation that an instruction started."""

    team: Array
    warp: Array
    epoch: Array
    clock: Snapshot  # the epoch when it started


class WarpClocks:
    """The clocks of a batch of blocks; `team` blocks form a team."""

    def __init__(self, n_blocks: int, n_warps: int, team: int = 1, engines: bool = False) -> None:
        self.team_warps = team * n_warps
        self._split = (n_blocks // team, team, n_warps)
        counted = self.team_warps * (2 if engines else 1)
        self._start = Snapshot(np.zeros((n_blocks // team, counted), np.int32), None)
        self.now = self._start
        self._part_syncs: list[PartSync] = []
        self._arrived: dict[int, Array] = {}  # barrier -> clocks of the threads that pass it

    def restart(self) -> None:
        """Forget the syncs so far, because all threads have met."""
        self.now = self._start
        self._part_syncs = []
        self._arrived.clear()

    def vectors(self) -> Array:
        epoch, vectors, _ = self.now
        if vectors is not None:
            return vectors
        return np.zeros((len(epoch), self.team_warps, epoch.shape[1]), np.int32)

    def own(self) -> Array:
        """Return (teams, warps, counted): the epochs that would precede a warp that joins each warp
        now."""
        own = self.vectors().copy()
        every = np.arange(self.team_warps)
        own[:, every, every] = self.now.epoch[:, : self.team_warps] + 1
        return own

    def tick(self, warps: Array) -> None:
        """Start a new epoch for these warps, a boolean mask."""
        epoch = self.now.epoch.copy()
        epoch[:, : self.team_warps] += warps.reshape(len(epoch), -1)
        self.now = self.now._replace(epoch=epoch)

    def replace(self, vectors: Array) -> None:
        """Set the epochs that precede all further operations of the warps."""
        self.now = self.now._replace(vectors=vectors)

    # -- barriers of a warp and of a block ------------------------------------------------------
    def warp_sync(self, warps: Array, met: Array | None = None) -> None:
        """Record that the lanes of these warps, booleans (blocks, warps), have met, or parts of
        them (see PartSync)."""
        if met is not None:
            self._part_syncs.append(PartSync(self.now.epoch, met))
            self.now = self.now._replace(part_syncs=self._part_syncs)
        self.tick(warps)

    def everyone(self, warps: Array) -> None:
        """Record that all threads have met, keeping syncs that other code still refers to."""
        self.arrive(_EVERYONE, warps)
        self.open(_EVERYONE, warps)

    def arrive(self, number: int, warps: Array) -> None:
        """Record that these warps arrive at a barrier, which orders their past before those that
        pass it."""
        own, vectors = self.own(), self.vectors()
        some = warps.reshape(len(own), -1)
        released = np.where(some[:, :, None], own, 0)
        released = released.reshape(*self._split, -1).max(axis=2)  # (teams, blocks each, counted)
        if number in self._arrived:
            released = np.maximum(self._arrived[number], released)
        self._arrived[number] = released
        self.tick(warps)
        self.replace(vectors)

    def open(self, number: int, warps: Array) -> None:
        released = self._arrived.get(number)
        vectors = self.now.vectors
        if released is None or vectors is None:
            return
        some = warps.reshape(len(vectors), -1)
        joined = np.maximum(vectors, np.repeat(released, self._split[2], axis=1))
        self.replace(np.where(some[:, :, None], joined, vectors))
        blocks = np.asarray(warps.reshape(self._split).any(axis=2))
        self._arrived[number] = np.where(blocks[:, :, None], 0, released)

    # -- asynchronous operations ----------------------------------------------------------------
    def start_async(self, who: Array) -> AsyncToken:
        """Start an operation for each of the threads, which are numbered over the batch."""
        team, warp = np.divmod(who // WARP, self.team_warps)
        before, epoch = self.now, self.now.epoch.copy()
        started = epoch[team, self.team_warps + warp]
        epoch[team, self.team_warps + warp] = started + 1
        self.now = before._replace(epoch=epoch)
        return AsyncToken(team, warp, started, before)

    def join_async(self, token: AsyncToken, part: Array) -> None:
        """Record that the warps that started the operations of `part` have waited for them."""
        vectors = self.vectors().copy()
        place = token.team[part], token.warp[part], self.team_warps + token.warp[part]
        np.maximum.at(vectors, place, token.epoch[part] + 1)
        self.replace(vectors)

    def join_products(self, token: AsyncToken, waiting: Array) -> None:
        """Record that warps, booleans over the batch, have waited for a product that four of them
        started."""
        team, warp, epoch = (x.reshape(-1, 4) for x in (token.team, token.warp, token.epoch))
        joining = waiting[team * self.team_warps + warp]
        vectors = self.vectors().copy()
        for j in range(4):
            some = joining[:, j]
            place = team[some], warp[some, j, None], self.team_warps + warp[some]
            vectors[place] = np.maximum(vectors[place], epoch[some] + 1)
        self.replace(vectors)

    def all_joined(self) -> bool:
        """Return True if, in each team, all asynchronous operations happened before some warp's
        next operation."""
        epoch, vectors, _ = self.now
        started = epoch[:, self.team_warps :]
        if vectors is None:
            return not started.any()
        return bool((vectors[:, :, self.team_warps :].max(axis=1) >= started).all())


class SyncClocks:
    """The clocks that pass through cluster barriers or mbarriers, from arriving to waiting threads.

    Each has a number and, once used, an entry: the epochs that precede a waiter for the current
    phase, and those that precede a waiter for an ended phase.
    """

    def __init__(self, clocks: WarpClocks, numbers: int) -> None:
        self._clocks = clocks
        self._slots = np.full(numbers, -1, np.int32)
        self._open = np.zeros((0, clocks.now.epoch.shape[1]), np.int32)
        self._ended = self._open

    def restart(self) -> None:
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
        """Let warps, numbered over the batch and once per barrier number, arrive."""
        rows = self._clocks.own().reshape(-1, self._open.shape[1])
        at = self._entries(numbers)
        np.maximum.at(self._open, at, rows[warps])
        ticking = np.zeros(len(rows), bool)
        ticking[warps] = True
        self._clocks.replace(self._clocks.vectors())
        self._clocks.tick(ticking)

    def complete_async(self, token: AsyncToken, part: Array, numbers: Array) -> None:
        """Record that the asynchronous operations of `part` have completed."""
        place = self._clocks.team_warps + token.warp[part]
        at = self._entries(numbers)
        np.maximum.at(self._open, (at, place), token.epoch[part] + 1)

    def end(self, numbers: Array) -> None:
        at = self._entries(numbers)
        self._ended[at] = np.maximum(self._ended[at], self._open[at])
        self._open[at] = 0

    def wait(self, warps: Array, numbers: Array) -> None:
        """Let warps join the clocks of phases that have ended."""
        vectors = self._clocks.vectors().copy()
        rows = vectors.reshape(-1, vectors.shape[2])
        at = self._entries(numbers)
        np.maximum.at(rows, warps, self._ended[at])
        self._clocks.replace(vectors)


# -- warps whose lanes sync in parts ---------------------------------------------------------------
def names_everyone(members: Array | None) -> bool:
    """Return True if a member mask is the constant -1."""
    return members is None or bool(members.size == 1 and members.flat[0] == 0xFFFFFFFF)


def meeting(m: Batch, members: Array | None) -> Array | None:
    """Return `met` of a PartSync for the running lanes; None if all live lanes of their warps
    meet."""
    if members is None or names_everyone(members):
        return None
    lanes = m.lanes(m.mask)
    named = np.broadcast_to(members, m.shape).reshape(lanes.shape)
    met = np.where(lanes, named & pack_lanes(lanes)[:, None], np.uint32(0))
    everyone = pack_lanes(m.lanes(m.alive))[:, None]
    return met if (lanes & (met != everyone)).any() else None
