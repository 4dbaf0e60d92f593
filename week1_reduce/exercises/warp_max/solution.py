"""Solution to week1/warp_max."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def warp_max_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 8 + tidx // 32
    if row < mX.shape[0]:
        largest = -Float32.inf
        for n in range(lane, mX.shape[1], 32):
            largest = cutlass.max(largest, mX[row, n].to(Float32))
        for k in cutlass.range_constexpr(5):
            other = cute.arch.shuffle_sync_bfly(largest, offset=16 >> k)
            largest = cutlass.max(largest, other)
        if lane == 0:
            mY[row] = largest.to(mY.element_type)
    # [/fill]


@cute.jit
def warp_max(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 8)
    warp_max_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
    # [/fill]
