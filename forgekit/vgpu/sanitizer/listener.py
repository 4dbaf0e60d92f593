"""Receive the machine's events and pass them to the checks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.listeners import Access, Listener
from forgekit.vgpu.memory import Allocation, GlobalMemory
from forgekit.vgpu.opcodes import async_copy
from forgekit.vgpu.program import Program
from forgekit.vgpu.sanitizer import warps
from forgekit.vgpu.sanitizer.clocks import meeting
from forgekit.vgpu.sanitizer.cluster_sync import ClusterSync
from forgekit.vgpu.sanitizer.definedness import Definedness, Run
from forgekit.vgpu.sanitizer.findings import Finding, Report
from forgekit.vgpu.sanitizer.messages import COPIES_STILL
from forgekit.vgpu.sanitizer.order import Order
from forgekit.vgpu.sanitizer.reach import is_ordered, is_relaxed
from forgekit.vgpu.sanitizer.shared import SharedCheck
from forgekit.vgpu.sanitizer.tensors import GlobalCheck
from forgekit.vgpu.sanitizer.warpgroups import WarpgroupCheck


class Sanitizer(Listener):
    """Checks a launch for undefined operations.

    first: the sanitizer of the launch's first run, if this run repeats the launch with precise
    checks.

    Attributes:
        program: the program that the machine must run so that all events are reported.
        listeners: all listeners, including this object.
    """

    def __init__(
        self,
        program: Program,
        record: LaunchRecord,
        memory: GlobalMemory,
        *,
        first: Sanitizer | None = None,
    ) -> None:
        self.program = self._given = program
        self.listeners: tuple[Listener, ...] = (self,)
        self._record, self._memory = record, memory
        self._report, self._order = Report(program, record), Order(record)
        self._global = GlobalCheck(
            program, record, memory, self._order, self._report, precise=first is not None
        )
        self._shared = SharedCheck(program.unit_bytes, self._order, self._report)
        self._cluster_sync: ClusterSync | None = None
        # In these kernels, block barriers are not the only source of order.
        if record.cluster_blocks > 1 or program.is_asynchronous:
            self._cluster_sync = ClusterSync(
                program.unit_bytes, self._order, self._shared, self._global, self._report
            )
            self.listeners = (self, self._cluster_sync)
            if any(i.opcode[0] == "wgmma" for i in program.instructions):
                check = WarpgroupCheck(
                    program, self._order, self._shared, self._cluster_sync, self._report
                )
                self.program = check.program
                self.listeners = (*self.listeners, check)
        self._before: list[tuple[Allocation, Array]] = [] if first is None else first._before
        self._definedness: Definedness | None = None
        if first is None and program.shared_bytes(record):
            self._before = [(a, a.data.copy()) for a in self._global.in_place]
        elif first is not None and first.read_blank:
            self._definedness = Definedness(self.program, program, self._report)
            self._shared.on_blank = self._definedness.read_blank
            self.program = self._definedness.program
            self.listeners = (self._definedness, *self.listeners)

    @property
    def findings(self) -> list[Finding]:
        """Return one finding per kind and pair of lines, in order of detection."""
        return self._report.findings

    @property
    def read_blank(self) -> bool:
        """Return True if a thread has read unwritten shared memory."""
        return self._shared.read_blank

    @property
    def needs_precise_rerun(self) -> bool:
        """Return True if the launch should be repeated with a precise sanitizer."""
        return self.read_blank or self._global.doubtful

    def look_again(self) -> Sanitizer:
        """Return a precise sanitizer for a repetition of the launch, and restore the tensors that
        the kernel both reads and writes."""
        _restore(self._before)
        return Sanitizer(self._given, self._record, self._memory, first=self)

    def compare(self, run: Run) -> None:
        """Find effects of undefined values, if the launch read any, by repeating the launch. The
        results of the repetitions are discarded."""
        if self._definedness is None:
            return

        def again(program: Program, listeners: Sequence[Listener]) -> None:
            _restore(self._before)
            run(program, listeners)

        after = [(a, a.data.copy()) for a in self._memory.allocations if not a.read_only]
        try:
            self._definedness.compare(again)
        finally:
            _restore(after)

    def finish(self) -> None:
        self._global.finish()

    # -- batches ----------------------------------------------------------------------------------
    def on_batch(self, m: Batch) -> None:
        self._order.batch(m)
        self._shared.batch(m)
        self._global.batch()

    def on_stop(self, m: Batch) -> None:
        warps.check_stuck(m, self._report)
        if self._cluster_sync is not None:  # report a race that caused the deadlock
            self._shared.everyone_met(m)

    def on_batch_end(self, m: Batch) -> None:
        warps.check_never_opened(m, self._report)
        for pc, left in async_copy.in_flight(m):
            who = self._report.in_batch(m, int(left.argmax()))
            self._report.add(COPIES_STILL, (pc,), who, count=int(np.count_nonzero(left)))
        self._shared.everyone_met(m)

    # -- accesses ---------------------------------------------------------------------------------
    def on_access(self, m: Batch, access: Access) -> None:
        self._order.time += 1
        if access.kind == "atomic" or is_ordered(m.program.instructions[m.pc]):
            self._order.add_sync(m, access.mask, relaxed=is_relaxed(m.program, m.pc))
        for target in access.targets:
            if target.space == "global":
                self._global.access(m, access, target)
            elif target.space == "shared":
                self._shared.access(m, access, target)

    def on_async_done(self, m: Batch, access: Access) -> None:
        for target in access.targets:
            self._shared.copied(m, access, target)
        self._global.copied(m, access)

    def on_mbarrier(self, m: Batch, what: str, who: Array, words: Array) -> None:
        self._order.time += 1

    def on_async_start(self, m: Batch, operation: object) -> None:
        self._order.time += 1

    # -- barriers of a block and of a warp --------------------------------------------------------
    def on_barrier(self, m: Batch, mask: Array | None, number: int, count: int | None) -> None:
        if mask is m.mask and m.alone:
            return
        warps.check_lines(m, mask, number, count, self._report)
        self._order.clocks.arrive(number, _by_warp(m, mask))

    def on_barrier_done(self, m: Batch, mask: Array | None, number: int) -> None:
        warps.check_exited(m, mask, number, self._report)
        warps.check_opening(m, mask, number, self._report)
        if m.expand(mask).sum() != m.expand(m.alive).sum():
            self._order.clocks.open(number, _by_warp(m, mask))
        elif self._cluster_sync is not None:
            self._cluster_sync.block_met(m, _by_warp(m, mask))
        else:
            self._shared.everyone_met(m)
            if self._global.has_shadow:
                self._order.clocks.everyone(_by_warp(m, mask))
            else:
                self._order.clocks.restart()

    def on_warp_sync(self, m: Batch, members: Array | None) -> None:
        warps.check_members(m, members, self._report)
        root = m.program.instructions[m.pc].opcode[0]
        if root in ("ldmatrix", "stmatrix", "mma", "wgmma"):
            warps.check_matrix(m, self._report)
        elif root in ("bar", "barrier"):  # a shuffle does not order accesses
            self._order.clocks.warp_sync(_by_warp(m, m.mask), meeting(m, members))

    def on_shuffle(self, m: Batch, source: Array, members: Array | None) -> None:
        warps.check_shuffle(m, source, members, self._report)


def _restore(saved: Sequence[tuple[Allocation, Array]]) -> None:
    for allocation, data in saved:
        allocation.data[:] = data


def _by_warp(m: Batch, mask: Array | None) -> Array:
    """Return a boolean mask, of shape (blocks, warps), of the warps with a thread in `mask`."""
    return np.asarray(m.lanes(mask).any(axis=1).reshape(m.n_blocks, -1))
