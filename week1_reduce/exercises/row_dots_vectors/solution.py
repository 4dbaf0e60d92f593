"""Solution to week1/row_dots_vectors."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def row_dots_vectors_kernel(mA: cute.Tensor, mB: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    vec = cutlass.const_expr(128 // mA.element_type.width)
    if row < mA.shape[0]:
        gA = cute.zipped_divide(mA[row, None], (vec,))  # ((Vec),(Rest))
        gB = cute.zipped_divide(mB[row, None], (vec,))  # ((Vec),(Rest))
        total = Float32(0.0)
        for i in range(lane, cute.size(gA, mode=[1]), 32):
            product = gA[(None, i)].load().to(Float32) * gB[(None, i)].load().to(Float32)
            total += product.reduce(cute.ReductionOp.ADD, 0.0, 0)
        total = cute.arch.warp_reduction(total, operator.add)
        if lane == 0:
            mY[row] = total.to(mY.element_type)
    # [/fill]


@cute.jit
def row_dots_vectors(mA: cute.Tensor, mB: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mA.shape[0], 4)
    row_dots_vectors_kernel(mA, mB, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
