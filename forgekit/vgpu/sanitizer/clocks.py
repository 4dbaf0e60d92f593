"""Order the operations of a team (a block or a cluster), using one vector clock per warp.

Each warp counts epochs, and each barrier that it reaches starts a new epoch. In `vectors`, the
entry (t, w, v) is the number of epochs of warp v in team t that barriers order before the next
operation of warp w (Fidge 1988, Mattern 1988). The asynchronous operations that warp v starts are
treated as a separate warp, number n + v in a team of n warps. An operation happens before the next
operation of each warp that has waited for its completion. Starting an operation does not change
`vectors`.

When a warp starts a new epoch, the earlier accesses of all its lanes precede their later accesses.
A sync of only some lanes, `sync_warp(mask)`, is recorded separately, and consulted when two lanes
of the same warp access the same memory.

Arrays are replaced, never modified, so a reference to an array is a snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import WARP, pack_lanes

_EVERYONE = -1  # a barrier number that no program uses
FIRST = 1  # the first epoch of each warp; 0 in a vector means that nothing of a warp precedes


class PartSync(NamedTuple):
    """A synchronisation of some lanes of some warps.

    epoch: the epochs that the sync ends, with shape (teams, counted). met: for each lane, a bit
    mask of the lanes with which it synchronised, or 0 if the lane did not take part; its shape is
    (warps of the batch, 32).
    """

    epoch: Array
    met: Array


class Snapshot(NamedTuple):
    """The clocks at one point in the execution.

    epoch has the shape (teams, counted), and vectors (teams, warps, counted); vectors is None if
    all entries are 0. part_syncs: the syncs of partial warps so far. The axis `counted` lists the
    warps, followed by their asynchronous operations if the kernel starts any.
    """

    epoch: Array
    vectors: Array | None
    part_syncs: Sequence[PartSync] = ()


class AsyncToken(NamedTuple):
    """The team, warp and epoch of each operation that an instruction started."""

    team: Array
    warp: Array
    epoch: Array
    clock: Snapshot  # the clocks when the operations started


class WarpClocks:
    """The clocks of a batch of blocks. team: blocks per team."""

    def __init__(self, n_blocks: int, n_warps: int, team: int = 1, engines: bool = False) -> None:
        self.team_warps = team * n_warps
        self._split = (n_blocks // team, team, n_warps)
        counted = self.team_warps * (2 if engines else 1)
        epochs = np.zeros((n_blocks // team, counted), np.int32)
        epochs[:, : self.team_warps] = FIRST
        self._start = Snapshot(epochs, None)
        self.now = self._start
        self._part_syncs: list[PartSync] = []
        self._arrived: dict[int, Array] = {}  # barrier number -> epochs that precede its opening

    def restart(self) -> None:
        """Discard the recorded syncs, which are no longer needed once all threads have met."""
        self.now = self._start
        self._part_syncs = []
        self._arrived.clear()

    def vectors(self) -> Array:
        epoch, vectors, _ = self.now
        if vectors is not None:
            return vectors
        return np.zeros((len(epoch), self.team_warps, epoch.shape[1]), np.int32)

    def own(self) -> Array:
        """Return, for each warp, the epochs that precede an operation that waits for the warp now,
        as an array of shape (teams, warps, counted)."""
        own = self.vectors().copy()
        every = np.arange(self.team_warps)
        own[:, every, every] = self.now.epoch[:, : self.team_warps] + 1
        return own

    def tick(self, warps: Array) -> None:
        """Start a new epoch for the warps in a boolean mask."""
        epoch = self.now.epoch.copy()
        epoch[:, : self.team_warps] += warps.reshape(len(epoch), -1)
        self.now = self.now._replace(epoch=epoch)

    def replace(self, vectors: Array) -> None:
        """Set the epochs that precede all later operations of the warps."""
        self.now = self.now._replace(vectors=vectors)

    # -- barriers of a warp and of a block ------------------------------------------------------
    def warp_sync(self, warps: Array, met: Array | None = None) -> None:
        """Record a warp barrier. warps: a boolean mask of shape (blocks, warps). met: as in
        `PartSync`; None if all lanes of each warp have met."""
        if met is not None:
            self._part_syncs.append(PartSync(self.now.epoch, met))
            self.now = self.now._replace(part_syncs=self._part_syncs)
        self.tick(warps)

    def everyone(self, warps: Array) -> None:
        """Record that all threads have met at a barrier."""
        self.arrive(_EVERYONE, warps)
        self.open(_EVERYONE, warps)

    def arrive(self, number: int, warps: Array) -> None:
        """Record that warps arrive at a barrier. Their earlier accesses happen before the later
        accesses of each warp that passes the barrier."""
        own, vectors = self.own(), self.vectors()
        some = warps.reshape(len(own), -1)
        released = np.where(some[:, :, None], own, 0)
        released = released.reshape(*self._split, -1).max(axis=2)  # (teams, blocks, counted)
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
        """Record that threads start one operation each. who: thread numbers in the batch."""
        team, warp = np.divmod(who // WARP, self.team_warps)
        before, epoch = self.now, self.now.epoch.copy()
        started = epoch[team, self.team_warps + warp]
        epoch[team, self.team_warps + warp] = started + 1
        self.now = before._replace(epoch=epoch)
        return AsyncToken(team, warp, started, before)

    def join_async(self, token: AsyncToken, part: Array) -> None:
        """Record that warps have waited for the operations selected by `part`, which they had
        started."""
        vectors = self.vectors().copy()
        place = token.team[part], token.warp[part], self.team_warps + token.warp[part]
        np.maximum.at(vectors, place, token.epoch[part] + 1)
        self.replace(vectors)

    def join_products(self, token: AsyncToken, waiting: Array) -> None:
        """Record that warps have waited for the products of their warpgroups. waiting: a mask of
        the batch's warps."""
        team, warp, epoch = (x.reshape(-1, 4) for x in (token.team, token.warp, token.epoch))
        joining = waiting[team * self.team_warps + warp]
        vectors = self.vectors().copy()
        for j in range(4):
            some = joining[:, j]
            place = team[some], warp[some, j, None], self.team_warps + warp[some]
            vectors[place] = np.maximum(vectors[place], epoch[some] + 1)
        self.replace(vectors)

    def all_joined(self) -> bool:
        """Return True if every asynchronous operation happened before the next operation of at
        least one warp of its team."""
        epoch, vectors, _ = self.now
        started = epoch[:, self.team_warps :]
        if vectors is None:
            return not started.any()
        return bool((vectors[:, :, self.team_warps :].max(axis=1) >= started).all())


