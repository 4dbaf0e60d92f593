"""Distribute the rows of a matrix over threads, and combine the threads' values.

A `RowTile` is a compile-time constant whose methods a kernel calls. The methods contain the code
that all row kernels share: they assign the elements of a row to threads, and combine the values of
all threads that share a row. Values are combined by shuffles within a warp, through shared memory
across warps, and through distributed shared memory across the blocks of a cluster.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream
from cutlass import Float32, Int32, Int64, const_expr
from cutlass.cute.nvgpu import CacheEvictionPriority, CopyG2ROp, CopyUniversalOp

from forgekit.kernels import VECTOR_BYTES, WARP
from forgekit.kernels.overlap import follow


@dataclass(frozen=True)
class RowTile:
    """Describes which elements of a row each thread reads; `tests/ops/row_limits.py` lists the
    limits.

    threads: threads per block that share a row: a power of two up to 32, or a multiple of 32. rows:
    rows per block; 1 if several blocks share a row. loads: accesses that a thread has in flight.
    vector: elements per access. cluster: blocks of a cluster that share a row and exchange their
    results. split: blocks that share a row and each store the result of one part of the row.

    whole: the number of loads that every thread performs, whatever the row's address; only the
    other loads need a predicate. In a kernel that reads a row in several rounds of `loads`
    accesses, it is `loads` if all rounds are full, otherwise 0. unaligned: True if rows may begin
    or end inside a vector; the elements outside whole vectors are then read one by one, which
    requires at least 2 * vector threads. once: True if L1 may evict loaded lines first, because
    nothing reads them again. overlap: True if the kernel starts while the previous kernel ends (see
    `follow`).
    """

    threads: int
    rows: int = 1
    loads: int = 1
    vector: int = 1
    cluster: int = 1
    split: int = 1
    whole: int = 0
    unaligned: bool = False
    once: bool = False
    overlap: bool = False

    @property
    def block(self) -> int:
        """Return the number of threads per block."""
        return self.threads * self.rows

    @property
    def blocks(self) -> int:
        """Return the number of blocks that share a row."""
        return self.cluster * self.split

    @property
    def step(self) -> int:
        """Return the distance between consecutive accesses of a thread, in vectors."""
        return self.threads * self.blocks

    @property
    def parts(self) -> int:
        """Return the number of warps in a block or cluster that share a row. In `sPart`, each warp
        stores one part of the row's result."""
        return -(-self.threads // WARP) * self.cluster

    @property
    def rounds(self) -> int:
        """Return the maximum number of parts per lane if one warp reads all parts."""
        return -(-self.parts // WARP)

    def launch_shape(self, rows):  # type: ignore[no-untyped-def]
        """Return the launch arguments for a matrix with this many rows."""
        blocks = cute.ceil_div(rows, self.rows) * self.blocks
        shape: dict[str, Any] = {"grid": (blocks, 1, 1), "block": (self.block, 1, 1)}
        if self.cluster > 1:
            shape["cluster"] = (self.cluster, 1, 1)
        return shape | {"use_pdl": self.overlap}

    # -- the elements that each thread reads -------------------------------------------------------
    @property
    def tiler(self) -> tuple[int, int]:
        """Return the shape (rows, columns) of the tile that the threads read together."""
        return 1, self.step * self.loads * self.vector

    def tiled_copy(self, dtype: Any, loads: bool = False):  # type: ignore[no-untyped-def]
        """Return the tiled copy in which consecutive threads copy consecutive vectors.

        loads: True for a copy that only loads and that obeys `once`.
        """
        once = loads and self.once
        bits = self.vector * dtype.width
        how = {"l1c_evict_priority": CacheEvictionPriority.EVICT_FIRST} if once else {}
        op = CopyG2ROp() if once else CopyUniversalOp()
        atom = cute.make_copy_atom(op, dtype, num_bits_per_copy=bits, **how)
        thr_layout = cute.make_layout((1, self.step))  # (1,step):(0,1)
        val_layout = cute.make_layout((1, self.vector))  # (1,V):(0,1)
        return cute.make_tiled_copy_tv(atom, thr_layout, val_layout)

    @cute.jit
    def row_and_lane(self, rows: Int32):  # type: ignore[no-untyped-def]
        """Return the thread's row, its index among the threads of that row, and whether the row
        exists.

        Threads beyond the last row read the last row again and must not store results.
        """
        follow(self.overlap, early=self.split > 1)
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        row = bidx // self.blocks * self.rows + tidx // self.threads
        lane = tidx % self.threads + bidx % self.blocks * self.threads
        valid = True
        if const_expr(self.rows > 1):
            valid = row < rows
            row = row if valid else rows - 1
        return row, lane, valid

    def inside(self, tXcX: cute.Tensor, shape):  # type: ignore[no-untyped-def]
        """Return the predicate tXpX, which is True for vectors inside a matrix of this shape. tXcX:
        the vectors' coordinates, ((V,1),1,loads)."""
        tXpX = cute.make_rmem_tensor((1, 1, self.loads), cutlass.Boolean)
        for k in range(self.loads):
            tXpX[k] = k < self.whole or cute.elem_less(tXcX[0, 0, k][1], shape[1])
        return tXpX

    def fill_tail(self, tXrX: cute.Tensor, value: Any) -> None:
        """Set the vectors of tXrX ((V,1),1,loads) whose loads may be skipped by a predicate to
        `value`."""
        for k in range(self.whole, self.loads):
            tXrX[None, 0, k].fill(value)

    # -- unaligned rows; a layout cannot shift each row by a different offset ----------------------
    def whole_vectors(self, row: Int32, *tensors: cute.Tensor):  # type: ignore[no-untyped-def]
        """Return the number of elements before the first whole vector of the thread's row, and
        matrices in which this row contains only its whole vectors. For aligned rows, return 0 and
        the unchanged matrices."""
        if not self.unaligned:
            return Int32(0), *tensors
        V, mX = self.vector, tensors[0]
        bytes_ = mX.element_type.width // 8
        missing = -(mX[row, None].iterator.toint() // bytes_) & (V - 1)  # to the next multiple of V
        prefix = cutlass.min(Int32(missing), mX.shape[1])
        layout = cute.make_layout((mX.shape[0], (mX.shape[1] - prefix) // V * V), stride=(0, 1))
        starts = ((mT[row, None].iterator + prefix).align(V * bytes_) for mT in tensors)
        return prefix, *(cute.make_tensor(start, layout) for start in starts)

    def streams(self, row: Int32, lane: Int32, *tensors: cute.Tensor):  # type: ignore[no-untyped-def]
        """Return the arguments of a copy in several rounds: the prefix and shape from
        `whole_vectors`, the tiled copy, and the thread's partition of each matrix and of the
        coordinates, ((V,1),1,loads,k)."""
        prefix, *whole = self.whole_vectors(row, *tensors)
        tiled_copy = self.tiled_copy(tensors[0].element_type)
        thr_copy = tiled_copy.get_slice(lane)
        parts = (
            thr_copy.partition_S(cute.local_tile(mT, self.tiler, (row, None)))
            for mT in (*whole, cute.make_identity_tensor(whole[0].shape))
        )
        return prefix, whole[0].shape, tiled_copy, *parts

    @cute.jit
    def unaligned_element(self, prefix: Int32, columns: Int32, lane) -> Int32:  # type: ignore[no-untyped-def]
        """Return the column of the thread's element outside whole vectors, or -1 if the thread has
        none."""
        mine = Int32(-1)
        if const_expr(self.unaligned):
            V, tail = self.vector, (columns - prefix) % self.vector
            if lane < prefix:
                mine = Int32(lane)
            elif lane >= V and lane < V + tail:
                mine = columns - tail + lane - V
        return mine

    @cute.jit
    def load_unaligned(self, mX: cute.Tensor, row: Int32, at: Int32, empty) -> Float32:  # type: ignore[no-untyped-def]
        """Return the element in column `at`, or `empty` if `at` is -1."""
        value = Float32(empty)
        if const_expr(self.unaligned):
            if at >= 0:
                value = mX[row, at].to(Float32)
        return value

    @cute.jit
    def store_unaligned(self, value: Float32, mY: cute.Tensor, row: Int32, at: Int32, valid):  # type: ignore[no-untyped-def]
        """Store `value` in column `at` of mY if `valid` is True and `at` is not -1."""
        if const_expr(self.unaligned):
            if at >= 0 and valid:
                mY[row, at] = value.to(mY.element_type)

    # -- combining results ------------------------------------------------------------------------
    def reduction_buffer(self, values: int):  # type: ignore[no-untyped-def]
        """Allocate shared memory for `values` numbers per warp to exchange; call this before any
        load.

        Return sPart (values, rows, parts), or None if only one warp reads a row, and the mbarrier
        for a cluster, or None.
        """
        if self.parts == 1:
            return None, None
        layout = cute.make_layout(
            (values, self.rows, self.parts), stride=(1, values * self.parts, values)
        )
        smem = cutlass.memory.SmemAllocator()
        sPart = smem.allocate_tensor(Float32, layout, VECTOR_BYTES)
        mbar = None
        if self.cluster > 1:
            mbar = smem.allocate_tensor(Int64, cute.make_layout(1), 8).iterator
            self.open_reduction_buffer(mbar, 4 * values * self.parts)
        return sPart, mbar

    @cute.jit
    def open_reduction_buffer(self, mbar: cute.Pointer, expected_bytes: cutlass.Constexpr):  # type: ignore[no-untyped-def]
        """Initialise the mbarrier, and arrive at the cluster's barrier."""
        tidx, _, _ = cute.arch.thread_idx()
        if tidx == 0:
            cute.arch.mbarrier_init(mbar, 1)
            cute.arch.mbarrier_arrive_and_expect_tx(mbar, expected_bytes)
        cute.arch.mbarrier_init_fence()
        cute.arch.cluster_arrive_relaxed()

    def warp_reduce(self, value, op: Callable):  # type: ignore[no-untyped-def]
        """Combine `value` over the threads of a warp that share a row; all of them receive the
        result."""
        return cute.arch.warp_reduction(value, op, threads_in_group=min(self.threads, WARP))

    @cute.jit
    def exchange(self, values: tuple, sPart: cute.Tensor, mbar):  # type: ignore[no-untyped-def]
        """Store each warp's values in sPart, in every block that shares the row, and wait for all
        values."""
        tidx, _, _ = cute.arch.thread_idx()
        row, warp, lane = tidx // self.threads, tidx % self.threads // WARP, cute.arch.lane_idx()
        if const_expr(self.cluster == 1):
            if lane == 0:
                for i in cutlass.range_constexpr(len(values)):
                    sPart[i, row, warp] = values[i]
            cute.arch.sync_threads()
        else:  # lane i stores to block i of the cluster; the mbarrier counts the bytes that arrive
            cute.arch.cluster_wait()
            part = warp * self.cluster + cute.arch.block_idx_in_cluster()
            if lane < self.cluster:
                mine = sPart.iterator + cute.crd2idx((0, row, part), sPart.layout)
                bits = tuple(value.bitcast(Int32) for value in values)
                cute.arch.store_async_dsmem(mine.align(4 * len(bits)), bits, mbar, lane)
            cute.arch.mbarrier_wait(mbar, 0)

    @cute.jit
    def read_part(self, sPart: cute.Tensor, i: cutlass.Constexpr, k: cutlass.Constexpr, empty):  # type: ignore[no-untyped-def]
        """Return value i of the kth part that this lane reads, or `empty` if there is no such
        part."""
        tidx, _, _ = cute.arch.thread_idx()
        part, value = tidx % group_of(self.parts) + k * WARP, Float32(empty)
        if part < self.parts:
            value = sPart[i, tidx // self.threads, part]
        return value

    def reduce_parts(self, value, op: Callable):  # type: ignore[no-untyped-def]
        """Combine `value` over the lanes that have read the parts; all of them receive the
        result."""
        return cute.arch.warp_reduction(value, op, threads_in_group=group_of(self.parts))

    def add_up(self, x: cute.TensorSSA):  # type: ignore[no-untyped-def]
        """Return the sum of a thread's elements ((V,1),1,loads). The sums over the loads come
        first, because these V sums are independent."""
        ADD = cute.ReductionOp.ADD
        return x.reduce(ADD, 0.0, (None, 1, 1)).reduce(ADD, 0.0, 0)

    @cute.jit
    def sum(self, value: Float32, sPart: cute.Tensor, mbar) -> Float32:  # type: ignore[no-untyped-def]
        """Sum `value` over all threads that share a row; all of them receive the sum."""
        total = self.warp_reduce(value, operator.add)
        if const_expr(self.parts > 1):
            self.exchange((total,), sPart, mbar)
            total = Float32(0.0)
            for k in cutlass.range_constexpr(self.rounds):
                total += self.read_part(sPart, 0, k, 0.0)
            total = self.reduce_parts(total, operator.add)
        return total

    @cute.jit
    def add_parts(self, mParts: cute.Tensor, row) -> Float32:  # type: ignore[no-untyped-def]
        """Return the sum of a row's parts in mParts (M, split). Every warp adds them in the same
        order."""
        total = Float32(0.0)
        for k in cutlass.range_constexpr(0, self.split, WARP):
            part = k + cute.arch.lane_idx()
            if part < self.split:
                total += mParts[row, part]
        return cute.arch.warp_reduction(total, operator.add)


def group_of(parts: int) -> int:
    """Return the number of lanes that combine this many parts: the next power of two, at most
    32."""
    return min(WARP, 1 << (parts - 1).bit_length())


class RowKernel:
    """The base class of kernels over the rows of mX (M, N), launched with the grid and blocks of
    their tile. A subclass defines `kernel`, which takes mX and mY."""

    def __init__(self, tile: RowTile) -> None:
        self.tile = tile

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: CUstream) -> None:
        shape = self.tile.launch_shape(mX.shape[0])
        self.kernel(mX, mY).launch(**shape, stream=stream)  # type: ignore[attr-defined]
