"""Manage asynchronous operations in flight: bulk copies, tensor copies and `st.async`.

An operation completes as late as the rules allow: when no thread can continue without it, when a
thread waits for its bulk group, or when the batch ends. Under an eager adversarial schedule, it
completes immediately.
"""

from __future__ import annotations

import weakref

import numpy as np

from forgekit.vgpu.access.copies import AsyncOperation
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine.groups import Groups
from forgekit.vgpu.machine.mbarriers import Mbarriers
from forgekit.vgpu.machine.wait_queue import WaitQueue


class AsyncOperations:
    """The asynchronous operations in flight in a batch."""

    def __init__(self, machine: Groups, wait_queue: WaitQueue, mbarriers: Mbarriers) -> None:
        self.machine: Groups = weakref.proxy(machine)
        self.wait_queue, self.mbarriers = wait_queue, mbarriers
        self.in_flight: list[AsyncOperation] = []
        self._committed: Array | None = None  # number of bulk groups that each thread has committed

    def start(self, operation: AsyncOperation) -> None:
        m = self.machine
        self.wait_queue.made_progress()
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
        """Complete the oldest operation that signals an mbarrier in `awaited` or, if there is none,
        any mbarrier. Return False if no operation signals an mbarrier."""
        signalling = [f for f in self.in_flight if f.signals]
        if not signalling:
            return False
        if awaited is not None:
            signalling = [f for f in signalling if np.isin(f.words, awaited).any()] or signalling
        self._complete(signalling[0], signalling[0].left)
        return True

    def complete_all(self) -> None:
        """Complete all operations after every thread has exited."""
        while self.in_flight:
            self._complete(self.in_flight[0], self.in_flight[0].left)

    def _complete(self, operation: AsyncOperation, part: Array) -> None:
        """Complete the operations in the mask `part`; errors name the line that started them."""
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
                self.mbarriers.change(operation.words[there], np.zeros_like(size), -size)
        m.pc = pc

    def _gone(self, start: Array) -> Array:
        """Return, for each offset in shared memory, True if the block that owns it has exited."""
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
        """Execute `cp.async.bulk.commit_group`: form a group from each thread's uncommitted
        operations."""
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
        """Execute `cp.async.bulk.wait_group`: complete all groups of each thread except the newest
        `keep`.

        read: only read the sources of the operations, and write the targets later.
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
