"""Run a batch of thread blocks in lockstep, with the rules for warp-wide instructions.

The group of threads with the lowest program counter runs first, so diverged threads reconverge at
the earliest common instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from forgekit.vgpu.adversary import Adversary
from forgekit.vgpu.batch import union
from forgekit.vgpu.code import Code
from forgekit.vgpu.errors import DeadlockError
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.listeners import Listener
from forgekit.vgpu.machine import stuck
from forgekit.vgpu.machine.async_operations import AsyncOperations
from forgekit.vgpu.machine.barriers import Barriers, ClusterBarrier
from forgekit.vgpu.machine.groups import Groups
from forgekit.vgpu.machine.mbarriers import Mbarriers
from forgekit.vgpu.machine.printf import Printer
from forgekit.vgpu.machine.spinning import Spinning
from forgekit.vgpu.machine.wait_queue import WaitQueue
from forgekit.vgpu.memory import GlobalMemory

# The group with the lowest program counter runs for this number of turns before all groups take
# turns, because if it spins, another group may have to end its wait. A turn that polls memory in a
# loop counts as _POLL_COST turns, because the group is probably waiting.
_PATIENCE = 2000
_POLL_COST = 500


class Machine(Groups):
    """The scheduler of a batch of blocks, with its barriers and asynchronous operations."""

    def __init__(
        self,
        program: Code,
        record: LaunchRecord,
        memory: GlobalMemory,
        blocks: Sequence[int],
        *,
        budget: int,
        listeners: Sequence[Listener] = (),
        printer: Printer | None = None,
        adversary: Adversary | None = None,
    ) -> None:
        super().__init__(program, record, memory, blocks, listeners=listeners, adversary=adversary)
        self.budget = budget
        self.printer = printer or Printer()
        self.barriers = Barriers(self)
        self.cluster_barrier: ClusterBarrier | None = None  # created at the first arrival
        self.wait_queue = WaitQueue(self)
        self.mbarriers = Mbarriers(self, self.wait_queue)
        self.async_operations = AsyncOperations(self, self.wait_queue, self.mbarriers)
        self.spinning = Spinning(self)
        self._patience = _PATIENCE
        self._round = 0

    # -- the scheduler --------------------------------------------------------------------
    def run(self, steps: Sequence[Callable[[Any], object]]) -> None:
        """Run every thread of the batch until it exits. steps: one per instruction of the kernel.

        Raises:
            KernelError: an access is invalid, threads deadlock, or the budget is exceeded.
        """
        end = len(steps)
        if self.adversary is not None:
            self.resume(0, self.runnable.pop(0))
        while True:
            if not self.runnable and self.held:
                self.join(*self.held.pop(0))
            if not self.runnable:
                if self.asleep:
                    self._all_blocked()
                    continue
                if self.parked or next(self.barriers.pcs(), None) is not None:
                    if self.barriers.open_with_parts():
                        continue
                    raise self._deadlock()
                self.async_operations.complete_all()
                return
            pc = self.pick()
            self.mask = self.runnable.pop(pc)
            if pc in self.parked:
                self.mask = union(self.mask, self.parked.pop(pc))
            stop = end
            for other in (*self.runnable, *self.parked):
                if pc < other < stop:
                    stop = other
            self.protected = self.live_elsewhere()
            start, self._start, self._waits = pc, pc, False
            while pc < stop:
                self.pc = pc
                if steps[pc](self):
                    # If the whole group waits, the instruction at `pc` has not been executed.
                    self._ran(pc if self._waits else pc + 1)
                    break
                pc += 1
            else:
                self._ran(pc)
                if pc == end:
                    self.exit(self.mask)
                else:
                    self.join(pc, self.mask)
            polls = self.program.polls(start, pc)
            self._patience -= _POLL_COST if polls else 1
            self.spinning.ran(start, self._start, polls)
            if self.executed > self.budget:
                raise stuck.over_budget(self, self.budget)

    def _all_blocked(self) -> None:
        """Complete an asynchronous operation or end a wait so that a thread can run.

        Raises:
            DeadlockError: no operation or wait is left that could let a thread continue.
        """
        awaited = self.wait_queue.keys("mbarrier")
        if not self.async_operations.complete_one(awaited) and not self.wait_queue.give_up():
            if not self.barriers.open_with_parts():
                raise self._deadlock()

    def _deadlock(self) -> DeadlockError:
        return stuck.deadlock(self, self.barriers, self.cluster_barrier, self.mbarriers)

    def pick(self) -> int:
        """Return the program counter of the group that runs next: the lowest one or, if a group
        spins, each in turn."""
        if len(self.runnable) == 1 and not self.held:
            self._patience = _PATIENCE
            return next(iter(self.runnable))
        if self._patience <= 0 and self.held:  # spinning threads may wait for held threads
            for pc, mask in self.held:
                self.join(pc, mask)
            self.held = []
        if self._patience > 0:
            return min(self.runnable)
        if self.async_operations.complete_one():  # spinning threads may wait for the operation
            self.spinning.changed()
        self._round += 1
        if self._round % _PATIENCE == 0:
            self._patience = _PATIENCE
        return sorted(self.runnable)[self._round % len(self.runnable)]

    def live_elsewhere(self) -> int:
        """Return, as a bit set, the registers that threads outside the running group may still
        read."""
        live, result = self.program.live, 0
        for pc in self.runnable:
            result |= live[pc]
        for pc in self.parked:
            result |= live[pc]
        for pc, _ in self.held:
            result |= live[pc]
        for pc in self.barriers.pcs():
            result |= live[pc + 1]
        for group in self.asleep:
            result |= live[group.pc]
        return result

    def exit(self, mask: Array | None) -> bool:
        """End the threads in `mask`, and release the threads that waited only for them."""
        self.wait_queue.made_progress()
        if mask is None:
            self.alive = np.zeros((1, 1), bool)
            return True
        alive = np.True_ if self.alive is None else self.alive
        self.alive = alive & ~mask
        self.barriers.release_all()
        if self.cluster_barrier is not None:
            self.cluster_barrier.release()
        for pc, waiting in list(self.parked.items()):
            again = self.expand(waiting) & self.expand(mask).any(axis=1, keepdims=True)
            if again.any():  # let them check again if all lanes have arrived
                self.parked.pop(pc)
                rest = self.expand(waiting) & ~again
                if rest.any():
                    self.parked[pc] = rest
                self.join(pc, again)
        return True
