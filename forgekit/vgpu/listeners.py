"""Define listeners, which observe the machine; this is where counting, checking, tracing and
drawing plug in.

Semantics do not depend on listeners, and a machine without listeners pays no cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.access.addressing import Target
from forgekit.vgpu.access.copies import AsyncOperation
from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.memory import SHARED_RESERVED, WINDOW_MASK, WINDOW_SHIFT


class Access(NamedTuple):
    """A memory access that an instruction makes for all threads of a group.

    kind: `load`, `store`, `atomic`, `async load`, `async store`; space: the instruction's,
    `global`, `shared`, `cluster` (shared memory of any block of the cluster), `local` or `generic`;
    address: virtual addresses (shared: within the block),
    of any shape that broadcasts to (blocks, threads); mask: the active threads, None for all;
    width: bytes per thread; targets: the accessed memory, one target per allocation; values: the
    loaded or stored values, one array per element of the vector; copy: one object for all accesses
    of an asynchronous copy, from its start to its end.
    """

    kind: str
    space: str
    address: Array
    mask: Array | None
    width: int
    targets: Sequence[Target]
    values: Sequence[Array] | None = None
    copy: object = None

    def by_space(self, shape: tuple[int, int]) -> Iterator[tuple[str, Array, Array]]:
        """Yield (space, addresses, mask of that space) for global and shared memory.

        Both arrays are (blocks, threads); shared addresses are offsets within the block's shared
        memory.
        """
        address = np.broadcast_to(self.address, shape).astype(np.uint64)
        for space, window, first in (("global", 0, 0), ("shared", 1, SHARED_RESERVED)):
            if self.space == "generic":
                there = address >> WINDOW_SHIFT == window
                yield space, (address & WINDOW_MASK).astype(np.int64) - first, there
            elif self.space == space:
                yield space, address.astype(np.int64) - first, np.ones(shape, bool)


@dataclass(eq=False)
class Awaited:
    """An operation that threads wait for. left: the threads that have not waited for it; group: per
    thread, 0 until committed."""

    left: Array
    group: Array


@dataclass(eq=False)
class Product(Awaited):
    """A product that a `wgmma` has started in some warpgroups.

    accumulators, held: numbers of the registers of C and D, and of A; which: the warpgroups;
    who, start: for each 16-byte piece of the operands, a thread of the warp that reads it, in
    ascending order, and the piece's first byte in the batch's shared memory; columns: columns of
    B; operands: the piece numbers of A (None if A is in registers) and of B, as (warpgroups, rows,
    2) or, if the pieces run along the rows, as (warpgroups, rows / 8, 16).
    """

    pc: int
    accumulators: tuple[int, ...]
    held: tuple[int, ...]
    which: Array
    who: Array
    start: Array
    columns: int
    operands: tuple[Array | None, ...]
    token: object = None  # used by a listener


class Listener:
    """Base class of all listeners: it ignores every event; subclasses override methods.

    Arrays have any shape that broadcasts to `machine.shape`, (blocks, threads); a mask of None
    means every thread. `machine.pc` is the instruction, `machine.program` has its source line.
    Arrays belong to the machine: you may keep them, but must not write to them.
    """

    def on_batch(self, m: Batch) -> None:
        """Called when a batch of blocks starts."""

    def on_access(self, m: Batch, access: Access) -> None:
        """Called when threads access memory. A failing access is not reported, because the run ends
        there."""

    def on_async_done(self, m: Batch, access: Access) -> None:
        """Called when an asynchronous copy writes shared memory; `access` is as in its `async
        store`."""

    def on_run(self, m: Batch, start: int, stop: int, mask: Array | None) -> None:
        """Called when the threads of `mask` have executed the instructions from `start` to before
        `stop`."""

    def on_divergence(self, m: Batch, taken: Array, rest: Array) -> None:
        """Called when a branch splits the running group."""

    def on_barrier(self, m: Batch, mask: Array | None, number: int, count: int | None) -> None:
        """Called when threads arrive at a block barrier that waits for `count` threads (None: the
        block)."""

    def on_barrier_done(self, m: Batch, mask: Array | None, number: int) -> None:
        """Called when a barrier opens: the threads of `mask` have arrived, and the waiting ones
        continue."""

    def on_warp_sync(self, m: Batch, members: Array | None) -> None:
        """Called when lanes meet at a warp-wide instruction (shuffle, vote, syncwarp)."""

    def on_shuffle(self, m: Batch, source: Array, members: Array | None) -> None:
        """Called when a shuffle reads lane `source`, (blocks or 1, warps or 1, 32), of each lane's
        warp."""

    def on_cluster_arrive(self, m: Batch, mask: Array | None) -> None:
        """Called when threads arrive at their cluster's barrier."""

    def on_cluster_done(self, m: Batch, clusters: Array) -> None:
        """Called when the barrier of these clusters (booleans) opens for the threads that have
        arrived."""

    def on_cluster_wait(self, m: Batch, passing: Array) -> None:
        """Called when threads, a full mask, have waited for the barrier of their cluster, which is
        open."""

    def on_mbarrier(self, m: Batch, what: str, who: Array, words: Array) -> None:
        """Called when the threads of a full mask use an mbarrier, `words` (numbers of 8-byte words
        of the batch's shared memory); what: `init`, `inval`, `expect`, `arrive`, or `wait` when the
        awaited phase has ended."""

    def on_mbarrier_phase(self, m: Batch, words: Array) -> None:
        """Called when a phase of these mbarriers ends."""

    def on_async_start(self, m: Batch, operation: AsyncOperation) -> None:
        """Called when a bulk copy or an asynchronous store starts."""

    def on_async_completion(self, m: Batch, operation: AsyncOperation, part: Array) -> None:
        """Called when the operations of `part` have arrived: they signal their mbarrier now, or
        their thread has waited for their group (with `.read`, until their source was read)."""

    def on_proxy_fence(self, m: Batch, mask: Array | None) -> None:
        """Called when stores of these threads to shared memory become visible to asynchronous
        operations."""

    def on_product(self, m: Batch, product: Product) -> None:
        """Called when a `wgmma` starts to read its operands."""

    def on_product_done(self, m: Batch, product: Product, done: Array) -> None:
        """Called when threads, a full mask, have waited for a product."""

    def on_product_commit(self, m: Batch) -> None:
        """Called when threads commit the products that they have started as a group."""

    def on_product_fence(self, m: Batch) -> None:
        """Called at `wgmma.fence`: later products may use registers written so far."""

    def on_stop(self, m: Batch) -> None:
        """Called when a mistake stops the kernel, before it is raised."""

    def on_batch_end(self, m: Batch) -> None:
        """Called when every thread of the batch has exited."""
