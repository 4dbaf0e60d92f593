"""Track the order that clusters, mbarriers and asynchronous operations create.

This module is used only for kernels with clusters, mbarriers or asynchronous operations. A block
barrier does not order the other blocks of a cluster, nor does it complete asynchronous operations.
The clocks therefore continue past a barrier until all earlier operations precede all later
accesses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.access.copies import AsyncOperation
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Access, Listener
from forgekit.vgpu.machine import WARP
from forgekit.vgpu.ptx.dataflow import copied
from forgekit.vgpu.sanitizer.clocks import FIRST, AsyncToken, Snapshot, SyncClocks
from forgekit.vgpu.sanitizer.findings import Report
from forgekit.vgpu.sanitizer.messages import (
    HAS_LEFT,
    HAS_LEFT_ITSELF,
    NOT_STARTED,
    STORES_STILL,
    Message,
)
from forgekit.vgpu.sanitizer.order import Order
from forgekit.vgpu.sanitizer.proxies import UnfencedStores
from forgekit.vgpu.sanitizer.reach import Reach, bytes_reached, reach
from forgekit.vgpu.sanitizer.shadow import ATOMIC, ENGINE, READ, WRITE
from forgekit.vgpu.sanitizer.shared import SharedCheck
from forgekit.vgpu.sanitizer.tensors import GlobalCheck

_MBARRIER = 8  # bytes per mbarrier


class ClusterSync(Listener):
    """Orders the accesses of the current batch. It receives each event after `Sanitizer` does."""

    def __init__(
        self, unit: int, order: Order, shared: SharedCheck, tensors: GlobalCheck, report: Report
    ) -> None:
        self._unit, self._order, self._report = unit, order, report
        self._shared, self._global = shared, tensors

    def on_batch(self, m: Batch) -> None:
        self._clocks = self._order.clocks
        self._barrier = SyncClocks(self._clocks, m.n_blocks // m.cluster_blocks)
        self._mbarriers = SyncClocks(self._clocks, len(m.shared.data) // _MBARRIER)
        self._lifetimes = Lifetimes(m.cluster_blocks, m.n_threads // WARP)
        self._untouched = False  # True until the first access after all threads have met
        self._unfenced = UnfencedStores(m, self._clocks, self._unit, self._report)
        relaxed = ("barrier", "cluster", "arrive", "relaxed")
        self._relaxes = any(i.opcode[:4] == relaxed for i in m.program.instructions)
        self._fenced: Array | None = None  # of each warp, the epochs that precede its last fence

    def on_batch_end(self, m: Batch) -> None:
        for visits, bad in self._lifetimes.too_late(self._clocks.now):
            self._report_visits(m, visits, bad, HAS_LEFT)

    # -- barriers ---------------------------------------------------------------------------------
    def block_met(self, m: Batch, warps: Array) -> None:
        """Record that all threads of the batch have met at their blocks' barriers."""
        self._clocks.everyone(warps)
        if m.cluster_blocks == 1:
            self._everyone_met(m)

    def on_cluster_arrive(self, m: Batch, mask: Array | None) -> None:
        warps = np.flatnonzero(m.lanes(mask).any(axis=1))
        relaxed = "relaxed" in m.program.instructions[m.pc].opcode
        published = self._before_fences() if relaxed else None
        self._barrier.arrive(warps, warps // self._clocks.team_warps, published)
        everyone = bool(m.expand(mask).sum() == m.expand(m.alive).sum())
        self._untouched = everyone and not relaxed

    def on_fence(self, m: Batch, mask: Array | None) -> None:
        if self._relaxes:
            fencing = np.asarray(m.lanes(mask).any(axis=1))
            fenced = self._before_fences().copy()
            fenced[fencing] = self._clocks.own().reshape(fenced.shape)[fencing]
            self._fenced = fenced
            self._clocks.tick(fencing)

    def _before_fences(self) -> Array:
        """Return, for each warp, the epochs that a relaxed arrival publishes: those before its last
        fence, and at least the start of its block."""
        if self._fenced is None:
            own = self._clocks.own()
            return np.minimum(own, FIRST).reshape(-1, own.shape[-1])
        return self._fenced

    def on_cluster_done(self, m: Batch, clusters: Array) -> None:
        self._barrier.end(np.flatnonzero(clusters))

    def on_cluster_wait(self, m: Batch, passing: Array) -> None:
        warps = np.flatnonzero(m.lanes(passing).any(axis=1))
        self._barrier.wait(warps, warps // self._clocks.team_warps)
        if self._untouched and passing.sum() == m.expand(m.alive).sum():
            self._everyone_met(m)

    def _everyone_met(self, m: Batch) -> None:
        """Order all earlier accesses before all later ones, if no asynchronous operation is in
        flight."""
        if self._global.has_shadow or not self._clocks.all_joined():
            return
        self._shared.everyone_met(m)
        for part in (self._clocks, self._barrier, self._mbarriers, self._lifetimes):
            part.restart()
        self._unfenced.everyone_met()
        self._fenced = None

    # -- mbarriers --------------------------------------------------------------------------------
    def on_mbarrier(self, m: Batch, what: str, who: Array, words: Array) -> None:
        self._untouched = False
        threads = np.flatnonzero(who)
        numbers = words[who]
        ones = np.full(len(threads), _MBARRIER)
        found = bytes_reached(threads, numbers * _MBARRIER, ones, self._unit)
        self._shared.touch(m, WRITE if what in ("init", "inval") else ATOMIC, found)
        self._visit(m, found)
        if what in ("arrive", "wait"):
            pairs = np.unique(np.stack([threads // WARP, numbers]), axis=1)
            (self._mbarriers.arrive if what == "arrive" else self._mbarriers.wait)(*pairs)

    def on_mbarrier_phase(self, m: Batch, words: Array) -> None:
        self._mbarriers.end(words)

    # -- accesses to other blocks, asynchronous accesses ------------------------------------------
    def on_access(self, m: Batch, access: Access) -> None:
        self._untouched = False
        if access.space in ("cluster", "generic"):
            for target in access.targets:
                if target.space == "shared":
                    self._visit(m, reach(m, access, target, self._unit))
        if access.kind in ("store", "atomic"):
            self._unfenced.store(m, access)

    def on_async_done(self, m: Batch, access: Access) -> None:
        self._unfenced.store(m, access)  # treat the copy as a store by the thread

    def product_reads(self, m: Batch, found: Reach) -> None:
        """Record that a `wgmma` reads shared memory."""
        self._untouched = False
        self._unfenced.read(m, found)

    def on_proxy_fence(self, m: Batch, mask: Array | None) -> None:
        self._unfenced.fence(m, mask)

    def _visit(self, m: Batch, found: Reach) -> None:
        """Record the accesses to the shared memory of other blocks."""
        block = found.units * self._unit // m.shared.stride
        far = np.flatnonzero(block != found.who // m.n_threads)
        if len(far):
            who = found.who[far].astype(np.int64)
            team, place = np.divmod(who // WARP, self._clocks.team_warps)
            epoch = self._clocks.now.epoch[team, place]
            self._add(m, Visits(m.pc, who, place, epoch, block[far]))

    def _add(self, m: Batch, visits: Visits) -> None:
        early = self._lifetimes.too_early(visits, self._clocks.now)
        self._report_visits(m, visits, early, NOT_STARTED)
        self._lifetimes.add(visits)

    def _report_visits(self, m: Batch, visits: Visits, bad: Array, message: Message) -> None:
        """Report the visits in the mask `bad`, if any."""
        if not bad.any():
            return
        first, count = int(bad.argmax()), int(np.count_nonzero(bad))
        who = self._report.in_batch(m, int(visits.who[first]))
        block, _ = self._report.in_batch(m, int(visits.block[first]) * m.n_threads)
        if message is HAS_LEFT and who[0] == block:
            stores = copied(m.program.instructions[visits.pc], writes=True) is not None
            message = STORES_STILL if stores else HAS_LEFT_ITSELF
        place = f"shared memory of block {block}"
        self._report.add(message, (visits.pc,), who, place, count=count)

    def on_async_start(self, m: Batch, operation: AsyncOperation) -> None:
        self._untouched = False
        token = operation.token = self._clocks.start_async(operation.who)
        for end, what in ((operation.source, READ), (operation.target, WRITE)):
            if end is not None and end.allocations is None:
                self._engine(m, operation, token, what, end.start, operation.size)
        self._global.bulk(m, operation, token.clock)
        if operation.signals:
            size = np.full(len(operation.who), _MBARRIER)
            self._engine(m, operation, token, ATOMIC, operation.words * _MBARRIER, size)

    def _engine(
        self, m: Batch, operation: AsyncOperation, token: AsyncToken, what: str, start: Array,
        size: Array,
    ) -> None:  # fmt: skip
        """Record and check an asynchronous operation's access to shared memory."""
        found = bytes_reached(operation.who | ENGINE, start, size, self._unit)
        self._shared.touch(m, what, found, token.clock)
        if what == READ:
            self._unfenced.read(m, found)
        elif what == WRITE:
            self._unfenced.overwritten(found)
        place = self._clocks.team_warps + token.warp
        self._add(m, Visits(m.pc, operation.who, place, token.epoch, start // m.shared.stride))

    def on_async_completion(self, m: Batch, operation: AsyncOperation, part: Array) -> None:
        token = operation.token
        assert isinstance(token, AsyncToken)
        if operation.signals:
            self._mbarriers.complete_async(token, part, operation.words[part])
        elif part.any():
            self._clocks.join_async(token, part)


# -- lifetime of the block whose shared memory is accessed --------------------------------------
class Visits(NamedTuple):
    """One instruction's accesses to the shared memory of blocks.

    who: the threads; place: the index, within the team, of each thread's warp or of that warp's
    asynchronous operations; epoch: the epoch at that index; block: the index, in the batch, of the
    block that owns the memory.
    """

    pc: int
    who: Array
    place: Array
    epoch: Array
    block: Array


class Lifetimes:
    """Keeps each access to another block's shared memory until the access is certain to be
    complete.

    Shared memory exists from the start of its block until the block's last thread exits. A cluster
    barrier proves that the block has started. If a warp of the block joins the access before
    exiting, the block has not exited before the access. The block's own asynchronous copies count
    as accesses from another block.
    """

    def __init__(self, team: int, block_warps: int) -> None:
        self._team, self._block_warps = team, block_warps
        self._visits: list[Visits] = []
        self._started = team == 1

    def restart(self) -> None:
        self._visits.clear()
        self._started = True

    def add(self, visits: Visits) -> None:
        self._visits.append(visits)

    def too_early(self, visits: Visits, clock: Snapshot) -> Array:
        """Return a mask of the accesses whose target block may not have started, because the
        accessing warp has joined no warp of that block."""
        if self._started:
            return np.zeros(len(visits.who), bool)
        warp = visits.who // WARP
        bad = warp // self._block_warps != visits.block
        if clock.vectors is not None:
            team, warps = self._warps(visits.block)
            joined = clock.vectors[team, warp[:, None] % (self._team * self._block_warps), warps]
            bad &= (joined == 0).all(axis=1)
        return np.asarray(bad)

    def too_late(self, clock: Snapshot) -> Iterator[tuple[Visits, Array]]:
        """At the end of a batch, yield all accesses with a mask of those whose target block may
        have exited earlier, because no warp of that block has joined the access."""
        for visits in self._visits:
            bad = np.ones(len(visits.who), bool)
            if clock.vectors is not None:
                team, warps = self._warps(visits.block)
                joined = clock.vectors[team, warps, visits.place[:, None]]
                bad = (joined <= visits.epoch[:, None]).all(axis=1)
            yield visits, bad

    def _warps(self, block: Array) -> tuple[Array, Array]:
        """Return each block's team, with shape (n, 1), and the numbers of its warps in the team,
        with shape (n, warps per block)."""
        team, mine = np.divmod(block, self._team)
        return team[:, None], mine[:, None] * self._block_warps + np.arange(self._block_warps)
