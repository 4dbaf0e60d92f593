"""Solution to week1/short_rows."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def short_rows_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 16 + tidx // 8, tidx % 8
    vec = cutlass.const_expr(128 // mX.element_type.width)
    total = Float32(0.0)
    if row < mX.shape[0]:
        gX = cute.zipped_divide(mX[row, None], (vec,))  # ((Vec),(Rest))
        for i in range(lane, cute.size(gX, mode=[1]), 8):
            total += gX[(None, i)].load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction(total, operator.add, threads_in_group=8)
    if lane == 0 and row < mX.shape[0]:
        mY[row] = total.to(mY.element_type)
    # [/fill]


@cute.jit
def short_rows(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 16)
    short_rows_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
