"""Clusters: blocks that run at the same time and reach each other's shared memory.

The blocks of a launch are numbered so that those of a cluster follow each other, in order of their
rank. A `shared::cluster` address says in its upper bits whose shared memory it means: rank + 1, or
0 for a block's own (every `shared::cta` address is also a `shared::cluster` address).
"""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING

import numpy as np

from forgekit.errors import KernelError

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.launching import Dim3
    from forgekit.vgpu.machine import Machine

RANK_SHIFT = 24  # a block's shared memory is smaller than 16 MiB
_OFFSET = (1 << RANK_SHIFT) - 1


# -- numbers --------------------------------------------------------------------------------------
def block_coordinates(number: Array, grid: Dim3, cluster: Dim3) -> tuple[Array, Array, Array]:
    """(x, y, z) of blocks by their numbers."""
    which, rank = np.divmod(number, math.prod(cluster))
    found, outer, inner = [], 1, 1
    for size, extent in zip(grid, cluster, strict=True):
        along = size // extent
        found.append(which // outer % along * extent + rank // inner % extent)
        outer, inner = outer * along, inner * extent
    x, y, z = found
    return x, y, z


# -- addresses ------------------------------------------------------------------------------------
def mapped(address: Array, rank: Array) -> Array:
    """The same place in the shared memory of the cluster's block `rank`."""
    kind = address.dtype.type
    whose = (rank.astype(address.dtype) + kind(1)) << kind(RANK_SHIFT)
    above = ~kind((1 << 32) - 1) if address.dtype.itemsize == 8 else kind(0)  # a generic window
    return (address & (above | kind(_OFFSET))) | whose


def split(m: Machine, address: Array) -> tuple[Array, Array]:
    """(rank, address within the block's shared memory) of `shared::cluster` addresses.

    The rank is that of no block of the cluster if the address is none of it.
    """
    kind = address.dtype.type
    whose = ((address & kind(0xFFFFFFFF)) >> kind(RANK_SHIFT)).astype(np.int64)
    rank = np.where(whose == 0, own_rank(m), whose - 1)
    return rank, address & kind(_OFFSET)


def own_rank(m: Machine) -> Array:
    """(blocks, 1): each block's rank in its cluster."""
    return (np.arange(m.n_blocks, dtype=np.int64) % m.cluster_blocks)[:, None]


def row_of(m: Machine, rank: Array) -> Array:
    """The row, in the batch, of the block `rank` of each thread's cluster."""
    rows = np.arange(m.n_blocks, dtype=np.int64)[:, None]
    return rows - rows % m.cluster_blocks + rank


# -- the barrier ----------------------------------------------------------------------------------
class ClusterBarrier:
    """`barrier.cluster`: every thread of a cluster that has not exited arrives, then waits.

    A thread that has arrived keeps the number of the phase it arrived in until it has waited.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine: Machine = weakref.proxy(machine)
        self.phase = np.zeros(machine.n_blocks // machine.cluster_blocks, np.int64)
        self.since = np.full(machine.shape, -1, np.int64)  # -1: has not arrived

    def _now(self) -> Array:
        """The phase of each thread's cluster, (blocks, 1)."""
        return np.repeat(self.phase, self.machine.cluster_blocks)[:, None]

    def here(self) -> Array:
        """The threads that have arrived in the phase that is going on."""
        return np.asarray(self.since == self._now())

    def arrive(self, mask: Array | None) -> None:
        m = self.machine
        who = m.expand(mask)
        if (self.since[who] >= 0).any():
            raise self._misused(who & (self.since >= 0), "arrival before the wait for the last one")
        self.since = np.where(who, self._now(), self.since)
        for listener in m.listeners:
            listener.on_cluster_arrive(m, mask)
        self.release()

    def release(self) -> None:
        """Open the barrier of the clusters in which everybody who is left has arrived."""
        m = self.machine
        here, n = self.here(), len(self.phase)
        missing = m.expand(m.alive) & ~here
        done = here.reshape(n, -1).any(axis=1) & ~missing.reshape(n, -1).any(axis=1)
        if not done.any():
            return
        self.phase = self.phase + done
        for listener in m.listeners:
            listener.on_cluster_done(m, done)
        m.wait_queue.wake("cluster", done)

    def wait(self, mask: Array | None) -> Array:
        """The threads of `mask` that may pass, (blocks, threads); they have waited."""
        who = self.machine.expand(mask)
        if (self.since[who] < 0).any():
            raise self._misused(who & (self.since < 0), "attempt to wait without having arrived")
        passing = who & (self.since < self._now())
        self.since = np.where(passing, -1, self.since)
        return np.asarray(passing)

    def _misused(self, who: Array, what: str) -> KernelError:
        m = self.machine
        error = KernelError(
            f"Cluster barrier: {m.where()}\n"
            f"  {m.who(who)}: an {what}.\n"
            "Every thread calls cute.arch.cluster_arrive() once, and then cute.arch.cluster_wait() "
            "once."
        )
        source = m.program.instructions[m.pc].source
        error.kind, error.lines = "barrier-count", (source,) if source is not None else ()
        return error