class SyncClocks:
    """Passes clocks from threads that arrive at cluster barriers or mbarriers to threads that wait.

    Each barrier has a number and, from its first use on, an entry: the epochs that precede a thread
    that waits for the current phase, and those that precede a thread that waits for an ended phase.
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

    def arrive(self, warps: Array, numbers: Array, published: Array | None = None) -> None:
        """Record that warp `warps[i]` of the batch arrives at barrier `numbers[i]`. published: for
        each warp of the batch, the epochs that its arrival publishes; None for all earlier ones."""
        rows = self._clocks.own().reshape(-1, self._open.shape[1])
        rows = rows if published is None else published
        at = self._entries(numbers)
        np.maximum.at(self._open, at, rows[warps])
        ticking = np.zeros(len(rows), bool)
        ticking[warps] = True
        self._clocks.replace(self._clocks.vectors())
        self._clocks.tick(ticking)

    def complete_async(self, token: AsyncToken, part: Array, numbers: Array) -> None:
        """Record that the operations selected by `part` have completed at the barriers
        `numbers`."""
        place = self._clocks.team_warps + token.warp[part]
        at = self._entries(numbers)
        np.maximum.at(self._open, (at, place), token.epoch[part] + 1)

    def end(self, numbers: Array) -> None:
        at = self._entries(numbers)
        self._ended[at] = np.maximum(self._ended[at], self._open[at])
        self._open[at] = 0

    def wait(self, warps: Array, numbers: Array) -> None:
        """Record that the warps have waited for these barriers, whose phases have ended."""
        vectors = self._clocks.vectors().copy()
        rows = vectors.reshape(-1, vectors.shape[2])
        at = self._entries(numbers)
        np.maximum.at(rows, warps, self._ended[at])
        self._clocks.replace(vectors)


# -- syncs of partial warps ------------------------------------------------------------------------
def names_everyone(members: Array | None) -> bool:
    """Return True if a member mask is the constant -1."""
    return members is None or bool(members.size == 1 and members.flat[0] == 0xFFFFFFFF)


def meeting(m: Batch, members: Array | None) -> Array | None:
    """Return `PartSync.met` for the running lanes, or None if all live lanes of their warps
    meet."""
    if members is None or names_everyone(members):
        return None
    lanes = m.lanes(m.mask)
    named = np.broadcast_to(members, m.shape).reshape(lanes.shape)
    met = np.where(lanes, named & pack_lanes(lanes)[:, None], np.uint32(0))
    everyone = pack_lanes(m.lanes(m.alive))[:, None]
    return met if (lanes & (met != everyone)).any() else None
