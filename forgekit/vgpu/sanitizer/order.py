"""Determine the happens-before order of a launch's accesses.

Within a block or a cluster, the warps' clocks determine the order (`clocks.py`). Ordering accesses
(atomic, volatile, acquire and release), which implement locks, flags and counters, add further
order. When a warp makes such an access, its earlier operations, and those that it joined at a
barrier, happen before all later ordering accesses of any warp, and before operations by warps that
join these accesses. The check ignores addresses and the positions of fences, so it never reports a
race in a correct protocol. In a kernel without fences, relaxed accesses order only accesses to
memory that atomic operations update.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.machine import WARP
from forgekit.vgpu.sanitizer.clocks import PartSync, Snapshot, WarpClocks
from forgekit.vgpu.sanitizer.shadow import ATOMIC, ENGINE, Touch

_NEVER = -1
_BITS = np.arange(WARP, dtype=np.uint32)


class Order:
    """The order of a launch's accesses.

    Attributes:
        time: the number of accesses so far.
        clocks: the batch's clocks; a team is a block or a cluster.
        base: the number of the batch's first thread in the grid.
    """

    clocks: WarpClocks

    def __init__(self, record: LaunchRecord) -> None:
        self.time = self.base = 0
        self._n_warps = record.block_warps * record.cluster_blocks
        self._history = _SyncHistory(self._n_warps)

    def batch(self, m: Batch) -> None:
        self.base = m.blocks[0] * m.n_threads
        self.clocks = WarpClocks(
            m.n_blocks, m.n_threads // WARP, m.cluster_blocks, m.program.is_asynchronous
        )

    def add_sync(self, m: Batch, mask: Array | None, *, relaxed: bool) -> None:
        """Record that the threads in `mask` make an ordering access. relaxed: True if the access is
        relaxed and the kernel has no fence."""
        warps = np.flatnonzero(m.lanes(mask).any(axis=1)) + self.base // WARP
        first_team = m.blocks[0] // m.cluster_blocks
        access = _SyncAccess(
            self.time, frozenset(warps.tolist()), first_team, self.clocks.now, relaxed
        )
        self._history.new.append(access)

    def in_grid(self, earlier: Touch, first: Array, later: Touch, second: Array) -> Array:
        """Return True if the access by thread `first`, numbered in the grid, happens before the
        later access by thread `second`, numbered in the current batch."""
        threads = first & (ENGINE - 1), second & (ENGINE - 1)
        return self._ordered(earlier, threads[0], later, threads[1], first >= ENGINE)

    def in_batch(self, earlier: Touch, first: Array, later: Touch, second: Array) -> Array:
        """Like `in_grid`, but with both threads numbered in the current batch."""
        threads = [(who & (ENGINE - 1)) + np.int64(self.base) for who in (first, second)]
        return self._ordered(earlier, threads[0], later, threads[1], first >= ENGINE)

    def _ordered(
        self, earlier: Touch, first: Array, later: Touch, second: Array, engine: Array
    ) -> Array:
        # a thread's own accesses are ordered, except those of its asynchronous operations
        result = ~engine & (first == second)
        team_threads = self._n_warps * WARP
        same = first // team_threads == second // team_threads
        if same.any():
            result[same] |= in_block_order(
                earlier, first[same] - self.base, later, second[same] - self.base,
                self._n_warps, engine[same],
            )  # fmt: skip
        rest = np.flatnonzero(~result)
        warps = first[rest] // WARP, second[rest] // WARP
        result[rest] = self._history.ordered(warps[0], earlier, warps[1], later, engine[rest])
        return np.asarray(result)


def in_block_order(
    earlier: Touch, first: Array, later: Touch, second: Array, n_warps: int, engine: Array
) -> Array:
    """Return True if an access by thread `first` happens before an access by thread `second`.

    Threads are numbered in the batch; both threads of a pair belong to the same team of `n_warps`
    warps. engine: True if the first access is made by an asynchronous operation that the first
    thread started.
    """
    (team, place), mine = np.divmod(first // WARP, n_warps), second // WARP % n_warps
    same = (place == mine) & ~engine
    began = earlier.clock.epoch[team, place + n_warps * engine]
    now = later.clock.epoch[team, mine]
    result = same & (now > began)
    if later.clock.part_syncs and result.any():
        threads = first[result], second[result]
        result[result] = _lanes_ordered(
            later.clock.part_syncs, threads, began[result], now[result], n_warps
        )
    if later.clock.vectors is not None:
        result |= ~same & (later.clock.vectors[team, mine, place + n_warps * engine] > began)
    return np.asarray(result)


def _lanes_ordered(
    syncs: Sequence[PartSync], threads: tuple[Array, Array], began: Array, now: Array, team: int
) -> Array:
    """Return True if the first thread's access in epoch `began` happens before the second thread's
    access in the later epoch `now`. Both threads belong to the same warp.

    threads: thread numbers in the batch; team: warps per team.
    """
    first, asked = np.unique(threads[0], return_inverse=True)
    asked = asked.reshape(-1)
    begin, end = np.zeros(len(first), now.dtype), np.zeros(len(first), now.dtype)
    begin[asked], end[asked] = began, now  # equal for all pairs with the same first thread
    warp = first // WARP
    at = np.divmod(warp, team)
    joined = np.uint32(1) << (first % WARP).astype(np.uint32)  # lanes ordered after the access
    parts = np.zeros(len(first), now.dtype)
    for sync in _since(syncs, at, begin):
        epoch, met = sync.epoch[at], sync.met[warp]
        here = (begin <= epoch) & (epoch < end) & met.any(axis=1)
        parts += here
        released = np.where(joined[:, None] >> _BITS & np.uint32(1), met, np.uint32(0))
        joined |= np.where(here, np.bitwise_or.reduce(released, axis=1), np.uint32(0))
    by_all = parts < end - begin  # a sync of the whole warp also ended an epoch
    lane = (threads[1] % WARP).astype(np.uint32)
    return np.asarray(by_all[asked] | (joined[asked] >> lane & np.uint32(1)).astype(bool))


def _since(syncs: Sequence[PartSync], at: tuple[Array, Array], begin: Array) -> list[PartSync]:
    """Return the syncs in order, beginning with the first that may order the accesses."""
    first = len(syncs)
    while first and (syncs[first - 1].epoch[at] >= begin).any():
        first -= 1
    return list(syncs[first:])


class _SyncAccess(NamedTuple):
    """An ordering access by warps that execute it in the same step. It is treated as executed in
    the order of the warps' numbers."""

    time: int
    warps: frozenset[int]  # numbered in the grid
    first_team: int  # the batch's first team, numbered in the grid
    clock: Snapshot
    relaxed: bool  # orders only memory that atomic operations update


