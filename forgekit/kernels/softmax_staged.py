"""Softmax over rows that wait in shared memory; pure CuTe DSL, for sm_80 and later.

A thread copies its vectors to shared memory without passing them through registers, all at once,
and looks at them twice: for the statistics, as they come, and for the result. So a block needs few
registers, however much of a row is its part, and an SM has room for many elements in flight.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float32

from forgekit.kernels import VECTOR_BYTES
from forgekit.kernels.softmax import Softmax, block_reduce, exp, online_update

LINE_BYTES = 128  # asynchronous copies of a warp that begin elsewhere take twice as long


class StagedSoftmax(Softmax):
    """mY (M, N) = softmax of each row of mX (M, N); aligned vectors of 16 bytes."""

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tile, V = self.tile, self.tile.vector
        tidx, _, _ = cute.arch.thread_idx()
        # Each thread has vectors of its own in shared memory, neighbours beside each other.
        layout = cute.make_ordered_layout(((V, 1), 1, tile.loads, tile.block), ((0, 1), 2, 4, 3))
        sX = cutlass.memory.SmemAllocator().allocate_tensor(mX.element_type, layout, LINE_BYTES)
        tXsX = sX[None, None, None, tidx]  # ((V,1),1,loads)
        sPart, mbar = tile.reduction_buffer(2)

        row, lane, valid = tile.row_and_lane(mX.shape[0])
        thr_copy = tile.tiled_copy(mX.element_type).get_slice(lane)
        tXgX, tXgY, tXcX = (
            thr_copy.partition_S(cute.local_tile(mT, tile.tiler, (row, 0)))
            for mT in (mX, mY, cute.make_identity_tensor(mX.shape))
        )  # ((V,1),1,loads)
        tXpX = tile.inside(tXcX, mX.shape)

        copy = cute.make_copy_atom(
            cute.nvgpu.cpasync.CopyG2SOp(cache_mode=cute.nvgpu.LoadCacheMode.GLOBAL),
            mX.element_type, num_bits_per_copy=VECTOR_BYTES * 8,
        )  # fmt: skip
        for k in cutlass.range_constexpr(tile.loads):
            cute.copy(copy, tXgX[None, None, k], tXsX[None, None, k], pred=tXpX[None, None, k])
            cute.arch.cp_async_commit_group()

        # The first look, in the order in which they come: maximum and sum so far.
        m, s = -Float32.inf, Float32(0.0)
        for k in cutlass.range_constexpr(tile.loads):
            cute.arch.cp_async_wait_group(tile.loads - 1 - k)
            if tXpX[k]:
                m, s = online_update(m, s, tXsX[None, None, k].load().to(Float32))
        m, s = block_reduce(tile, m, s, sPart, mbar)

        # The second look: nothing of the first is kept but the row's maximum and sum.
        scale = cute.arch.rcp_approx(s)
        tXrY = cute.make_rmem_tensor_like(tXgY[None, None, 0])
        for k in cutlass.range_constexpr(tile.loads):
            if valid and tXpX[k]:
                x = tXsX[None, None, k].load().to(Float32)
                tXrY.store((exp(x - m) * scale).to(mY.element_type))
                cute.autovec_copy(tXrY, tXgY[None, None, k])
