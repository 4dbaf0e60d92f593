"""Softmax over rows that wait in shared memory; pure CuTe DSL, for sm_80 and later.

A thread copies its vectors to shared memory without passing them through registers, all at once,
and looks at them twice: for the statistics, as they come, and for the result. So a block needs few
registers, however much of a row is its part, and an SM has room for many elements under way.
"""

import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream
from cutlass import Float32

from forgekit.kernels import VECTOR_BYTES
from forgekit.kernels.rows import RowTile
from forgekit.kernels.softmax import absorb, exp, of_threads

__all__ = ["StagedSoftmax"]

LINE_BYTES = 128  # asynchronous copies of a warp that begin elsewhere take twice as long


class StagedSoftmax:
    """mY (M, N) = softmax of each row of mX (M, N); vectors of 16 bytes, no edges."""

    def __init__(self, tile: RowTile) -> None:
        self.tile = tile

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: CUstream) -> None:
        shape = self.tile.launch_shape(mX.shape[0])
        self.kernel(mX, mY).launch(**shape, stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tile, V = self.tile, self.tile.vector
        tidx, _, _ = cute.arch.thread_idx()
        # Each thread has vectors of its own in shared memory, neighbours beside each other.
        layout = cute.make_layout((V, tile.block, tile.loads))
        sX = cutlass.memory.SmemAllocator().allocate_tensor(mX.element_type, layout, LINE_BYTES)
        tXsX = sX[None, tidx, None]  # (V, loads)
        sPart, mbar = tile.mailbox(2)
        row, lane, valid = tile.row_and_lane(mX.shape[0])
        gVX, gVY = (tile.vectors_of(mT[row, None], 0) for mT in (mX, mY))  # (V, vectors)

        copy = cute.make_copy_atom(
            cute.nvgpu.cpasync.CopyG2SOp(cache_mode=cute.nvgpu.LoadCacheMode.GLOBAL),
            mX.element_type, num_bits_per_copy=VECTOR_BYTES * 8,
        )  # fmt: skip
        for k in cutlass.range_constexpr(tile.loads):
            if tile.has(gVX, lane + k * tile.step):
                cute.copy(copy, gVX[None, lane + k * tile.step], tXsX[None, k])
            cute.arch.cp_async_commit_group()

        # The first look, in the order in which they come: maximum and sum so far.
        m, s = -Float32.inf, Float32(0.0)
        for k in cutlass.range_constexpr(tile.loads):
            cute.arch.cp_async_wait_group(tile.loads - 1 - k)
            if tile.has(gVX, lane + k * tile.step):
                m, s = absorb(m, s, tXsX[None, k].load().to(Float32))
        m, s = of_threads(tile, m, s, sPart, mbar)

        # The second look: nothing of the first is kept but the row's maximum and sum.
        scale = 1.0 / s
        rY = cute.make_rmem_tensor(V, mY.element_type)
        for k in cutlass.range_constexpr(tile.loads):
            if valid and tile.has(gVX, lane + k * tile.step):
                x = tXsX[None, k].load().to(Float32)
                rY.store((exp(x - m) * scale).to(mY.element_type))
                cute.autovec_copy(rY, gVY[None, lane + k * tile.step])
