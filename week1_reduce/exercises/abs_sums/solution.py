"""Solution to week1/abs_sums."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def abs_sums_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    piece, lane = bidx * 4 + tidx // 32, tidx % 32
    vec = cutlass.const_expr(128 // mX.element_type.width)
    n = mX.shape[0]
    gX = cute.zipped_divide(mX, (vec,))  # ((Vec),(Rest))
    total = Float32(0.0)
    for k in cutlass.range_constexpr(1024 // vec // 32):
        i = piece * (1024 // vec) + k * 32 + lane
        if i < n // vec:
            values = gX[(None, i)].load().to(Float32)
            values = cute.where(values < 0.0, -values, values)
            total += values.reduce(cute.ReductionOp.ADD, 0.0, 0)
    j = n // vec * vec + lane
    if j < n and j // 1024 == piece:
        value = mX[j].to(Float32)
        total += cute.arch.fmax(value, -value)
    total = cute.arch.warp_reduction(total, operator.add)
    if lane == 0 and piece < mY.shape[0]:
        mY[piece] = total.to(mY.element_type)
    # [/fill]


@cute.jit
def abs_sums(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mY.shape[0], 4)
    abs_sums_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
