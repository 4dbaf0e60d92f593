"""Check the global memory of a launch: races between threads, reads of unwritten elements.

A tensor that the kernel cannot write needs no bookkeeping. The origins of the addresses in the code
determine which tensors the kernel can write. If there is no tensor that it can both read and
write, the check only counts stores: if each written element was stored once, there was no race. The
launch is repeated with a precise check only if the number of stores differs from the number of
written elements. Barriers order the threads of a block; only atomic and ordered accesses order
blocks (`order.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forgekit.vgpu.access.addressing import Target
from forgekit.vgpu.access.copies import AsyncOperation
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.code import Code
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.listeners import Access
from forgekit.vgpu.machine import WARP
from forgekit.vgpu.memory import Allocation, GlobalMemory, fresh
from forgekit.vgpu.ptx.dataflow import Origins
from forgekit.vgpu.sanitizer.clocks import Snapshot
from forgekit.vgpu.sanitizer.findings import Report
from forgekit.vgpu.sanitizer.messages import SOURCE_CHANGED, UNINITIALISED_GLOBAL
from forgekit.vgpu.sanitizer.order import Order
from forgekit.vgpu.sanitizer.reach import Reach, bytes_reached, is_ordered, reach
from forgekit.vgpu.sanitizer.shadow import ATOMIC, ENGINE, READ, WRITE, Shadow, Touch

_WHAT = {"load": READ, "async load": READ, "store": WRITE, "atomic": ATOMIC}
_MOST_THREADS = 1 << 31  # limit on threads per launch, so that a thread's number fits into 32 bits


@dataclass
class Source:
    """Copies started by one `cp.async` that have not been waited for: thread `who[i]` of the batch
    reads `units[i]` of a tensor. copy: as in `Access`."""

    copy: object
    pc: int
    units: Array
    who: Array

    def take(self, which: Array) -> Reach:
        """Remove the entries in the mask `which`, and return them."""
        taken = Reach(self.units[which], self.who[which], None, 1)
        self.units, self.who = self.units[~which], self.who[~which]
        return taken


class _Tensor:
    """Keeps the state of one allocation during a launch.

    Attributes:
        seen: the stored units if stores are only counted, otherwise None.
        stored: the number of stores.
        shadow: the precise record if there is one, otherwise None.
        known: the written units; None if all units count as written.
        sources: the units that the batch's asynchronous copies may still read.
    """

    def __init__(self, allocation: Allocation, unit: int, blank: fresh.Blank | None) -> None:
        self.allocation, self.fresh = allocation, blank
        self.shift = allocation.address % unit
        self.units = -(-(allocation.size_bytes + self.shift) // unit)
        self.seen: Array | None = None
        self.stored = 0
        self.shadow: Shadow | None = None
        self.sources: list[Source] = []
        self.known = None if blank is None else blank.is_written(self.units, unit, self.shift)


class GlobalCheck:
    """Checks the tensors of a launch."""

    def __init__(
        self,
        program: Code,
        record: LaunchRecord,
        memory: GlobalMemory,
        order: Order,
        report: Report,
        *,
        precise: bool,
    ) -> None:
        self._unit, self._order, self._report = program.unit_bytes, order, report
        self._on = math.prod(record.grid) * record.block_warps * WARP < _MOST_THREADS
        self._written, read = (
            {id(a) for a in _allocations(origins, program, record, memory)}
            for origins in program.address_origins
        )
        both = self._written & read
        self.in_place = [a for a in memory.allocations if id(a) in both and not a.read_only]
        self._count_only = not (precise or both)
        self._tensors: dict[int, _Tensor | None] = {}
        # Look these up before the launch, because its own writes must not count as earlier writes.
        self._blanks = {id(a): fresh.lookup(a) for a in memory.allocations}

    @property
    def has_shadow(self) -> bool:
        """Return True if a tensor has a precise record of its accesses."""
        return any(t.shadow is not None for t in self._watched())

    @property
    def doubtful(self) -> bool:
        """Return True if, in a tensor whose stores are only counted, an element was stored more
        than once."""
        return any(
            t.seen is not None and t.stored != np.count_nonzero(t.seen) for t in self._watched()
        )

    def batch(self) -> None:
        for tensor in self._watched():
            tensor.sources.clear()

    def finish(self) -> None:
        """Mark, at the end of the launch, the elements of fresh tensors that it wrote."""
        for tensor in self._watched():
            if tensor.known is not None and tensor.fresh is not None:
                if tensor.seen is not None:
                    tensor.known |= tensor.seen
                tensor.fresh.mark_written(tensor.known, self._unit, tensor.shift)

    def access(self, m: Batch, access: Access, target: Target) -> None:
        assert target.allocation is not None
        tensor = self._tensor(target.allocation)
        if tensor is None:
            return
        found = reach(m, access, target, self._unit, tensor.shift)
        self._touch(m, tensor, access.kind, found, self._order.clocks.now)
        if access.kind == "async load" and tensor.shadow is not None:
            tensor.sources.append(Source(access.copy, m.pc, found.units, found.who))

    def copied(self, m: Batch, access: Access) -> None:
        """Record that asynchronous copies are complete, for the threads that have waited for
        them."""
        due = m.expand(access.mask).reshape(-1)
        for tensor in self._watched():
            for source in tensor.sources:
                if source.copy is access.copy:
                    found = source.take(due[source.who])
                    self._meet(m, tensor, READ, found, self._order.clocks.now)
            tensor.sources = [source for source in tensor.sources if len(source.units)]

    def bulk(self, m: Batch, operation: AsyncOperation, clock: Snapshot) -> None:
        """Record that asynchronous operations start. clock: the clocks at the start."""
        for kind, run in operation.runs():
            tensor = self._tensor(run.allocation)
            if tensor is None:
                continue
            found = bytes_reached(run.of, run.start + tensor.shift, run.size, self._unit)
            values = None
            if kind == "store" and tensor.shadow is not None:
                values = _contents(m, operation)[found.who]
            who = operation.who[found.who] | ENGINE
            self._touch(m, tensor, kind, found._replace(who=who, values=values), clock)

    def _watched(self) -> list[_Tensor]:
        """Return the tensors that have been accessed so far and need checks."""
        return [tensor for tensor in self._tensors.values() if tensor is not None]

    def _tensor(self, allocation: Allocation) -> _Tensor | None:
        """Return the state of an allocation, or None if it needs no checks."""
        key = id(allocation)
        if key not in self._tensors:
            written, blank = key in self._written, self._blanks.get(key)
            tensor = None
            if self._on and (written or blank is not None):
                tensor = _Tensor(allocation, self._unit, blank)
            if tensor is not None and written and self._count_only:
                tensor.seen = np.zeros(tensor.units, bool)
            elif tensor is not None and written:
                tensor.shadow = Shadow(tensor.units, self._order.in_grid)
            self._tensors[key] = tensor
        return self._tensors[key]

    def _touch(self, m: Batch, tensor: _Tensor, kind: str, found: Reach, clock: Snapshot) -> None:
        if tensor.seen is not None:
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
            self._write_sources(m, tensor, found, reported=races)

    def _read(self, m: Batch, tensor: _Tensor, found: Reach) -> None:
        """Report reads of unwritten memory, once per unit."""
        assert tensor.known is not None
        known = tensor.known[found.units]
        if known.all():
            return
        bad = np.flatnonzero(~known)
        place, who = self._place(tensor, int(found.units[bad[0]])), int(found.who[bad[0]])
        reader = self._report.in_batch(m, who & (ENGINE - 1))
        self._report.add(UNINITIALISED_GLOBAL, (m.pc,), reader, place, count=len(bad))
        tensor.known[found.units[bad]] = True

    def _meet(self, m: Batch, tensor: _Tensor, what: str, found: Reach, clock: Snapshot) -> bool:
        """Compare an access with earlier accesses and report races; return True if there are
        any."""
        assert tensor.shadow is not None
        found = found._replace(who=found.who + self._order.base)
        races = False
        for c in tensor.shadow.add(Touch.of(what, found, m.pc, clock, self._order.time)):
            self._report.race("global-race", c, self._report.who, self._place(tensor, c.unit))
            races = True
        return races

    def _write_sources(self, m: Batch, tensor: _Tensor, found: Reach, *, reported: bool) -> None:
        """Report writes to units that asynchronous copies may still read, unless already
        reported."""
        for source in tensor.sources:
            hit = np.isin(source.units, found.units)
            if not hit.any():
                continue
            read = source.take(hit)
            if not reported:
                unit = int(read.units[0])
                who = int(found.who[found.units == unit][0]) & (ENGINE - 1)
                self._report.add(
                    SOURCE_CHANGED, (m.pc, source.pc), self._report.in_batch(m, who),
                    self._place(tensor, unit), count=len(read.units),
                    other=self._report.in_batch(m, int(read.who[0])),
                )  # fmt: skip

    def _place(self, tensor: _Tensor, unit: int) -> str:
        info, from_first = tensor.allocation.tensor_at(max(unit * self._unit - tensor.shift, 0))
        return f"{info.coordinate(from_first)} of {info}"


def _contents(m: Batch, operation: AsyncOperation) -> Array:
    """Return one hash per store, from the stored bytes and their addresses."""
    source, target = operation.source, operation.target
    assert source is not None
    found = []
    for i, size in enumerate(operation.size.tolist()):
        held = source.take(i, size, m.shared.data).tobytes()
        found.append(hash((held, target.places(i, size).tobytes())))
    return np.array(found, np.int64)


def _allocations(
    origins: Origins, program: Code, record: LaunchRecord, memory: GlobalMemory
) -> list[Allocation]:
    """Return the allocations to which addresses of these origins may point."""
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
