"""Kernels for row sums that lead to `reduce_sum.RowSum`, with one new idea per step; pure CuTe DSL.

    NaiveRowSum     one thread per row: neighbouring threads read different rows
    SharedRowSum    one block per row: threads read adjacent elements, and add in shared memory
    ShuffleRowSum   like SharedRowSum, but the lanes of a warp add by shuffles

All accept mX (M, N) with any strides and mY (M), and add in float32.
"""

import operator

import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream
from cutlass import Float32

from forgekit.kernels import VECTOR_BYTES, WARP


class NaiveRowSum:
    """Each thread reads a whole row, so a warp's request usually touches 32 sectors."""

    threads = 128

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: CUstream) -> None:
        blocks = cute.ceil_div(mX.shape[0], self.threads)
        self.kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(self.threads, 1, 1), stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        row = bidx * self.threads + tidx
        if row < mX.shape[0]:
            total = Float32(0.0)
            for n in range(mX.shape[1]):
                total += mX[row, n].to(Float32)
            mY[row] = total.to(mY.element_type)


class SharedRowSum:
    """Consecutive threads of a block read consecutive elements of a row. Then half of the active
    threads repeatedly add the other half's sums to their own."""

    threads = 256  # a power of two, because the tree halves it repeatedly

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream: CUstream) -> None:
        self.kernel(mX, mY).launch(
            grid=(mX.shape[0], 1, 1), block=(self.threads, 1, 1), stream=stream
        )

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tidx, _, _ = cute.arch.thread_idx()
        row, _, _ = cute.arch.block_idx()
        sSum = cutlass.memory.SmemAllocator().allocate_tensor(
            Float32, cute.make_layout(self.threads), VECTOR_BYTES
        )
        total = Float32(0.0)
        for n in range(tidx, mX.shape[1], self.threads):
            total += mX[row, n].to(Float32)
        sSum[tidx] = total
        cute.arch.sync_threads()
        half = self.threads // 2
        while cutlass.const_expr(half > 0):
            if tidx < half:
                sSum[tidx] += sSum[tidx + half]
            cute.arch.sync_threads()
            half //= 2
        if tidx == 0:
            mY[row] = sSum[0].to(mY.element_type)


class ShuffleRowSum(SharedRowSum):
    """Like `SharedRowSum`, but the lanes of a warp exchange sums by shuffles; only the warps
    exchange sums through shared memory."""

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor) -> None:
        tidx, _, _ = cute.arch.thread_idx()
        row, _, _ = cute.arch.block_idx()
        warps = self.threads // WARP
        sSum = cutlass.memory.SmemAllocator().allocate_tensor(
            Float32, cute.make_layout(warps), VECTOR_BYTES
        )
        total = Float32(0.0)
        for n in range(tidx, mX.shape[1], self.threads):
            total += mX[row, n].to(Float32)
        total = cute.arch.warp_reduction(total, operator.add)
        if tidx % WARP == 0:
            sSum[tidx // WARP] = total
        cute.arch.sync_threads()
        if tidx < WARP:
            total = Float32(0.0)
            if tidx < warps:
                total = sSum[tidx]
            total = cute.arch.warp_reduction(total, operator.add)
            if tidx == 0:
                mY[row] = total.to(mY.element_type)
