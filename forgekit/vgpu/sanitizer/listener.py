"""Hear everything the machine does, and collect what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forgekit.vgpu.listeners import Access, Listener
from forgekit.vgpu.machine import WARP
from forgekit.vgpu.memory import fresh
from forgekit.vgpu.ptx import SourceLine
from forgekit.vgpu.sanitizer import words
from forgekit.vgpu.sanitizer.clocks import WarpClocks
from forgekit.vgpu.sanitizer.cluster_sync import ClusterSync
from forgekit.vgpu.sanitizer.definedness import Definedness
from forgekit.vgpu.sanitizer.finding import Finding
from forgekit.vgpu.sanitizer.lanes import meeting
from forgekit.vgpu.sanitizer.reach import is_ordered, reach
from forgekit.vgpu.sanitizer.shadow import ENGINE
from forgekit.vgpu.sanitizer.shared import SharedCheck
from forgekit.vgpu.sanitizer.sync_history import SyncHistory
from forgekit.vgpu.sanitizer.tensors import GlobalCheck
from forgekit.vgpu.sanitizer.warps import (
    check_exited,
    check_lines,
    check_members,
    check_never_opened,
    check_opening,
    check_shuffle,
    check_stuck,
)

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.launch_record import LaunchRecord
    from forgekit.vgpu.machine import Machine
    from forgekit.vgpu.machine.async_operations import AsyncOperation
    from forgekit.vgpu.memory import Allocation, GlobalMemory
    from forgekit.vgpu.program import Program
    from forgekit.vgpu.sanitizer.lifetimes import Bad
    from forgekit.vgpu.sanitizer.shadow import Conflict
    from forgekit.vgpu.sanitizer.taints import Origin

_MOST_FINDINGS = 50  # different ones, of one launch


class Sanitizer(Listener):
    """Watches one launch.

    Attributes:
        findings: one for each kind of mistake and pair of lines, in the order they were found.
        program: what the machine has to run, so that all is heard.
        read_blank: somebody has read shared memory that nobody has written.
    """

    def __init__(
        self,
        program: Program,
        record: LaunchRecord,
        memory: GlobalMemory,
        *,
        first: Sanitizer | None = None,
    ) -> None:
        self.program = program
        self._record = record
        self._memory = memory
        self.unit = program.unit_bytes
        self._found: dict[object, Finding] = {}
        warps_a_block = -(-int(np.prod(record.block)) // WARP)
        self._sync_history = SyncHistory(warps_a_block * record.cluster_blocks)
        self._global = GlobalCheck(
            program, record, memory, self.unit, self._sync_history, self, first is not None
        )
        self.read_blank = False
        self._before: list[tuple[Allocation, Array]] = []
        self._defined: Definedness | None = None
        if first is None and program.shared_bytes(record):
            self._before = [(a, a.data.copy()) for a in self._global.in_place]
        elif first is not None and first.read_blank:
            self._defined = Definedness(program, self)
            self.program = self._defined.program
        self._clocks: WarpClocks
        self._shared: SharedCheck | None = None
        # Of kernels in which more orders accesses than the barriers of a block.
        self._has_team = record.cluster_blocks > 1 or program.is_asynchronous
        self._cluster_sync: ClusterSync | None = None

    @property
    def findings(self) -> list[Finding]:
        return list(self._found.values())

    @property
    def needs_precise_rerun(self) -> bool:
        """Whether the launch should be repeated with a precise sanitizer."""
        return self.read_blank or self._global.doubtful

    def look_again(self) -> Sanitizer:
        """A precise sanitizer of the same launch; memory is again as it was before the first."""
        for allocation, data in self._before:
            allocation.data[:] = data
        return Sanitizer(self.program, self._record, self._memory, first=self)

    def finish(self) -> None:
        """The launch has come to its end."""
        self._global.finish()

    # -- events -----------------------------------------------------------------------------------
    def on_batch(self, m: Machine) -> None:
        self._clocks = WarpClocks(
            m.n_blocks, m.n_threads // WARP, m.cluster_blocks, m.program.is_asynchronous
        )
        self._shared = None
        if m.shared.size_bytes:
            self._shared = SharedCheck(m, self.unit, self._clocks, self._sync_history, self)
        self._global.batch(m)
        if self._defined is not None:
            self._defined.batch(m)
        if self._has_team:
            self._cluster_sync = ClusterSync(m, self._clocks, self._shared, self._global, self)

    def on_access(self, m: Machine, access: Access) -> None:
        self._sync_history.time += 1
        if access.kind == "atomic" or is_ordered(m.program.instructions[m.pc]):
            first = m.blocks.start * (m.n_threads // WARP)
            present = m.lanes(access.mask).any(axis=1)
            warps = np.flatnonzero(present) + first
            self._sync_history.add(warps, m.blocks.start // m.cluster_blocks, self._clocks.now)
        if self._defined is not None:
            self._defined.memory.access(m, access)
        for target in access.targets:
            if target.space == "global":
                self._global.access(m, access, target, self._clocks)
            elif target.space == "shared" and self._shared is not None:
                self._shared.access(m, access, target)
                if self._cluster_sync is not None and access.space in ("cluster", "generic"):
                    self._cluster_sync.visit(m, reach(m, access, target, self.unit))
        if self._cluster_sync is not None:
            self._cluster_sync.touched()

    def on_async_done(self, m: Machine, access: Access) -> None:
        if self._defined is not None:
            self._defined.memory.copied(access)
        if self._shared is not None:
            for target in access.targets:
                self._shared.copied(m, access, target)
        self._global.copied(m, access, self._clocks)

    def on_barrier(self, m: Machine, mask: Array | None, number: int, count: int | None) -> None:
        if mask is m.mask and m.alone:
            return
        check_lines(m, mask, number, count, self)
        self._clocks.arrive(number, _by_warp(m, mask))

    def on_barrier_done(self, m: Machine, mask: Array | None, number: int) -> None:
        check_exited(m, mask, number, self)
        check_opening(m, mask, number, self)
        met = m.expand(mask)
        if met.sum() == m.expand(m.alive).sum():
            if self._cluster_sync is not None:
                self._cluster_sync.block_met(m, _by_warp(m, mask))
                return
            if self._shared is not None:
                self._shared.everyone_met(m)
            if self._global.has_shadow:
                self._clocks.everyone(_by_warp(m, mask))
            else:
                self._clocks.restart()
        else:
            self._clocks.open(number, _by_warp(m, mask))

    def on_warp_sync(self, m: Machine, members: Array | None) -> None:
        check_members(m, members, self)
        if self._defined is not None:
            self._defined.warp_sync(m, members)
        if m.program.instructions[m.pc].opcode[0] in ("bar", "barrier"):  # a shuffle orders nothing
            self._clocks.warp_sync(_by_warp(m, m.mask), meeting(m, members))

    def on_shuffle(self, m: Machine, source: Array, members: Array | None) -> None:
        check_shuffle(m, source, members, self)
        if self._defined is not None:
            self._defined.shuffle(m, source)

    def on_cluster_arrive(self, m: Machine, mask: Array | None) -> None:
        if self._cluster_sync is not None:
            self._cluster_sync.cluster_arrive(m, mask)

    def on_cluster_done(self, m: Machine, clusters: Array) -> None:
        if self._cluster_sync is not None:
            self._cluster_sync.cluster_done(clusters)

    def on_cluster_wait(self, m: Machine, passing: Array) -> None:
        if self._cluster_sync is not None:
            self._cluster_sync.cluster_wait(m, passing)

    def on_mbarrier(self, m: Machine, what: str, who: Array, words: Array) -> None:
        self._sync_history.time += 1
        if self._defined is not None:
            self._defined.memory.made(words[who])
        if self._cluster_sync is not None:
            self._cluster_sync.mbarrier(m, what, who, words)

    def on_mbarrier_phase(self, m: Machine, words: Array) -> None:
        if self._cluster_sync is not None:
            self._cluster_sync.phase(words)

    def on_async_start(self, m: Machine, operation: AsyncOperation) -> None:
        self._sync_history.time += 1
        if self._defined is not None:
            self._defined.memory.async_start(m, operation)
        if self._cluster_sync is not None:
            self._cluster_sync.async_start(m, operation)

    def on_async_completion(self, m: Machine, operation: AsyncOperation, part: Array) -> None:
        if self._cluster_sync is not None:
            self._cluster_sync.async_completed(operation, part)

    def on_stop(self, m: Machine) -> None:
        check_stuck(m, self)
        if (
            self._cluster_sync is not None and self._shared is not None
        ):  # what led to it may be noted only
            self._shared.everyone_met(m)

    def on_batch_end(self, m: Machine) -> None:
        check_never_opened(m, self)
        if self._shared is not None:
            self._shared.everyone_met(m)
        if self._cluster_sync is not None:
            self._cluster_sync.finish(m)

    # -- findings ---------------------------------------------------------------------------------
    def _line(self, pc: int) -> SourceLine | None:
        return self.program.instructions[pc].source

    def _add(self, key: object, make: words.Made, count: int, *pcs: int) -> None:
        """Count one more of a kind, or keep the first, with the lines of these instructions."""
        found = self._found.get(key)
        if found is not None:
            found.count += count
            return
        if len(self._found) >= _MOST_FINDINGS:
            return
        kind, who, place, told, advice = make
        lines = [self._line(pc) for pc in pcs]
        block, thread = who if who is not None else (None, None)
        self._found[key] = Finding(
            kind, tuple(line for line in lines if line is not None), block, thread, place, count,
            told, advice, self._record.kernel,
        )  # fmt: skip

    def _key(self, kind: str, *pcs: int) -> object:
        return kind, tuple(self._line(pc) or pc for pc in pcs)

    def _who(self, number: int, threads: int) -> words.Who:
        """(block, thread) coordinates of a thread by its number in the grid."""
        return self._record.coordinates(*divmod(number, threads))

    def _in_batch(self, m: Machine, number: int) -> words.Who:
        return self._who(number + m.blocks.start * m.n_threads, m.n_threads)

    def race(self, m: Machine, kind: str, c: Conflict, place: object) -> None:
        """Two threads, or asynchronous operations of theirs, touch the same memory with nothing
        between that orders them."""
        if kind == "shared-race":
            place = f"shared memory, byte {place:,}"
            first, second = (self._in_batch(m, who & (ENGINE - 1)) for who in (c.first, c.second))
        else:
            first, second = (
                self._who(who & (ENGINE - 1), m.n_threads) for who in (c.first, c.second)
            )
        if (c.first | c.second) & ENGINE and (kind == "shared-race" or first[0] == second[0]):
            made = words.too_early(self, c, str(place), first, second)
        else:
            made = words.race(self, kind, c, str(place), first, second)
        pcs = (c.later.pc,) if c.later.pc == c.earlier.pc else (c.later.pc, c.earlier.pc)
        self._add(self._key(made.kind, *pcs), made, c.how_often, *pcs)

    def block_not_there(self, m: Machine, bad: Bad, what: str) -> None:
        """Shared memory is reached of a block that may not have started, or may have left."""
        block, _ = self._in_batch(m, bad.block * m.n_threads)
        made = words.block_not_there(self._in_batch(m, bad.who), block, what)
        self._add(self._key(made.kind, bad.pc), made, bad.often, bad.pc)

    def uninitialised_shared(
        self, m: Machine, read: Origin, shows: str, who: int, place: str, count: int
    ) -> None:
        """What was read where nobody had written shows here; the first place for each such read."""
        line, here = self._line(read.pc), self._line(m.pc)
        same = (
            line is not None
            and here is not None
            and (line.file, line.line) == (here.file, here.line)
        )
        reader, user = self._in_batch(m, read.who), self._in_batch(m, who)
        made = words.uninitialised_shared(
            read.offset, reader, shows, user, place, None if same else here
        )
        pcs = (read.pc,) if same else (read.pc, m.pc)
        self._add(self._key(made.kind, read.pc), made, count, *pcs)

    def uninitialised_global(self, m: Machine, place: str, who: int, count: int) -> None:
        made = words.uninitialised_global(place, self._in_batch(m, who))
        self._add(self._key(made.kind, m.pc), made, count, m.pc)

    def under_way(
        self, m: Machine, access: str, offset: int, who: int, copy_pc: int, copier: int, count: int
    ) -> None:
        """Shared memory is touched while an asynchronous copy is on its way to it."""
        reader, writer = self._in_batch(m, who), self._in_batch(m, copier)
        line = words.line_of(self._line(copy_pc))
        made = words.under_way(access, offset, reader, writer, line)
        self._add(self._key(made.kind, m.pc, copy_pc), made, count, m.pc, copy_pc)

    def source_changed(
        self, m: Machine, place: str, who: int, copy_pc: int, copier: int, count: int
    ) -> None:
        """Global memory is written while an asynchronous copy may still read it."""
        changer, reader = self._who(who, m.n_threads), self._who(copier, m.n_threads)
        made = words.source_changed(place, changer, reader, words.line_of(self._line(copy_pc)))
        self._add(self._key(made.kind, m.pc, copy_pc), made, count, m.pc, copy_pc)

    def not_in_own_mask(self, m: Machine, warp: int, lane: int, mask: int, count: int) -> None:
        made = words.not_in_own_mask(self._in_batch(m, warp * WARP + lane), lane, mask)
        self._add(self._key(made.kind, m.pc), made, count, m.pc)

    def masks_differ(
        self, m: Machine, warp: int, lane: int, other: int, masks: Array, count: int
    ) -> None:
        who = self._in_batch(m, warp * WARP + lane)
        made = words.masks_differ(who, lane, int(masks[lane]), other, int(masks[other]))
        self._add(self._key(made.kind, m.pc), made, count, m.pc)

    def inactive_source(
        self, m: Machine, block: int, thread: int, source: int, exists: bool, count: int
    ) -> None:
        who = self._in_batch(m, block * m.n_threads + thread)
        made = words.inactive_source(who, thread % WARP, source, exists, m.block_threads)
        self._add(self._key(made.kind, m.pc), made, count, m.pc)

    def part_of_a_warp(self, m: Machine, pc: int, warp: int, there: Array, lanes: int) -> None:
        first = self._in_batch(m, warp * WARP + int(there.argmax()))
        made = words.part_of_a_warp(first, int(there.sum()), lanes)
        self._add(self._key(made.kind, pc), made, 1, pc)

    def some_have_left(self, m: Machine, pc: int, here: int, left: int, count: int) -> None:
        made = words.some_have_left(self._in_batch(m, here), self._in_batch(m, left), count)
        self._add(self._key(made.kind, pc), made, 1, pc)

    def barriers_of_two_lines(self, m: Machine, mask: Array | None, other_pc: int) -> None:
        first = int(m.expand(mask).reshape(-1).argmax())
        made = words.barriers_of_two_lines(
            self._in_batch(m, first), words.line_of(self._line(other_pc))
        )
        self._add(self._key(made.kind, m.pc, other_pc), made, 1, m.pc, other_pc)


def unwritten(memory: GlobalMemory) -> list[Finding]:
    """Notes on the tensors of a call of which some elements have never been written."""
    notes = []
    for allocation in memory.allocations:
        blank = fresh.lookup(allocation)
        left = blank.elements_left() if blank is not None else None
        if blank is None or left is None or not len(left):
            continue
        info = allocation.regions[0].info
        first = info.coordinate(int(left[0]) * info.itemsize + blank.offset)
        kind, _, place, told, advice = words.unwritten(info, first, len(left))
        notes.append(Finding(kind, place=place, count=len(left), told=told, advice=advice))
    return notes


def _by_warp(m: Machine, mask: Array | None) -> Array:
    """Which warps have a thread in the mask: (blocks, warps)."""
    return m.lanes(mask).any(axis=1).reshape(m.n_blocks, -1)
