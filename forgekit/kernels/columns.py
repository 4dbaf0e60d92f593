"""Distribute the columns of a matrix over a block's threads, which form a grid of rows and lanes.

A `ColumnTile` is a compile-time constant of a kernel, which calls its methods.
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
    """The elements of a matrix (M, N) that each thread of a block reads.

    lanes: threads in a row of threads, one vector of columns per thread. rows: the number of rows
    of threads, a power of two. loads: rows of the matrix that a thread reads at a time. vector:
    columns per access, contiguous in memory; a divisor of N and of the row stride. once: True if
    one step reads all rows of the matrix, so that values needed twice are kept in registers.
    overlap: True if the kernel starts while the previous kernel ends (`follow`).
    """

    lanes: int
    rows: int
    loads: int
    vector: int
    once: bool = False
    overlap: bool = False

    @property
    def threads(self) -> int:
        """Return the threads per block."""
        return self.lanes * self.rows

    @property
    def columns(self) -> int:
        """Return the columns per block."""
        return self.lanes * self.vector

    # -- inside a kernel --------------------------------------------------------------------------
    @cute.jit
    def place(self, tiles: Int32):  # type: ignore[no-untyped-def]
        """Return the thread's matrix, its vector of columns in that matrix, and its lane and row in
        the block.

        tiles: the number of blocks per matrix; blockIdx.x counts the blocks of one matrix after
        another.
        """
        follow(self.overlap)
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        tx, ty = tidx % self.lanes, tidx // self.lanes
        return bidx // tiles, bidx % tiles * self.lanes + tx, tx, ty

    @cute.jit
    def load(self, gX: cute.Tensor, rX: cute.Tensor, row, last, column, valid):  # type: ignore[no-untyped-def]
        """Load the thread's vectors of gX (M, N), starting at `row`, into rX (vector, loads). Do
        not change the vectors of rX that are outside gX."""
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
        """Allocate shared memory for one vector per thread: (rows, lanes, vector)."""
        shape = (self.rows, self.lanes, self.vector)
        layout = cute.make_layout(shape, stride=(self.columns, self.vector, 1))
        return cutlass.memory.SmemAllocator().allocate_tensor(Float32, layout, VECTOR_BYTES)

    @cute.jit
    def reduce(self, values: tuple, merge: cutlass.Constexpr, tx, ty):  # type: ignore[no-untyped-def]
        """Merge each of `values` (vector) over all threads with the same columns; every thread
        receives the result.

        merge: a function that updates one thread's values with those of another thread.
        """
        if cutlass.const_expr(self.rows > 1):
            shared, height = [self.scratch() for _ in values], self.rows
            while cutlass.const_expr(height > 1):  # halve the rows of threads down to one
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
        """Sum rSum (vector) over all threads with the same columns; every thread gets the sum."""
        self.reduce((rSum,), lambda rS, below: rS.store(rS.load() + below.load()), tx, ty)
