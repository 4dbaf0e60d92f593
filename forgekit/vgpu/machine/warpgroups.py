"""Manage the matrix products that warpgroups have in flight: `wgmma` and the accumulators that it
will update."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import WARP
from forgekit.vgpu.listeners import Awaited, Product
from forgekit.vgpu.machine.groups import Groups

WARPGROUP = 4 * WARP  # threads
ROWS = 64  # rows of A, C and D


@dataclass(eq=False)
class _Accumulator(Awaited):
    """The content that a list of registers will have in all warpgroups of the batch.

    sums: the result of each warpgroup's latest product, of shape (64, warpgroups, n).
    """

    sums: Array


class Products:
    """The products in flight in a batch."""

    def __init__(self, machine: Groups) -> None:
        self.machine: Groups = weakref.proxy(machine)
        self.sums: dict[tuple[int, ...], _Accumulator] = {}
        self._reading: list[Product] = []  # products that listeners regard as in flight
        self._committed = np.zeros(machine.shape, np.int64)

    def commit(self, mask: Array) -> None:
        self._committed = self._committed + mask
        for listener in self.machine.listeners:
            listener.on_product_commit(self.machine)
        awaited: list[Awaited] = [*self.sums.values(), *self._reading]
        for found in awaited:
            fresh = found.left & mask & (found.group == 0)
            found.group = np.where(fresh, self._committed, found.group)

    def wait(self, mask: Array, keep: int) -> None:
        """Complete the products of the threads in `mask`, except those in each thread's newest
        `keep` groups."""
        m, last = self.machine, self._committed - keep
        for product in self._reading:
            due = product.left & mask & (product.group > 0) & (product.group <= last)
            product.left = product.left & ~due
            if due.any():
                for listener in m.listeners:
                    listener.on_product_done(m, product, due)
        self._reading = [p for p in self._reading if p.left.any()]
        for registers, found in list(self.sums.items()):
            self.land(registers, found.left & mask & (found.group > 0) & (found.group <= last))

    def land(self, registers: tuple[int, ...], due: Array) -> None:
        """Write the product in flight for these registers to the registers of the threads in
        `due`."""
        if not due.any():
            return
        m, found = self.machine, self.sums[registers]
        for register, value in zip(registers, to_registers(m, found.sums), strict=True):
            m.merge(register, value, None if due.all() else due)
        found.left = found.left & ~due
        if not found.left.any():
            del self.sums[registers]

    def start(self, registers: tuple[int, ...], which: Array, sums: Array) -> None:
        """Record that the warpgroups `which` have started a product that accumulates in these
        registers."""
        m = self.machine
        threads = threads_of(m, which)
        found = self.sums.get(registers)
        if found is None or not (found.left & ~threads).any():
            if len(which) < count(m):
                whole = np.zeros((ROWS, count(m), sums.shape[2]), sums.dtype)
                whole[:, which] = sums
                sums = whole
            self.sums[registers] = _Accumulator(threads, np.zeros(m.shape, np.int64), sums)
        else:
            found.sums[:, which] = sums
            found.left = found.left | threads
            found.group = np.where(threads, 0, found.group)

    def read(self, product: Product) -> None:
        """Report to the listeners that a product starts to read its operands."""
        self._reading.append(product)
        for listener in self.machine.listeners:
            listener.on_product(self.machine, product)


def per_block(m: Batch) -> int:
    """Return the number of warpgroups per block."""
    return m.n_threads // WARPGROUP


def count(m: Batch) -> int:
    """Return the number of warpgroups in the batch."""
    return m.n_blocks * per_block(m)


def by_warpgroup(m: Batch, value: Array) -> Array:
    """Reshape a value per thread to (warpgroups, 128)."""
    wide = np.broadcast_to(value, m.shape)
    return wide[:, : per_block(m) * WARPGROUP].reshape(-1, WARPGROUP)


def threads_of(m: Batch, which: Array) -> Array:
    """Return a mask of the threads of these warpgroups, of shape (blocks, threads)."""
    chosen = np.zeros(m.shape, bool)
    rows = np.zeros(count(m), bool)
    rows[which] = True
    per = per_block(m)
    chosen[:, : per * WARPGROUP] = np.repeat(rows.reshape(m.n_blocks, per), WARPGROUP, axis=1)
    return chosen


def first_threads(m: Batch, which: Array) -> Array:
    """Return the index, within the batch, of each warpgroup's first thread."""
    block, mine = np.divmod(which, per_block(m))
    return np.asarray(block * m.n_threads + mine * WARPGROUP)


def to_registers(m: Batch, sums: Array) -> list[Array]:
    """Convert sums of shape (64, warpgroups, n) to 32-bit registers of shape (blocks, threads)."""
    _, groups, n = sums.shape
    packed = 4 // sums.dtype.itemsize
    words = np.ascontiguousarray(sums).view(np.uint32)
    words = words.reshape(4, 2, 8, groups, n // 8, 4, 2 // packed)
    words = np.ascontiguousarray(words.transpose(4, 1, 6, 3, 0, 2, 5))
    lanes = words.reshape(-1, m.n_blocks, per_block(m) * WARPGROUP)
    if lanes.shape[2] < m.n_threads:
        lanes = np.pad(lanes, ((0, 0), (0, 0), (0, m.n_threads - lanes.shape[2])))
    return list(lanes)
