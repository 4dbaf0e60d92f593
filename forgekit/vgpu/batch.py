"""Represent the state of a batch of blocks: registers, memory, and each thread's program counter.

A register is one array for the whole batch, of any shape that broadcasts to (blocks, threads). A
value has the shape (B, 1) if it is uniform within a block, (1, T) if it depends only on the thread
index, and (1, 1) if it is a constant. Uniform work is therefore nearly free. T is rounded up to
whole warps.

Every thread has a program counter. Threads with the same program counter form a group, represented
by a boolean mask. A group may overwrite the registers of other threads if those threads do not read
them again. Liveness, computed once per kernel, shows which values must be preserved, so most
divergent code runs at full speed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from forgekit.vgpu.adversary import Adversary
from forgekit.vgpu.code import Code
from forgekit.vgpu.errors import KernelError
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import WARP, LaunchRecord
from forgekit.vgpu.memory import GlobalMemory
from forgekit.vgpu.memory.storage import local_memory, shared_memory
from forgekit.vgpu.sampling import Part

E = TypeVar("E", bound=KernelError)

EVERYONE = 0  # the count of a barrier that waits for the whole block


class Vote(NamedTuple):
    """The threads' votes in a barrier that reduces a predicate.

    yes: a full mask of the threads whose predicate is true; take: a function that receives, per
    block, the number of true predicates and the number of voters, and a full mask of the threads to
    which it writes the result.
    """

    yes: Array
    take: Callable[[Array, Array, Array], None]


class Arrival(NamedTuple):
    """Threads (a full mask) that have arrived at a barrier at instruction `pc`; waits: False if
    they arrive without waiting, as with `bar.arrive`."""

    pc: int
    mask: Array
    waits: bool
    vote: Vote | None = None


@dataclass
class Barrier:
    """The threads, in all blocks, that have arrived at a barrier and have not been released yet."""

    # for each block, the number of threads to wait for; EVERYONE: all; -1: unknown
    counts: Array
    arrivals: list[Arrival] = field(default_factory=list)


@dataclass
class Waiting:
    """A group that sleeps before instruction `pc`.

    what: `cluster` or `mbarrier`; keys: the index of each thread's cluster or mbarrier, as an array
    that broadcasts to (blocks, threads); parity: the parity of the awaited mbarrier phase.
    """

    pc: int
    mask: Array
    what: str
    keys: Array
    parity: Array | None = None


class Batch:
    """A batch of a launch's blocks, which run in lockstep."""

    def __init__(
        self,
        program: Code,
        record: LaunchRecord,
        memory: GlobalMemory,
        blocks: Sequence[int],
        adversary: Adversary | None = None,
    ) -> None:
        self.program = program
        self.record = record
        self.memory = memory
        self.blocks = blocks
        self.part: Part | None = None  # the part of a sample to which the blocks belong
        self.adversary = adversary
        self.n_blocks = len(blocks)
        self.block_threads = int(np.prod(record.block))
        self.n_threads = record.block_warps * WARP
        self.shape = (self.n_blocks, self.n_threads)
        self.cluster_blocks = record.cluster_blocks
        blank, width = (np.zeros, 1) if adversary is None else (adversary.register, self.n_threads)
        self.regs: list[Array] = [blank((1, width), d) for d in program.register_dtypes]
        self.shared = shared_memory(self.n_blocks, program.shared_bytes(record), adversary)
        self.local = local_memory(self.shape, program.local_bytes, adversary)
        self.state: dict[str, object] = {}  # private data of opcodes (cp.async, call parameters)

        padded = self.n_threads != self.block_threads
        everyone = (np.arange(self.n_threads) < self.block_threads)[None] if padded else None
        self.alive: Array | None = everyone
        self.mask: Array | None = everyone  # the running group
        self.pc = 0
        self.protected = 0  # bit mask of the registers that threads in other groups may still read
        self.runnable: dict[int, Array | None] = {0: everyone}
        # threads that wait for other lanes at a warp instruction
        self.parked: dict[int, Array | None] = {}
        self.held: list[tuple[int, Array]] = []  # groups that an adversary delays
        self.at_barriers: dict[int, Barrier] = {}  # barriers of a block, by number
        self.asleep: list[Waiting] = []  # groups at a cluster barrier or an mbarrier

    @property
    def alone(self) -> bool:
        """Return True if the running group contains every thread that has not exited."""
        return not (self.runnable or self.parked or self.held or self.at_barriers or self.asleep)

    # -- masks ----------------------------------------------------------------------------
    def expand(self, mask: Array | None) -> Array:
        """Return the mask as a full (blocks, threads) array."""
        if mask is None:
            return np.ones(self.shape, bool)
        return np.broadcast_to(mask, self.shape)

    def only(self, thread: int) -> Array:
        """Return a full mask of a single thread, given its index in the batch."""
        one = np.zeros(self.shape, bool)
        one.flat[thread] = True
        return one

    def active(self, guard: Array | None) -> Array | None:
        """Return the threads in the running group for which an instruction's guard is true."""
        if guard is None:
            return self.mask
        return guard if self.mask is None else guard & self.mask

    def lanes(self, mask: Array | None) -> Array:
        """Return the mask as an array of shape (blocks * warps, 32)."""
        return self.expand(mask).reshape(-1, WARP)

    # -- registers ------------------------------------------------------------------------
    def write(self, register: int, value: Array) -> None:
        """Set a register for the running group, and preserve values that other threads still
        need."""
        if self.protected >> register & 1:
            self.merge(register, value, self.mask)
        else:
            self.regs[register] = value

    def write_where(self, register: int, value: Array, guard: Array | None) -> None:
        """Like `write`, but for a guarded instruction: threads whose guard is false keep their
        value."""
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
        """Set an error's machine-readable attributes (kind and source line), and return the
        error."""
        source = self.program.instructions[self.pc].source
        error.kind, error.lines = kind, () if source is None else (source,)
        return error

    def thread_name(self, block: int, thread: int) -> str:
        """Return text such as `thread (3, 0, 0) of block (7, 0, 0)`, given indices in the batch."""
        of_block, of_thread = self.record.coordinates(self.blocks[block], thread)
        return f"thread {of_thread} of block {of_block}"

    def who(self, mask: Array | None) -> str:
        full = self.expand(mask)
        block, thread = (int(i) for i in np.argwhere(full)[0])
        others = int(full.sum()) - 1
        more = f" (and {others:,} more)" if others else ""
        return self.thread_name(block, thread) + more


def pack_lanes(lanes: Array) -> Array:
    """Convert booleans of shape (…, 32) to 32-bit masks, with lane 0 in bit 0."""
    packed = np.packbits(lanes, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.uint32)[..., 0]


def union(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return None
    both = a | b
    return None if both.all() else both
