"""Asynchronous operations under way: bulk copies and `st.async`.

They arrive as late as the rules allow: when nobody can run on without, when a thread waits for its
bulk group, or at the end. An eager adversary lets them arrive when they start.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forgekit.vgpu.addressing import Target
from forgekit.vgpu.memory import element_view

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.machine import Machine
    from forgekit.vgpu.memory import Allocation

NO_MBARRIER = -1


@dataclass
class End:
    """Where operations begin or end: byte `start[i]` of shared memory (of the whole batch), or of
    a global allocation, one for each."""

    start: Array
    allocations: Sequence[Allocation] | None = None  # None: shared memory

    def targets(self, size: Array) -> list[Target]:
        """The 16-byte pieces of tensors that operations of these sizes reach."""
        result = []
        for i, allocation in enumerate(self.allocations or ()):
            skipped = -allocation.address % 16
            first = (int(self.start[i]) - skipped) // 16
            places = np.arange(first, first + int(size[i]) // 16)
            rows = element_view(allocation.data[skipped:], 4, 4)
            result.append(Target(rows, places, None, "global", allocation, skipped))
        return result


@dataclass
class Flight:
    """What one instruction has started: operation i is that of thread `who[i]`, ascending.

    source: None where the bytes are `values`, (n, size). words: the mbarrier that is told, or
    NO_MBARRIER where the thread waits for the `group` (0: not committed). left: not yet arrived.
    """

    pc: int
    who: Array
    size: Array
    target: End
    source: End | None
    words: Array
    values: Array | None = None
    left: Array = field(init=False)
    group: Array = field(init=False)
    held: dict[int, Array] = field(default_factory=dict)  # bytes that have been read already
    moved: bool = False  # arrived early, which nobody may rely on
    ticket: object = None  # a listener's own

    def __post_init__(self) -> None:
        self.left = np.ones(len(self.who), bool)
        self.group = np.zeros(len(self.who), np.int64)

    @property
    def tells(self) -> bool:
        """Whether it tells an mbarrier, rather than being waited for by group."""
        return bool(self.words[0] != NO_MBARRIER)


class Flights:
    """All that is under way in a batch."""

    def __init__(self, machine: Machine) -> None:
        self.machine: Machine = weakref.proxy(machine)
        self.under_way: list[Flight] = []
        self._committed: Array | None = None  # bulk groups committed, by thread

    def start(self, flight: Flight) -> None:
        m = self.machine
        m.sleepers.something_happened()
        for listener in m.listeners:
            listener.on_flight(m, flight)
        self.under_way.append(flight)
        if m.adversary is not None and m.adversary.eager:
            if flight.tells:
                self._land(flight, flight.left)
            else:
                self._move(flight, flight.left)
                flight.moved = True

    # -- mbarriers --------------------------------------------------------------------------------
    def land_one(self, awaited: Array | None = None) -> bool:
        """Let the oldest operation arrive that tells an mbarrier, of `awaited` ones if there is."""
        telling = [f for f in self.under_way if f.tells]
        if not telling:
            return False
        if awaited is not None:
            telling = [f for f in telling if np.isin(f.words, awaited).any()] or telling
        self._land(telling[0], telling[0].left)
        return True

    def land_all(self) -> None:
        """Every thread has exited."""
        while self.under_way:
            self._land(self.under_way[0], self.under_way[0].left)

    def _land(self, flight: Flight, part: Array) -> None:
        """The operations of `part` arrive; errors name the line that started them."""
        m = self.machine
        m.pc, pc = flight.pc, m.pc
        part = part.copy()
        if not flight.moved:
            self._move(flight, part)
        flight.left &= ~part
        if not flight.left.any():
            self.under_way = [f for f in self.under_way if f is not flight]
        if flight.tells:
            there = part & ~self._gone(flight.words * 8)
            for listener in m.listeners:
                listener.on_landing(m, flight, there)
            size = flight.size[there]
            if len(size):
                m.mbarriers.change(flight.words[there], np.zeros_like(size), -size)
        m.pc = pc

    def _gone(self, start: Array) -> Array:
        """Which bytes of shared memory belong to a block that has exited."""
        m = self.machine
        if m.alive is None:
            return np.zeros(len(start), bool)
        left = np.logical_not(m.expand(m.alive).any(axis=1))
        return np.asarray(np.asarray(left)[start // m.shared.stride])

    def _move(self, flight: Flight, part: Array) -> None:
        shared = self.machine.shared.data
        target, source = flight.target, flight.source
        if target.allocations is None:
            part = part & ~self._gone(target.start)
        if flight.values is not None:
            places = target.start[part, None] + np.arange(flight.values.shape[1])
            shared[places] = flight.values[part]
            return
        assert source is not None
        for i in np.flatnonzero(part).tolist():
            size = int(flight.size[i])
            found = flight.held.pop(i, None)
            if found is None:
                found = _bytes(source, i, size, shared)
            _bytes(target, i, size, shared)[:] = found

    # -- bulk groups ------------------------------------------------------------------------------
    def commit(self, mask: Array | None) -> None:
        """`cp.async.bulk.commit_group`: what these threads have started becomes a group."""
        m = self.machine
        full = m.expand(mask).reshape(-1)
        if self._committed is None:
            self._committed = np.zeros(len(full), np.int64)
        self._committed = self._committed + full
        for flight in self.under_way:
            if not flight.tells:
                fresh = (flight.group == 0) & full[flight.who]
                flight.group = np.where(fresh, self._committed[flight.who], flight.group)

    def wait(self, mask: Array | None, keep: int, read: bool) -> None:
        """`cp.async.bulk.wait_group`: for all groups but the newest `keep` of these threads.

        read: their sources have been read; the bytes need not have arrived.
        """
        m = self.machine
        if self._committed is None:
            return
        full = m.expand(mask).reshape(-1)
        for flight in list(self.under_way):
            if flight.tells:
                continue
            last = self._committed[flight.who] - keep
            due = flight.left & full[flight.who] & (flight.group > 0) & (flight.group <= last)
            if not due.any():
                continue
            for listener in m.listeners:
                listener.on_landing(m, flight, due)
            if read:
                self._read(flight, due)
            else:
                self._land(flight, due)

    def _read(self, flight: Flight, due: Array) -> None:
        assert flight.source is not None
        for i in np.flatnonzero(due).tolist():
            if i not in flight.held and not flight.moved:
                size = int(flight.size[i])
                flight.held[i] = _bytes(flight.source, i, size, self.machine.shared.data).copy()


def _bytes(end: End, i: int, size: int, shared: Array) -> Array:
    start = int(end.start[i])
    memory = shared if end.allocations is None else end.allocations[i].data
    return memory[start : start + size]
