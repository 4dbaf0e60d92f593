"""Solution to week1/warp_prefix."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def warp_prefix_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i, lane = bidx * 128 + tidx, tidx % 32
    total = Float32(0.0)
    if i < mX.shape[0]:
        total = mX[i].to(Float32)
    for k in cutlass.range_constexpr(5):
        left = cute.arch.shuffle_sync_up(total, offset=1 << k)
        if lane >= 1 << k:
            total += left
    if i < mX.shape[0]:
        mY[i] = total.to(mY.element_type)
    # [/fill]


@cute.jit
def warp_prefix(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 128)
    warp_prefix_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
