"""The machine: runs a batch of thread blocks in lockstep, warp rules included.

A register is one array over the batch, of any shape that broadcasts to (blocks, threads): what is
the same for a whole block has shape (B, 1), what depends on the thread index alone (1, T), and a
constant (1, 1), so uniform work costs next to nothing. T is rounded up to whole warps.

Every thread has a program counter. Threads with the same one form a group, a boolean mask; the
group with the lowest counter runs, which makes diverged threads meet again at the earliest common
instruction. A group may overwrite registers of other threads as long as those threads will not
read them again: liveness (computed once per kernel) says when a merge is needed, so that most
divergent code runs at full speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from forgekit.vgpu.errors import KernelError
from forgekit.vgpu.launch_record import WARP, LaunchRecord
from forgekit.vgpu.listeners import Access
from forgekit.vgpu.machine import stuck
from forgekit.vgpu.machine.async_operations import AsyncOperations
from forgekit.vgpu.machine.barriers import Barriers, ClusterBarrier
from forgekit.vgpu.machine.mbarriers import Mbarriers
from forgekit.vgpu.machine.printf import Printer
from forgekit.vgpu.machine.wait_queue import WaitQueue
from forgekit.vgpu.memory import GlobalMemory
from forgekit.vgpu.memory.storage import local_memory, shared_memory

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.listeners import Listener
    from forgekit.vgpu.machine.adversary import Adversary
    from forgekit.vgpu.memory.addressing import Target
    from forgekit.vgpu.program import Program

E = TypeVar("E", bound=KernelError)

# Turns that the lowest group may take while others wait before all groups take turns: what a
# spinning wait waits for may be done by a group at a higher program counter. A turn that polls
# memory in a loop counts for many, since a wait is then likely.
_PATIENCE = 2000
_POLL_COST = 500


class Machine:
    """One batch of blocks of one launch."""

    def __init__(
        self,
        program: Program,
        record: LaunchRecord,
        memory: GlobalMemory,
        blocks: range,
        *,
        budget: int,
        listeners: Sequence[Listener] = (),
        printer: Printer | None = None,
        adversary: Adversary | None = None,
    ) -> None:
        self.program = program
        self.record = record
        self.memory = memory
        self.blocks = blocks
        self.listeners = listeners
        self.budget = budget
        self.n_blocks = len(blocks)
        self.block_threads = int(np.prod(record.block))
        self.n_threads = record.block_warps * WARP
        self.shape = (self.n_blocks, self.n_threads)
        self.regs: list[Array] = [np.zeros((1, 1), d) for d in program.register_dtypes]
        self.adversary = adversary
        self.shared = shared_memory(self.n_blocks, program.shared_bytes(record), adversary)
        self.local = local_memory(self.shape, program.local_bytes, adversary)
        self.state: dict[str, object] = {}  # private data of opcodes (cp.async, call parameters)
        self.printer = printer or Printer()
        self.executed = 0

        padded = self.n_threads != self.block_threads
        everyone = (np.arange(self.n_threads) < self.block_threads)[None] if padded else None
        self.alive: Array | None = everyone
        self.mask: Array | None = everyone
        self.pc = 0
        self.protected = 0
        self.runnable: dict[int, Array | None] = {0: everyone}
        self.parked: dict[int, Array | None] = {}  # at a warp instruction, for missing lanes
        self.held: list[tuple[int, Array]] = []  # by an adversary, until the others have run
        self.barriers = Barriers(self)
        self.cluster_blocks = record.cluster_blocks
        self.cluster_barrier: ClusterBarrier | None = None  # made by the first who arrives
        self.wait_queue = WaitQueue(self)
        self.mbarriers = Mbarriers(self)
        self.async_operations = AsyncOperations(self)
        self._patience = _PATIENCE
        self._round = 0
        self._start = 0  # from here on, what the running group has executed is not yet counted
        self._waits = False  # the running group has been parked

    # -- the scheduler --------------------------------------------------------------------
    def run(self) -> None:
        """Run every thread of the batch to its end.

        Raises:
            KernelError: a wrong access, a deadlock, or more instructions than the budget.
        """
        steps = self.program.steps
        end = len(steps)
        if self.adversary is not None:
            self.resume(0, self.runnable.pop(0))
        while True:
            if not self.runnable and self.held:
                self.join(*self.held.pop(0))
            if not self.runnable:
                if self.wait_queue.groups:
                    self.wait_queue.all_blocked()
                    continue
                if self.parked or next(self.barriers.pcs(), None) is not None:
                    raise stuck.deadlock(self)
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
                    # A warp instruction that has to wait for lanes is executed when they are there.
                    self._ran(pc if self._waits else pc + 1)
                    break
                pc += 1
            else:
                self._ran(pc)
                if pc == end:
                    self.exit(self.mask)
                else:
                    self.join(pc, self.mask)
            self._patience -= _POLL_COST if self.program.polls(start, pc) else 1
            if self.executed > self.budget:
                raise stuck.over_budget(self)

    def _ran(self, stop: int) -> None:
        """The running group has executed everything up to `stop`."""
        for listener in self.listeners:
            listener.on_run(self, self._start, stop, self.mask)
        self.executed += stop - self._start
        self._start = stop

    def notify(
        self,
        kind: str,
        space: str,
        address: Array,
        mask: Array | None,
        width: int,
        targets: Sequence[Target],
        values: Sequence[Array] | None = None,
        copy: object = None,
    ) -> None:
        """Tell the listeners of an access; see `Access`."""
        if self.listeners:
            access = Access(kind, space, address, mask, width, targets, values, copy)
            for listener in self.listeners:
                listener.on_access(self, access)

    def narrow(self, mask: Array) -> None:
        """Go on with part of the running group only; the caller has placed the others."""
        self._ran(self.pc)
        self.mask = mask

    @property
    def clock(self) -> int:
        """Instructions executed so far: increasing, the same in every run, not a time."""
        return self.executed + self.pc - self._start

    def pick(self) -> int:
        """The program counter to run next: the lowest, or in turn when something spins."""
        if len(self.runnable) == 1 and not self.held:
            self._patience = _PATIENCE
            return next(iter(self.runnable))
        if self._patience <= 0 and self.held:  # those that spin may wait for those that are held
            for pc, mask in self.held:
                self.join(pc, mask)
            self.held = []
        if self._patience > 0:
            return min(self.runnable)
        self.async_operations.complete_one()  # those that spin may wait for what is in flight
        self._round += 1
        if self._round % _PATIENCE == 0:
            self._patience = _PATIENCE
        return sorted(self.runnable)[self._round % len(self.runnable)]

    def live_elsewhere(self) -> int:
        """Registers (a bit set) that threads outside the running group may still read."""
        live, result = self.program.live, 0
        for pc in self.runnable:
            result |= live[pc]
        for pc in self.parked:
            result |= live[pc]
        for pc, _ in self.held:
            result |= live[pc]
        for pc in self.barriers.pcs():
            result |= live[pc + 1]
        for group in self.wait_queue.groups:
            result |= live[group.pc]
        return result

    def join(self, pc: int, mask: Array | None) -> None:
        """Let the threads of `mask` continue at `pc`, together with those already there."""
        if pc >= len(self.program.steps):
            self.exit(mask)
        else:
            self.runnable[pc] = union(self.runnable[pc], mask) if pc in self.runnable else mask

    def resume(self, pc: int, mask: Array | None) -> None:
        """`join` for threads that start or leave a barrier, which an adversary may part."""
        if self.adversary is None:
            self.join(pc, mask)
            return
        first, *later = self.adversary.parts(self.expand(mask))
        self.join(pc, first)
        self.held += [(pc, part) for part in later]

    def jump(self, pc: int, mask: Array | None) -> bool:
        self.join(pc, mask)
        return True

    @property
    def alone(self) -> bool:
        """True if the running group holds every thread that has not exited."""
        waiting = self.barriers.waiting or self.wait_queue.groups
        return not (self.runnable or self.parked or self.held or waiting)

    def exit(self, mask: Array | None) -> bool:
        """End the threads of `mask`, and let go those that waited for them alone."""
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
            if again.any():  # they look again whether all their partners are there
                self.parked.pop(pc)
                rest = self.expand(waiting) & ~again
                if rest.any():
                    self.parked[pc] = rest
                self.join(pc, again)
        return True

    # -- masks ----------------------------------------------------------------------------
    def expand(self, mask: Array | None) -> Array:
        """The mask as a full (blocks, threads) array."""
        if mask is None:
            return np.ones(self.shape, bool)
        return np.broadcast_to(mask, self.shape)

    def only(self, thread: int) -> Array:
        """The full mask of one thread, by its number in the batch."""
        one = np.zeros(self.shape, bool)
        one.flat[thread] = True
        return one

    def active(self, guard: Array | None) -> Array | None:
        """The running group's mask, narrowed by an instruction's guard predicate."""
        if guard is None:
            return self.mask
        return guard if self.mask is None else guard & self.mask

    def lanes(self, mask: Array | None) -> Array:
        """The mask by warps: (blocks * warps, 32)."""
        return self.expand(mask).reshape(-1, WARP)

    def park_incomplete(self, members: Array | None, warps: int = 1) -> bool:
        """Before a warp-wide instruction: wait for lanes that are named but elsewhere.

        members: 32-bit member masks per thread, None for all lanes; warps: how many neighbours
        execute it together. Returns True if the whole group has to wait (the scheduler then
        chooses again); otherwise the rest of it goes on.
        """
        if self.alone:
            return False
        present = self.lanes(self.mask)
        absent = pack_lanes(self.lanes(self.alive) & ~present)[:, None]
        if members is not None and not (members.size == 1 and members.flat[0] == 0xFFFFFFFF):
            absent = absent & np.broadcast_to(members, self.shape).reshape(-1, WARP)
        if warps > 1:
            missing = (absent != 0).reshape(self.n_blocks, -1)
            together = np.arange(missing.shape[1]) // warps
            some = np.logical_or.reduceat(missing, np.unique(together, return_index=True)[1], 1)
            absent = some[:, together].reshape(-1, 1)
        waiting = present & (absent != 0)
        if not waiting.any():
            return False
        self.parked[self.pc] = waiting.reshape(self.shape)
        return self._all_wait((present & ~waiting).reshape(self.shape))

    def sleep_until(
        self, ready: Array, what: str, keys: Array, parity: Array | None = None
    ) -> bool:
        """Before an instruction that waits: those outside `ready` (a full mask) go to sleep.

        Returns True if that is the whole group; otherwise the rest of it goes on.
        """
        going, waiting = self.expand(self.mask) & ready, self.expand(self.mask) & ~ready
        if not waiting.any():
            return False
        self.wait_queue.add(waiting, what, keys, parity)
        return self._all_wait(going)

    def _all_wait(self, going: Array) -> bool:
        """Go on with the threads `going`, before the instruction for which the others wait; whether
        there are none."""
        self._waits = not going.any()
        if not self._waits:
            self.narrow(going)
            self.protected |= self.program.live[self.pc]
        return self._waits

    # -- registers ------------------------------------------------------------------------
    def write(self, register: int, value: Array) -> None:
        """Set a register for the running group, keeping what other threads still need."""
        if self.protected >> register & 1:
            self.merge(register, value, self.mask)
        else:
            self.regs[register] = value

    def write_where(self, register: int, value: Array, guard: Array | None) -> None:
        """`write` for a guarded instruction: threads whose guard is false keep their value."""
        if guard is None:
            self.write(register, value)
        else:
            self.merge(register, value, self.active(guard))

    def merge(self, register: int, value: Array, mask: Array | None) -> None:
        if mask is None:
            self.regs[register] = value
            return
        old = self.regs[register]
        if old.dtype != value.dtype:
            old = old.view(value.dtype)
        self.regs[register] = np.where(mask, value, old)

    # -- errors ---------------------------------------------------------------------------
    def where(self, pc: int | None = None) -> str:
        return self.program.where(self.pc if pc is None else pc)

    def marked(self, error: E, kind: str) -> E:
        """The error with what a program can read of it: its slug, the line that runs."""
        source = self.program.instructions[self.pc].source
        error.kind, error.lines = kind, () if source is None else (source,)
        return error

    def thread_name(self, block: int, thread: int) -> str:
        """`thread (3, 0, 0) of block (7, 0, 0)`, from indexes into the batch."""
        of_block, of_thread = self.record.coordinates(self.blocks[block], thread)
        return f"thread {of_thread} of block {of_block}"

    def who(self, mask: Array | None) -> str:
        full = self.expand(mask)
        block, thread = (int(i) for i in np.argwhere(full)[0])
        others = int(full.sum()) - 1
        more = f" and {others:,} more" if others else ""
        return self.thread_name(block, thread) + more


def pack_lanes(lanes: Array) -> Array:
    """(…, 32) booleans to 32-bit masks, lane 0 in bit 0."""
    packed = np.packbits(lanes, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.uint32)[..., 0]


def union(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return None
    both = a | b
    return None if both.all() else both
