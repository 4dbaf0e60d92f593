"""Asynchronous operations in flight: bulk copies, tensor copies and `st.async`.

They arrive as late as the rules allow: when nobody can run on without, when a thread waits for its
bulk group, or at the end. An eager adversary lets them arrive when they start.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from forgekit.vgpu.memory import element_view
from forgekit.vgpu.memory.addressing import Target

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.machine.machine import Machine
    from forgekit.vgpu.memory import Allocation

NO_MBARRIER = -1
Update = Callable[["Array", "Array"], "Array"]


class Run(NamedTuple):
    """Contiguous bytes of an allocation that operations reach: `size[k]` bytes from `start[k]` on
    by operation `of[k]`, ascending."""

    allocation: Allocation
    of: Array
    start: Array
    size: Array

    def target(self) -> tuple[Target, int]:
        """The pieces that are reached, and bytes of a piece, at most 16."""
        skipped = -self.allocation.address % 16
        width = int(np.gcd.reduce(np.concatenate([[16], self.start - skipped, self.size])))
        first, count = (self.start - skipped) // width, self.size // width
        step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        elem = min(width, 4)
        rows = element_view(self.allocation.data[skipped:], elem, width // elem)
        places = np.repeat(first, count) + step
        return Target(rows, places, None, "global", self.allocation, skipped), width


@dataclass
class End:
    """Where operations begin or end: byte `start[i]` of shared memory (of the whole batch), or of
    a global allocation, one for each."""

    start: Array
    allocations: Sequence[Allocation] | None = None  # None: shared memory

    def runs(self, size: Array) -> Iterator[Run]:
        """The bytes of tensors that operations of these sizes reach."""
        for allocation in {id(a): a for a in self.allocations or ()}.values():
            of = np.flatnonzero([a is allocation for a in self.allocations or ()])
            rows = self._rows(of, size)
            if len(rows[0]):
                yield Run(allocation, *rows)

    def _rows(self, of: Array, size: Array) -> tuple[Array, Array, Array]:
        """Contiguous bytes that the operations `of` reach: whose, where they begin, how many."""
        return of, self.start[of], size[of]

    def places(self, i: int, size: int) -> Array:
        """Where each of the bytes lies, in the order in which they are moved; -1: nowhere."""
        return int(self.start[i]) + np.arange(size)

    def take(self, i: int, size: int, shared: Array) -> Array:
        """The bytes of operation i."""
        start = int(self.start[i])
        memory = shared if self.allocations is None else self.allocations[i].data
        return memory[start : start + size]

    def put(self, i: int, found: Array, shared: Array, update: Update | None = None) -> None:
        """Write them. update: (old elements, new ones) -> what stays, where it is not the new."""
        assert update is None
        self.take(i, len(found), shared)[:] = found

    def part(self, keep: Array) -> Self:
        """Of some operations only."""
        if keep.all():
            return self
        some: dict[str, Any] = {f.name: _some(getattr(self, f.name), keep) for f in fields(self)}
        return replace(self, **some)


def _some(of_each: Array | Sequence | None, keep: Array) -> Array | Sequence | None:
    if isinstance(of_each, np.ndarray):
        return of_each[keep]
    return None if of_each is None else list(itertools.compress(of_each, keep))


@dataclass
class AsyncOperation:
    """What one instruction has started: operation i is that of thread `who[i]`, ascending.

    source: None where the bytes are `values`, (n, size). words: the mbarrier that is signalled, or
    NO_MBARRIER where the thread waits for the `group` (0: not committed). update: what a reduction
    does to elements of its target. left: not yet arrived.
    """

    pc: int
    who: Array
    size: Array
    target: End
    source: End | None
    words: Array
    values: Array | None = None
    update: Update | None = None
    left: Array = field(init=False)
    group: Array = field(init=False)
    held: dict[int, Array] = field(default_factory=dict)  # bytes that have been read already
    moved: bool = False  # arrived early, which nobody may rely on
    token: object = None  # a listener's own

    def __post_init__(self) -> None:
        self.left = np.ones(len(self.who), bool)
        self.group = np.zeros(len(self.who), np.int64)

    def runs(self) -> Iterator[tuple[str, Run]]:
        """What it reaches of tensors, with the kind of access as listeners know it."""
        ends = ((self.source, "async load"), (self.target, "atomic" if self.update else "store"))
        for end, kind in ends:
            for run in [] if end is None else end.runs(self.size):
                yield kind, run

    @property
    def signals(self) -> bool:
        """Whether it signals an mbarrier, rather than being waited for by group."""
        return bool(self.words[0] != NO_MBARRIER)


class AsyncOperations:
    """All that is in flight in a batch."""

    def __init__(self, machine: Machine) -> None:
        self.machine: Machine = weakref.proxy(machine)
        self.in_flight: list[AsyncOperation] = []
        self._committed: Array | None = None  # bulk groups committed, by thread

    def start(self, operation: AsyncOperation) -> None:
        m = self.machine
        m.wait_queue.made_progress()
        for listener in m.listeners:
            listener.on_async_start(m, operation)
        self.in_flight.append(operation)
        if m.adversary is not None and m.adversary.eager:
            if operation.signals:
                self._complete(operation, operation.left)
            else:
                self._move(operation, operation.left)
                operation.moved = True

    # -- mbarriers --------------------------------------------------------------------------------
    def complete_one(self, awaited: Array | None = None) -> bool:
        """Let the oldest that signals an mbarrier arrive, of `awaited` ones if there is one."""
        signalling = [f for f in self.in_flight if f.signals]
        if not signalling:
            return False
        if awaited is not None:
            signalling = [f for f in signalling if np.isin(f.words, awaited).any()] or signalling
        self._complete(signalling[0], signalling[0].left)
        return True

    def complete_all(self) -> None:
        """Every thread has exited."""
        while self.in_flight:
            self._complete(self.in_flight[0], self.in_flight[0].left)

    def _complete(self, operation: AsyncOperation, part: Array) -> None:
        """The operations of `part` arrive; errors name the line that started them."""
        m = self.machine
        m.pc, pc = operation.pc, m.pc
        part = part.copy()
        if not operation.moved:
            self._move(operation, part)
        operation.left &= ~part
        if not operation.left.any():
            self.in_flight = [f for f in self.in_flight if f is not operation]
        if operation.signals:
            there = part & ~self._gone(operation.words * 8)
            for listener in m.listeners:
                listener.on_async_completion(m, operation, there)
            size = operation.size[there]
            if len(size):
                m.mbarriers.change(operation.words[there], np.zeros_like(size), -size)
        m.pc = pc

    def _gone(self, start: Array) -> Array:
        """Which bytes of shared memory belong to a block that has exited."""
        m = self.machine
        if m.alive is None:
            return np.zeros(len(start), bool)
        left = np.logical_not(m.expand(m.alive).any(axis=1))
        return np.asarray(np.asarray(left)[start // m.shared.stride])

    def _move(self, operation: AsyncOperation, part: Array) -> None:
        shared = self.machine.shared.data
        target, source = operation.target, operation.source
        if target.allocations is None:
            part = part & ~self._gone(target.start)
        if operation.values is not None:
            places = target.start[part, None] + np.arange(operation.values.shape[1])
            shared[places] = operation.values[part]
            return
        assert source is not None
        for i in np.flatnonzero(part).tolist():
            found = operation.held.pop(i, None)
            if found is None:
                found = source.take(i, int(operation.size[i]), shared)
            target.put(i, found, shared, operation.update)

    # -- bulk groups ------------------------------------------------------------------------------
    def commit(self, mask: Array | None) -> None:
        """`cp.async.bulk.commit_group`: what these threads have started becomes a group."""
        m = self.machine
        full = m.expand(mask).reshape(-1)
        if self._committed is None:
            self._committed = np.zeros(len(full), np.int64)
        self._committed = self._committed + full
        for operation in self.in_flight:
            if not operation.signals:
                fresh = (operation.group == 0) & full[operation.who]
                operation.group = np.where(fresh, self._committed[operation.who], operation.group)

    def wait(self, mask: Array | None, keep: int, read: bool) -> None:
        """`cp.async.bulk.wait_group`: for all groups but the newest `keep` of these threads.

        read: their sources have been read; the bytes need not have arrived.
        """
        m = self.machine
        if self._committed is None:
            return
        full = m.expand(mask).reshape(-1)
        for operation in list(self.in_flight):
            if operation.signals:
                continue
            last = self._committed[operation.who] - keep
            due = (
                operation.left
                & full[operation.who]
                & (operation.group > 0)
                & (operation.group <= last)
            )
            if not due.any():
                continue
            for listener in m.listeners:
                listener.on_async_completion(m, operation, due)
            if read:
                self._read(operation, due)
            else:
                self._complete(operation, due)

    def _read(self, operation: AsyncOperation, due: Array) -> None:
        assert operation.source is not None
        for i in np.flatnonzero(due).tolist():
            if i not in operation.held and not operation.moved:
                size = int(operation.size[i])
                found = operation.source.take(i, size, self.machine.shared.data)
                operation.held[i] = found.copy()
