"""Solution to week1/warp_argmax."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32


@cute.kernel
def warp_argmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 8 + tidx // 32
    if row < mX.shape[0]:
        largest, column = -Float32.inf, Int32(mX.shape[1])
        for n in range(lane, mX.shape[1], 32):
            value = mX[row, n].to(Float32)
            if value > largest or (value == largest and n < column):
                largest, column = value, Int32(n)
        for k in cutlass.range_constexpr(5):
            value = cute.arch.shuffle_sync_bfly(largest, offset=16 >> k)
            n = cute.arch.shuffle_sync_bfly(column, offset=16 >> k)
            if value > largest or (value == largest and n < column):
                largest, column = value, n
        if lane == 0:
            mY[row] = column
    # [/fill]


@cute.jit
def warp_argmax(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 8)
    warp_argmax_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
    # [/fill]