class _SyncHistory:
    """The accesses of a launch that order other accesses. warps_a_team: the number of warps per
    block or per cluster."""

    def __init__(self, warps_a_team: int) -> None:
        self.new: list[_SyncAccess] = []
        self._warps_a_team = warps_a_team
        self._of_team: dict[int, list[_SyncAccess]] = {}

    def ordered(
        self, first: Array, earlier: Touch, second: Array, later: Touch, engine: Array
    ) -> Array:
        """Return True if the earlier touch by warps `first` happens before the later touch by warps
        `second`.

        engine: True if an asynchronous operation that the first warp started made the earlier
        touch.
        """
        result = np.zeros(len(first), bool)
        for access in self.new:
            for team in {w // self._warps_a_team for w in access.warps}:
                self._of_team.setdefault(team, []).append(access)
        self.new = []
        if not self._of_team or not len(first):
            return result
        atomic = ATOMIC in (earlier.what, later.what)
        pairs, which = np.unique(np.stack([first, second, engine]), axis=1, return_inverse=True)
        for i, (a, b, is_engine) in enumerate(pairs.T.tolist()):
            released = self._released(a, earlier, bool(is_engine), atomic)
            if released is not None and released < self._acquired(b, later, atomic):
                result |= which.reshape(-1) == i
        return result

    def _released(
        self, warp: int, touch: Touch, engine: bool, atomic: bool
    ) -> tuple[int, int] | None:
        """Return the first ordering access that releases the warp's touch, as (time, warp), or
        None."""
        team, mine = divmod(warp, self._warps_a_team)
        place = mine + self._warps_a_team * engine
        for access, w, local, other in self._served(team, 1, atomic):
            # An atomic access is its own release.
            if access.time >= touch.time + (touch.what != ATOMIC):
                vectors, began = access.clock.vectors, touch.clock.epoch[local, place]
                joined = vectors is not None and vectors[local, other, place] > began
                if joined or (w == warp and not engine):
                    return access.time, w
        return None

    def _acquired(self, warp: int, touch: Touch, atomic: bool) -> tuple[int, int]:
        """Return the last ordering access with which the warp acquires before the touch, as (time,
        warp)."""
        team, mine = divmod(warp, self._warps_a_team)
        vectors = touch.clock.vectors
        for access, w, local, other in self._served(team, -1, atomic):
            if access.time < touch.time:
                epoch = access.clock.epoch[local, other]
                joined = vectors is not None and vectors[local, mine, other] > epoch
                if joined or w == warp:
                    return access.time, w
        return _NEVER, _NEVER

    def _served(
        self, team: int, step: int, atomic: bool
    ) -> Iterator[tuple[_SyncAccess, int, int, int]]:
        """Yield a team's ordering accesses, forwards (step 1) or backwards (-1): the access, its
        warp, the team's number in its batch, and the warp's number in its team. Include relaxed
        accesses only if `atomic` is True."""
        for access in self._of_team.get(team, [])[::step]:
            if access.relaxed and not atomic:
                continue
            for w in sorted(access.warps)[::step]:
                if w // self._warps_a_team == team:
                    yield access, w, team - access.first_team, w % self._warps_a_team
