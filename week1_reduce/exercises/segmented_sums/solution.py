"""Solution to week1/segmented_sums."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def segmented_sums_kernel(mX: cute.Tensor, mStarts: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    segment, lane = bidx * 4 + tidx // 32, tidx % 32
    total = Float32(0.0)
    if segment < mY.shape[0]:
        for n in range(mStarts[segment] + lane, mStarts[segment + 1], 32):
            total += mX[n]
    for k in cutlass.range_constexpr(5):
        total += cute.arch.shuffle_sync_bfly(total, offset=1 << k)
    if segment < mY.shape[0] and lane == 0:
        mY[segment] = total
    # [/fill]


@cute.jit
def segmented_sums(mX: cute.Tensor, mStarts: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mY.shape[0], 4)
    segmented_sums_kernel(mX, mStarts, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
