"""Clusters, mbarriers and asynchronous operations, as far as they order accesses: one batch.

Used only for kernels that have them. Between blocks of a cluster, and where something is in flight,
a barrier of the block does not end everything that was before it; the clocks then run on until a
moment at which everybody knows everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forgekit.vgpu.machine import WARP
from forgekit.vgpu.sanitizer.lifetimes import Lifetimes, Visits
from forgekit.vgpu.sanitizer.reach import bytes_reached
from forgekit.vgpu.sanitizer.shadow import ATOMIC, ENGINE, READ, WRITE
from forgekit.vgpu.sanitizer.sync_clocks import AsyncToken, SyncClocks, waited_for

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.machine import Machine
    from forgekit.vgpu.machine.async_operations import AsyncOperation
    from forgekit.vgpu.sanitizer.clocks import WarpClocks
    from forgekit.vgpu.sanitizer.listener import Sanitizer
    from forgekit.vgpu.sanitizer.reach import Reach
    from forgekit.vgpu.sanitizer.shared import SharedCheck
    from forgekit.vgpu.sanitizer.tensors import GlobalCheck

_MBARRIER = 8  # bytes


class ClusterSync:
    """What orders accesses in one batch of such a kernel."""

    def __init__(
        self,
        m: Machine,
        clocks: WarpClocks,
        shared: SharedCheck | None,
        tensors: GlobalCheck,
        report: Sanitizer,
    ) -> None:
        self._clocks, self._shared, self._global, self._report = clocks, shared, tensors, report
        self._barrier = SyncClocks(clocks, m.n_blocks // m.cluster_blocks)
        self._mbarriers = SyncClocks(clocks, len(m.shared.data) // _MBARRIER)
        self._lifetimes = Lifetimes(m.cluster_blocks, m.n_threads // WARP)
        self._alone = m.cluster_blocks == 1
        self._quiet = False  # nobody has touched memory since everybody arrived

    # -- barriers ---------------------------------------------------------------------------------
    def block_met(self, m: Machine, warps: Array) -> None:
        """Everybody in the batch has met at the barrier of their block."""
        self._clocks.everyone(warps)
        if self._alone:
            self._everyone_met(m)

    def cluster_arrive(self, m: Machine, mask: Array | None) -> None:
        warps = np.flatnonzero(m.lanes(mask).any(axis=1))
        self._barrier.arrive(warps, warps // self._clocks.team_warps)
        self._quiet = bool(m.expand(mask).sum() == m.expand(m.alive).sum())

    def cluster_done(self, clusters: Array) -> None:
        self._barrier.end(np.flatnonzero(clusters))

    def cluster_wait(self, m: Machine, passing: Array) -> None:
        warps = np.flatnonzero(m.lanes(passing).any(axis=1))
        self._barrier.wait(warps, warps // self._clocks.team_warps)
        if self._quiet and passing.sum() == m.expand(m.alive).sum():
            self._everyone_met(m)

    def _everyone_met(self, m: Machine) -> None:
        """All that was before is over for all that comes, if nothing is in flight."""
        if self._global.has_shadow or not self._clocks.all_known():
            return
        if self._shared is not None:
            self._shared.everyone_met(m)
        self._clocks.restart()
        self._barrier.forget()
        self._mbarriers.forget()
        self._lifetimes.restart()

    # -- mbarriers --------------------------------------------------------------------------------
    def mbarrier(self, m: Machine, what: str, who: Array, words: Array) -> None:
        """Threads make an mbarrier, arrive at it, or have waited for it."""
        self._quiet = False
        threads = np.flatnonzero(who)
        numbers = words[who]
        if self._shared is not None:
            ones = np.full(len(threads), _MBARRIER)
            found = bytes_reached(threads, numbers * _MBARRIER, ones, self._report.unit)
            self._shared.touch(m, WRITE if what in ("init", "inval") else ATOMIC, found)
            self.visit(m, found)
        if what in ("arrive", "wait"):
            pairs = np.unique(np.stack([threads // WARP, numbers]), axis=1)
            (self._mbarriers.arrive if what == "arrive" else self._mbarriers.wait)(*pairs)

    def phase(self, words: Array) -> None:
        self._mbarriers.end(words)

    # -- accesses to other blocks, asynchronous ones ----------------------------------------------
    def visit(self, m: Machine, found: Reach) -> None:
        """Take note of what an access reaches in other blocks."""
        assert self._shared is not None
        block = found.units * self._report.unit // m.shared.stride
        far = np.flatnonzero(block != found.who // m.n_threads)
        if not len(far):
            return
        who = found.who[far].astype(np.int64)
        team, place = np.divmod(who // WARP, self._clocks.team_warps)
        epoch = self._clocks.now.epoch[team, place]
        self._look(m, Visits(m.pc, who, place, epoch, block[far]))

    def _look(self, m: Machine, visits: Visits) -> None:
        early = self._lifetimes.too_early(visits, self._clocks.now)
        if early is not None:
            self._report.block_not_there(m, early, "started")
        self._lifetimes.add(visits)

    def touched(self) -> None:
        """Somebody has accessed memory."""
        self._quiet = False

    def async_start(self, m: Machine, operation: AsyncOperation) -> None:
        """Asynchronous operations start."""
        self._quiet = False
        token = operation.token = AsyncToken(operation, self._clocks)
        ends = [(operation.source, READ), (operation.target, WRITE)]
        for end, what in ends:
            if end is None:
                continue
            if end.allocations is None:
                self._engine(m, operation, token, what, end.start, operation.size)
            else:
                kind = "async load" if what == READ else "store"
                self._global.bulk(m, operation, end, kind, token.clock)
        if operation.signals:
            size = np.full(len(operation.who), _MBARRIER)
            self._engine(m, operation, token, ATOMIC, operation.words * _MBARRIER, size)

    def _engine(
        self,
        m: Machine,
        operation: AsyncOperation,
        token: AsyncToken,
        what: str,
        start: Array,
        size: Array,
    ) -> None:
        """An end in shared memory."""
        assert self._shared is not None
        found = bytes_reached(operation.who | ENGINE, start, size, self._report.unit)
        self._shared.touch(m, what, found, token.clock)
        place = self._clocks.team_warps + token.warp
        visits = Visits(m.pc, operation.who, place, token.epoch, start // m.shared.stride)
        self._look(m, visits)

    def async_completed(self, operation: AsyncOperation, part: Array) -> None:
        token = operation.token
        assert isinstance(token, AsyncToken)
        if operation.signals:
            words = operation.words[part]
            self._mbarriers.land(token.warp[part], token.epoch[part], words)
        elif part.any():
            waited_for(token, part, self._clocks)

    def finish(self, m: Machine) -> None:
        """Every thread of the batch has exited."""
        for bad in self._lifetimes.too_late(self._clocks):
            self._report.block_not_there(m, bad, "left")
