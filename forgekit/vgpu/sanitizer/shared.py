"""Check the shared memory of a batch: races between barriers, unwritten memory, copies in flight.

Between two barriers of the whole block, accesses are only collected. At a barrier, one pass looks
for units that several threads touched. The accesses are processed in order only if there are such
units.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from forgekit.vgpu.access.addressing import Target
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Access
from forgekit.vgpu.sanitizer.clocks import Snapshot
from forgekit.vgpu.sanitizer.findings import Report, shared_byte
from forgekit.vgpu.sanitizer.messages import COPY_IN_FLIGHT
from forgekit.vgpu.sanitizer.order import Order
from forgekit.vgpu.sanitizer.reach import Reach, is_ordered, reach
from forgekit.vgpu.sanitizer.shadow import ATOMIC, ENGINE, READ, WRITE, Shadow, Touch

_WHAT = {"load": READ, "store": WRITE, "async store": WRITE, "atomic": ATOMIC}
_AS_ACCESS = {READ: "load", WRITE: "async store", ATOMIC: "atomic"}
_DOES = {"load": "reads", "store": "writes", "atomic": "updates", "async store": "copies to"}
_COLLECTED = 4096  # maximum number of collected accesses


class Destinations:
    """The units of a batch's shared memory that incomplete `cp.async` copies write. A copy is
    complete when the thread that started it has waited for it."""

    def __init__(self, n_units: int) -> None:
        self._n_units = n_units
        # For each unit, 1 + the instruction that started the copy to it, or 0. None if there are no
        # copies.
        self._pcs: Array | None = None
        self._threads = np.zeros(0, np.int32)

    def start(self, pc: int, found: Reach) -> None:
        if self._pcs is None:
            self._pcs = np.zeros(self._n_units, np.int32)
            self._threads = np.zeros(self._n_units, np.int32)
        self._pcs[found.units] = pc + 1
        self._threads[found.units] = found.who

    def complete(self, found: Reach) -> None:
        if self._pcs is not None:
            self._pcs[found.units] = 0
            if not self._pcs.any():
                self._pcs = None

    def __bool__(self) -> bool:
        return self._pcs is not None

    def to(self, units: Array) -> Array:
        """Return a mask of the units to which copies are in flight. Requires at least one copy."""
        assert self._pcs is not None
        return np.asarray(self._pcs[units] != 0)

    def of(self, unit: int) -> tuple[int, int]:
        """Return the instruction and the thread that started the copy to a unit."""
        assert self._pcs is not None
        return int(self._pcs[unit]) - 1, int(self._threads[unit])


class SharedCheck:
    """Checks the shared memory of a launch, batch by batch.

    Attributes:
        read_blank: True if a thread has read unwritten memory.
        on_blank: a function that is called with each such read, or None.
    """

    def __init__(self, unit: int, order: Order, report: Report) -> None:
        self.read_blank = False
        self.on_blank: Callable[[Batch, Reach], None] | None = None
        self._unit, self._order, self._report = unit, order, report

    def batch(self, m: Batch) -> None:
        self._n = len(m.shared.data) // self._unit
        # The last writer of each unit: the number of the phase between barriers (counted from 1) in
        # the bits above the number of the thread; 0: no thread.
        self._owner = np.zeros(self._n, np.int64)
        self._phase = 1
        self._writes = 0  # number of writes in this phase
        self._copies = Destinations(self._n)
        self._held: list[Callable[[], Touch]] = []  # accesses since the last barrier
        self._shadow: Shadow | None = None

    def access(self, m: Batch, access: Access, target: Target) -> None:
        """Record a load, a store, an atomic update or the start of an asynchronous copy."""
        found: Reach | None = None
        if self._copies:
            found = self._meet_copies(m, access.kind, reach(m, access, target, self._unit))
        if access.kind in ("load", "atomic") and self._may_be_blank(m, access):
            found = found or reach(m, access, target, self._unit)
            self._read(m, found)
        if access.kind != "load":
            found = found or reach(m, access, target, self._unit)
            if access.kind == "async store":
                self._copies.start(m.pc, found)
            else:
                self._own(found)
        self._hold(m, access, target, found)

    def touch(self, m: Batch, what: str, found: Reach, clock: Snapshot | None = None) -> None:
        """Record an operation on an mbarrier, or the start of an asynchronous operation.

        clock: the clock when the operation started.
        """
        if self._copies:
            found = self._meet_copies(m, _AS_ACCESS[what], found)
        if what != WRITE:
            self._read(m, found)
        if what != READ:
            self._own(found)
        self._keep(m, what, self._order.clocks.now if clock is None else clock, lambda: found)

    def copied(self, m: Batch, access: Access, target: Target) -> None:
        """Record that an asynchronous copy is complete, for the threads that have waited for it."""
        found = reach(m, access, target, self._unit)
        self._copies.complete(found)
        self._own(found)
        self._hold(m, access, target, found)

    def _own(self, found: Reach) -> None:
        self._owner[found.units] = found.who | np.int64(self._phase << 32)

    def _hold(self, m: Batch, access: Access, target: Target, found: Reach | None) -> None:
        what, pc = ATOMIC if is_ordered(m.program.instructions[m.pc]) else _WHAT[access.kind], m.pc
        self._keep(
            m, what, self._order.clocks.now,
            lambda: found or reach(m, access, target, self._unit, pc=pc),
        )  # fmt: skip

    def _keep(self, m: Batch, what: str, clock: Snapshot, found: Callable[[], Reach]) -> None:
        """Store an access until the next barrier. found: computes the reach of the access on
        demand."""
        pc, time = m.pc, self._order.time
        self._writes += what != READ
        self._held.append(lambda: Touch.of(what, found(), pc, clock, time))
        if len(self._held) > _COLLECTED:
            self._go_through(m, keep=True)

    # -- reads of unwritten memory, copies in flight ---------------------------------------------
    def _may_be_blank(self, m: Batch, access: Access) -> bool:
        """Return True if a load may have read unwritten memory."""
        if self.read_blank and self.on_blank is None:
            return False  # one such read is enough
        if access.kind != "load" or access.values is None or not m.shared.blank_is_ones:
            return True
        for value in access.values:
            if value.dtype.itemsize > self._unit:
                value = np.ascontiguousarray(value)
                value = value.view(f"u{self._unit}").reshape(*value.shape, -1)
            ones = value == ~value.dtype.type(0)
            if not ones.any():
                continue
            some = ones if ones.ndim == 2 else ones.any(axis=2)
            if access.mask is None or (some & access.mask).any():
                return True
        return False

    def _read(self, m: Batch, found: Reach) -> None:
        if self.read_blank and self.on_blank is None:
            return
        blank = self._owner[found.units] == 0
        if blank.any():
            self.read_blank = True
            if self.on_blank is not None:
                self.on_blank(m, Reach(found.units[blank], found.who[blank], None, 1))

    def _meet_copies(self, m: Batch, access: str, found: Reach) -> Reach:
        """Report accesses to units to which a copy is in flight, and return the reach without these
        units."""
        in_flight = self._copies.to(found.units)
        bad = np.flatnonzero(in_flight)
        if not len(bad):
            return found
        unit, who = int(found.units[bad[0]]), int(found.who[bad[0]]) & (ENGINE - 1)
        pc, copier = self._copies.of(unit)
        self._report.add(
            COPY_IN_FLIGHT, (m.pc, pc), self._report.in_batch(m, who),
            shared_byte(self._offset(m, unit)), count=len(bad), does=_DOES[access],
            other=self._report.in_batch(m, copier),
        )  # fmt: skip
        rest = ~in_flight
        return Reach(found.units[rest], found.who[rest], None, 1)

    # -- races ------------------------------------------------------------------------------------
    def everyone_met(self, m: Batch) -> None:
        """Process a barrier that orders all earlier accesses before all later accesses."""
        self._go_through(m, keep=False)
        self._shadow = None
        self._phase += 1
        self._writes = 0

    def _go_through(self, m: Batch, keep: bool) -> None:
        held, self._held = self._held, []
        if self._shadow is None and not self._writes:
            return
        touches = [touch() for touch in held]
        if self._shadow is None and not keep and self._each_alone(touches):
            return
        if self._shadow is None:
            self._shadow = Shadow(self._n, self._order.in_batch)
        for touch in touches:
            for conflict in self._shadow.add(touch):
                place = shared_byte(self._offset(m, conflict.unit))
                threads = functools.partial(self._report.in_batch, m)
                self._report.race("shared-race", conflict, threads, place)

    def _each_alone(self, touches: list[Touch]) -> bool:
        """Return True if only one thread touched each unit that was written in this phase."""
        phase = self._phase << 32
        for touch in touches:
            owner = self._owner[touch.units]
            other = owner != (touch.who | np.int64(phase))
            if touch.what == READ:
                other &= owner >= phase
            if other.any():
                return False
        return True

    def _offset(self, m: Batch, unit: int) -> int:
        """Return the offset, in bytes, of a unit from the start of its block's shared memory."""
        return unit * self._unit % m.shared.stride
