"""Distribute the columns of a matrix over a block's threads, which form a two-dimensional grid.

A `ColumnTile` is a compile-time constant whose methods a kernel calls.
"""

from __future__ import annotations

from dataclasses import dataclass

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32

from forgekit.kernels import VECTOR_BYTES
from forgekit.kernels.overlap import follow


@dataclass(frozen=True)
class ColumnTile:
    """Describes which elements of a matrix (M, N) each thread of a block reads.

    lanes: threads per row of the thread grid, each with one vector of columns. rows: rows of the
    thread grid, a power of two. loads: rows of the matrix that a thread reads at a time. vector:
    columns per access, contiguous in memory; a divisor of N and of the row stride. once: True if
    the block reads all rows of the matrix at once, so that values needed twice stay in registers.
    overlap: True if the kernel starts while the previous kernel ends (see `follow`).
    """

    lanes: int
    rows: int
    loads: int
    vector: int
    once: bool = False
    overlap: bool = False

    @property
    def threads(self) -> int:
        """Return the number of threads per block."""
        return self.lanes * self.rows

    @property
    def columns(self) -> int:
        """Return the number of columns per block."""
        return self.lanes * self.vector

    # -- inside a kernel --------------------------------------------------------------------------
    @cute.jit
    def place(self, tiles: Int32):  # type: ignore[no-untyped-def]
        """Return the indices of the thread's matrix and of its vector of columns in the matrix, and
        its lane and row in the thread grid.

        tiles: the number of blocks per matrix; blockIdx.x counts through the blocks of all
        matrices.
        """
        follow(self.overlap)
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        tx, ty = tidx % self.lanes, tidx // self.lanes
        return bidx // tiles, bidx % tiles * self.lanes + tx, tx, ty

    @cute.jit
    def load(self, gX: cute.Tensor, rX: cute.Tensor, row, last, column, valid):  # type: ignore[no-untyped-def]
        """Load the thread's vectors of gX (M, N), starting at `row`, to rX (vector, loads); leave
        rX unchanged for vectors outside gX."""
        for k in cutlass.range_constexpr(self.loads):
            if valid and row + k * self.rows < last:
                gRow = gX[row + k * self.rows, None]  # (N):(1)
                gV = cute.local_tile(gRow, (self.vector,), (column,))  # (V):(1)
                cute.autovec_copy(gV, rX[None, k])

    @cute.jit
    def store(self, rX: cute.Tensor, gX: cute.Tensor, row, last, column, valid):  # type: ignore[no-untyped-def]
        """Store rX (vector, loads) to the thread's vectors of gX (M, N), starting at `row`."""
        for k in cutlass.range_constexpr(self.loads):
            if valid and row + k * self.rows < last:
                gRow = gX[row + k * self.rows, None]  # (N):(1)
                gV = cute.local_tile(gRow, (self.vector,), (column,))  # (V):(1)
                cute.autovec_copy(rX[None, k], gV)

    def scratch(self):  # type: ignore[no-untyped-def]
        """Allocate shared memory for one vector per thread, with the shape (rows, lanes,
        vector)."""
        shape = (self.rows, self.lanes, self.vector)
        layout = cute.make_layout(shape, stride=(self.columns, self.vector, 1))
        return cutlass.memory.SmemAllocator().allocate_tensor(Float32, layout, VECTOR_BYTES)

    @cute.jit
    def reduce(self, values: tuple, merge: cutlass.Constexpr, tx, ty):  # type: ignore[no-untyped-def]
        """Merge each tensor in `values`, of shape (vector), over all threads with the same columns;
        every thread receives the result.

        merge: a function that updates a thread's values with another thread's values.
        """
        if cutlass.const_expr(self.rows > 1):
            shared, height = [self.scratch() for _ in values], self.rows
            while cutlass.const_expr(height > 1):  # halve the number of active rows
                if ty >= height // 2 and ty < height:
                    for i in cutlass.range_constexpr(len(values)):
                        cute.autovec_copy(values[i], shared[i][ty, tx, None])
                cute.arch.sync_threads()
                height //= 2
                if ty < height:
                    merge(*values, *(sV[ty + height, tx, None] for sV in shared))
            if ty == 0:
                for i in cutlass.range_constexpr(len(values)):
                    cute.autovec_copy(values[i], shared[i][0, tx, None])
            cute.arch.sync_threads()
            for i in cutlass.range_constexpr(len(values)):
                cute.autovec_copy(shared[i][0, tx, None], values[i])

    def sum(self, rSum: cute.Tensor, tx: Int32, ty: Int32) -> None:
        """Sum rSum (vector) over all threads with the same columns; every thread receives the
        sum."""
        self.reduce((rSum,), lambda rS, below: rS.store(rS.load() + below.load()), tx, ty)
