"""Define listeners, which observe the machine to count, check, trace or draw a run.

Listeners do not change a run, and a machine without listeners has no overhead.
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
    """A memory access by all active threads of a group.

    kind: `load`, `store`, `atomic`, `async load` or `async store`; space: the instruction's state
    space, `global`, `shared`, `cluster` (shared memory of any block of the cluster), `local` or
    `generic`; address: virtual addresses (for `shared`, within the block), of any shape that
    broadcasts to (blocks, threads); mask: the active threads, or None for all; width: bytes per
    thread; targets: the accessed memory, one target per allocation; values: the loaded or stored
    values, one array per element of a vector; copy: an object that identifies an asynchronous copy
    in all its accesses.
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
        """Yield (space, addresses, mask of the threads that access this space) for `global` and
        `shared`.

        Both arrays have the shape (blocks, threads); shared addresses are offsets in the block's
        shared memory.
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
    """An operation for which threads wait.

    left: a mask of the threads that have not waited yet; group: each thread's group number, which
    is 0 until the thread commits the operation.
    """

    left: Array
    group: Array


@dataclass(eq=False)
class Product(Awaited):
    """A matrix product that a `wgmma` has started in some warpgroups.

    accumulators: indices of the registers of C and D; held: indices of the registers of A; which:
    the warpgroups; who, start: for each 16-byte piece of the operands, a thread of the warp that
    reads it (in ascending order), and the offset of the piece in the batch's shared memory;
    columns: the number of columns of B; operands: the indices of the pieces of A (None if A is in
    registers) and of B, of shape (warpgroups, rows, 2) or, if a piece extends along rows,
    (warpgroups, rows / 8, 16).
    """

    pc: int
    accumulators: tuple[int, ...]
    held: tuple[int, ...]
    which: Array
    who: Array
    start: Array
    columns: int
    operands: tuple[Array | None, ...]
    token: object = None  # for use by one listener


class Listener:
    """Base class of all listeners. It ignores every event; subclasses override its methods.

    Arrays have any shape that broadcasts to `m.shape`, (blocks, threads); the mask None means every
    thread. `m.pc` is the index of the instruction, and `m.program` has its source line. Arrays
    belong to the machine: a listener may keep them, but must not modify them.
    """

    def on_batch(self, m: Batch) -> None:
        """Called when a batch of blocks starts."""

    def on_access(self, m: Batch, access: Access) -> None:
        """Called when threads access memory, but not for an access that fails and ends the run."""

    def on_async_done(self, m: Batch, access: Access) -> None:
        """Called when an asynchronous copy writes shared memory; `access` equals that of the `async
        store` event."""

    def on_run(self, m: Batch, start: int, stop: int, mask: Array | None) -> None:
        """Called when the threads in `mask` have executed the instructions from `start` up to, but
        not including, `stop`."""

    def on_divergence(self, m: Batch, taken: Array, rest: Array) -> None:
        """Called when a branch splits the running group."""

    def on_barrier(self, m: Batch, mask: Array | None, number: int, count: int | None) -> None:
        """Called when threads arrive at a block barrier that waits for `count` threads (None: the
        whole block)."""

    def on_barrier_done(self, m: Batch, mask: Array | None, number: int) -> None:
        """Called when a barrier opens: the threads in `mask` have arrived, and the waiting threads
        continue."""

    def on_warp_sync(self, m: Batch, members: Array | None) -> None:
        """Called when lanes reach a warp-wide instruction together (shuffle, vote, syncwarp)."""

    def on_shuffle(self, m: Batch, source: Array, members: Array | None) -> None:
        """Called when each lane of a shuffle reads lane `source` of its warp.

        source: of shape (blocks or 1, warps or 1, 32).
        """

    def on_cluster_arrive(self, m: Batch, mask: Array | None) -> None:
        """Called when threads arrive at their cluster's barrier."""

    def on_cluster_done(self, m: Batch, clusters: Array) -> None:
        """Called when cluster barriers open; clusters: a mask of the clusters whose barriers
        open."""

    def on_cluster_wait(self, m: Batch, passing: Array) -> None:
        """Called when the threads in `passing`, a full mask, have waited for their cluster's
        barrier."""

    def on_mbarrier(self, m: Batch, what: str, who: Array, words: Array) -> None:
        """Called when threads use mbarriers.

        what: `init`, `inval`, `expect`, `arrive`, or `wait` if the awaited phase has ended; who: a
        full mask of the threads; words: the mbarriers, as indices of 8-byte words in the batch's
        shared memory.
        """

    def on_mbarrier_phase(self, m: Batch, words: Array) -> None:
        """Called when the current phase of these mbarriers ends."""

    def on_async_start(self, m: Batch, operation: AsyncOperation) -> None:
        """Called when a bulk copy or an asynchronous store starts."""

    def on_async_completion(self, m: Batch, operation: AsyncOperation, part: Array) -> None:
        """Called when an operation has completed for the threads in `part`: it signals an mbarrier,
        or the threads have waited for its group (with `.read`, only for its source to be read)."""

    def on_proxy_fence(self, m: Batch, mask: Array | None) -> None:
        """Called when these threads' stores to shared memory become visible to asynchronous
        operations."""

    def on_fence(self, m: Batch, mask: Array | None) -> None:
        """Called when these threads execute a memory fence between threads."""

    def on_product(self, m: Batch, product: Product) -> None:
        """Called when a `wgmma` starts to read its operands."""

    def on_product_done(self, m: Batch, product: Product, done: Array) -> None:
        """Called when the threads in `done`, a full mask, have waited for a product."""

    def on_product_commit(self, m: Batch) -> None:
        """Called when threads commit the products that they have started, as one group."""

    def on_product_fence(self, m: Batch) -> None:
        """Called at `wgmma.fence`, after which products may use registers that were written before
        the fence."""

    def on_stop(self, m: Batch) -> None:
        """Called when a mistake stops the kernel, before the exception is raised."""

    def on_batch_end(self, m: Batch) -> None:
        """Called when every thread of the batch has exited."""
