"""Solution to week1/row_max_vectors."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def row_max_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    vec = cutlass.const_expr(128 // mX.element_type.width)
    if row < mX.shape[0]:
        gX = cute.zipped_divide(mX[row, None], (vec,))  # ((Vec),(Rest))
        best = -Float32.inf
        for i in range(lane, cute.size(gX, mode=[1]), 32):
            values = gX[(None, i)].load().to(Float32)
            best = cute.arch.fmax(best, values.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
        best = cute.arch.warp_reduction(best, cute.arch.fmax)
        if lane == 0:
            mY[row] = best.to(mY.element_type)
    # [/fill]


@cute.jit
def row_max_vectors(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 4)
    row_max_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
