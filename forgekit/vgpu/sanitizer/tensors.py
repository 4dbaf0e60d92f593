"""Global memory of a launch: races between threads, reads of what nobody ever wrote.

A tensor that the kernel cannot write to needs no bookkeeping; which ones it can, the origin of the
addresses in its code tells. Where no tensor is both written and read, it is enough to count the
stores: as many elements written as stored to, and no two threads have met. Only if the numbers
differ, the launch, which can be repeated then, is gone through thoroughly. Threads of one block are
ordered by their barriers, blocks by atomic and ordered accesses only (`sync_history.py`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from forgekit.vgpu.machine import WARP
from forgekit.vgpu.memory import fresh
from forgekit.vgpu.sanitizer.clocks import in_block_order
from forgekit.vgpu.sanitizer.reach import Reach, bytes_reached, is_ordered, reach
from forgekit.vgpu.sanitizer.shadow import ATOMIC, ENGINE, READ, WRITE, Shadow, Touch
from forgekit.vgpu.sanitizer.sources import Reading, Sources

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.launch_record import LaunchRecord
    from forgekit.vgpu.listeners import Access
    from forgekit.vgpu.machine import Machine
    from forgekit.vgpu.machine.async_operations import AsyncOperation, End
    from forgekit.vgpu.memory import Allocation, GlobalMemory
    from forgekit.vgpu.memory.addressing import Target
    from forgekit.vgpu.program import Program
    from forgekit.vgpu.ptx.dataflow import Origins
    from forgekit.vgpu.sanitizer.clocks import Snapshot, WarpClocks
    from forgekit.vgpu.sanitizer.listener import Sanitizer
    from forgekit.vgpu.sanitizer.sync_history import SyncHistory

_WHAT = {"load": READ, "async load": READ, "store": WRITE, "atomic": ATOMIC}
_MOST_THREADS = 1 << 31  # of a launch, so that a thread's number fits 32 bits


class _Tensor:
    """What is known of one allocation during a launch."""

    def __init__(
        self, allocation: Allocation, unit: int, written: bool, blank: fresh.Blank | None
    ) -> None:
        self.allocation = allocation
        self.shift = allocation.address % unit
        self.units = -(-(allocation.size_bytes + self.shift) // unit)
        self.written = written
        self.shadow: Shadow | None = None  # None: stores are only counted
        self.stored = 0
        self.seen = np.zeros(0, bool)
        self.known: Array | None = None  # units that somebody has written; None: all of them
        self.fresh = blank
        if blank is not None:
            self.known = blank.is_written(self.units, unit, self.shift)


class GlobalCheck:
    """The tensors of one launch."""

    def __init__(
        self,
        program: Program,
        record: LaunchRecord,
        memory: GlobalMemory,
        unit: int,
        sync_history: SyncHistory,
        report: Sanitizer,
        precise: bool,
    ) -> None:
        self._unit = unit
        self._report = report
        self._threads = -(-math.prod(record.block) // 32) * 32
        self._team_threads = self._threads * record.cluster_blocks
        self._on = math.prod(record.grid) * self._threads < _MOST_THREADS
        self._sync_history = sync_history
        self._base = 0  # number of the batch's first thread
        self._sources = Sources()
        self._written, read = (
            {id(a) for a in _allocations(origins, program, record, memory)}
            for origins in program.address_origins
        )
        both = self._written & read
        self.in_place = [a for a in memory.allocations if id(a) in both and not a.read_only]
        self._count_only = not (precise or both)
        self._tensors: dict[int, _Tensor | None] = {}
        # As they are before the launch: afterwards what it wrote looks like somebody else's.
        self._blanks = {id(a): fresh.lookup(a) for a in memory.allocations}

    @property
    def has_shadow(self) -> bool:
        """Whether anything has been remembered that clocks will be asked about."""
        return any(t is not None and t.shadow is not None for t in self._tensors.values())

    @property
    def doubtful(self) -> bool:
        """Whether some element was stored to more than once, where stores are only counted."""
        return any(
            t.stored != np.count_nonzero(t.seen)
            for t in self._tensors.values()
            if t is not None and t.written and t.shadow is None
        )

    def batch(self, m: Machine) -> None:
        """A batch of blocks starts."""
        self._base = m.blocks.start * m.n_threads
        self._sources = Sources()

    def access(self, m: Machine, access: Access, target: Target, clocks: WarpClocks) -> None:
        """Threads load, store or update elements."""
        allocation = target.allocation
        tensor = None if allocation is None else self._tensor(allocation)
        if allocation is None or tensor is None:
            return
        found = reach(m, access, target, self._unit, tensor.shift)
        self._touch(m, tensor, access.kind, found, clocks.now)
        if access.kind == "async load" and tensor.shadow is not None:
            self._sources.depart(Reading(access.copy, m.pc, tensor, found.units, found.who))

    def copied(self, m: Machine, access: Access, clocks: WarpClocks) -> None:
        """Asynchronous copies have arrived, for the threads that waited for them."""
        for tensor, found in self._sources.arrive(access.copy, m.expand(access.mask)):
            assert isinstance(tensor, _Tensor)
            self._meet(m, tensor, READ, found, clocks.now)

    def bulk(
        self, m: Machine, operation: AsyncOperation, end: End, kind: str, clock: Snapshot
    ) -> None:
        """Bulk copies start, with the clocks as they were then."""
        assert end.allocations is not None
        for allocation in {id(a): a for a in end.allocations}.values():
            tensor = self._tensor(allocation)
            if tensor is None:
                continue
            part = np.array([a is allocation for a in end.allocations])
            start = end.start[part] + tensor.shift
            who = operation.who[part] | ENGINE
            found = bytes_reached(who, start, operation.size[part], self._unit)
            self._touch(m, tensor, kind, found, clock)

    def _tensor(self, allocation: Allocation) -> _Tensor | None:
        """What is known of an allocation; None where nothing can go wrong."""
        if not self._on:
            return None
        key = id(allocation)
        if key not in self._tensors:
            self._tensors[key] = self._watch(allocation)
        return self._tensors[key]

    def _touch(self, m: Machine, tensor: _Tensor, kind: str, found: Reach, clock: Snapshot) -> None:
        if tensor.written and tensor.shadow is None:
            tensor.seen[found.units] = True
            tensor.stored += len(found.units)
            return
        if tensor.known is not None:
            if kind != "store":
                self._read(m, tensor, found)
            if kind in ("store", "atomic"):
                tensor.known[found.units] = True
        if tensor.shadow is None:
            return
        ordered = is_ordered(m.program.instructions[m.pc])
        races = self._meet(m, tensor, ATOMIC if ordered else _WHAT[kind], found, clock)
        if kind in ("store", "atomic"):
            self._change_sources(m, tensor, found, races)

    def _meet(self, m: Machine, tensor: _Tensor, what: str, found: Reach, clock: Snapshot) -> bool:
        """Compare with what was before; whether there were races."""
        assert tensor.shadow is not None
        touch = Touch(what, found.units, found.who + self._base, m.pc, clock,
                      self._sync_history.time, found.values, found.each, self._base)  # fmt: skip
        races = False
        for c in tensor.shadow.add(touch):
            self._report.race(m, "global-race", c, self._place(tensor, c.unit))
            races = True
        if what == READ:  # its threads are in the shadow now
            touch.units = touch.who = np.zeros(0, np.int32)
        return races

    def _change_sources(self, m: Machine, tensor: _Tensor, found: Reach, told: bool) -> None:
        """Tell of writes, if that has not been done, to what asynchronous copies still read."""
        for pc, read in self._sources.changed(tensor, found.units):
            if not told:
                unit, copier = int(read.units[0]), int(read.who[0]) + self._base
                who = int(found.who[found.units == unit][0] & (ENGINE - 1)) + self._base
                place = self._place(tensor, unit)
                self._report.source_changed(m, place, who, pc, copier, len(read.units))

    def finish(self) -> None:
        """The launch is over: what of fresh tensors it has written."""
        for tensor in self._tensors.values():
            if tensor is not None and tensor.known is not None and tensor.fresh is not None:
                if len(tensor.seen):
                    tensor.known |= tensor.seen
                tensor.fresh.mark_written(tensor.known, self._unit, tensor.shift)

    # -- reads of what nobody wrote ---------------------------------------------------------------
    def _watch(self, allocation: Allocation) -> _Tensor | None:
        """What to keep for an allocation; None where nothing can go wrong."""
        written = id(allocation) in self._written
        blank = self._blanks[id(allocation)]
        if not written and blank is None:
            return None
        tensor = _Tensor(allocation, self._unit, written, blank)
        if written and self._count_only:
            tensor.seen = np.zeros(tensor.units, bool)
        elif written:
            tensor.shadow = Shadow(tensor.units, self._ordered)
        return tensor

    def _read(self, m: Machine, tensor: _Tensor, found: Reach) -> None:
        assert tensor.known is not None
        known = tensor.known[found.units]
        if known.all():
            return
        bad = np.flatnonzero(~known)
        place, who = self._place(tensor, int(found.units[bad[0]])), int(found.who[bad[0]])
        self._report.uninitialised_global(m, place, who & (ENGINE - 1), len(bad))
        tensor.known[found.units[bad]] = True  # told once

    def _place(self, tensor: _Tensor, unit: int) -> str:
        info, from_first = tensor.allocation.tensor_at(max(unit * self._unit - tensor.shift, 0))
        return f"{info.coordinate(from_first)} of {info}"

    # -- order ------------------------------------------------------------------------------------
    def _ordered(self, earlier: Touch, first: Array, later: Touch, second: Array) -> Array:
        before, after, engine = first & (ENGINE - 1), second & (ENGINE - 1), first >= ENGINE
        result = ~engine & (before == after)  # before the thread started the operation
        same = before // self._team_threads == after // self._team_threads
        if same.any():
            own, other = before[same] - later.base, after[same] - later.base
            n_warps = self._team_threads // WARP
            result[same] |= in_block_order(earlier, own, later, other, n_warps, engine[same])
        rest = np.flatnonzero(~result)
        a, b = before[rest] // WARP, after[rest] // WARP
        result[rest] = self._sync_history.ordered(a, earlier, b, later, engine[rest])
        return np.asarray(result)


def _allocations(
    origins: Origins, program: Program, record: LaunchRecord, memory: GlobalMemory
) -> list[Allocation]:
    """The allocations that addresses of these origins may lie in."""
    if origins is None:
        return memory.allocations
    found = []
    for name, offset in origins:
        if name in record.symbols:
            value = record.symbols[name]
        elif name in program.param_offsets:
            at = program.param_offsets[name] + offset
            value = int.from_bytes(record.params[at : at + 8], "little")
        else:
            continue
        found += [a for a in memory.allocations if a.address <= value <= a.address + a.size_bytes]
    return found
