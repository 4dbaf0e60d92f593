"""Solution to week1/mean_variance."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def mean_variance_kernel(mX: cute.Tensor, mMean: cute.Tensor, mVar: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    count, mean, m2 = Float32(0.0), Float32(0.0), Float32(0.0)
    if row < mX.shape[0]:
        for n in range(lane, mX.shape[1], 32):
            count += 1.0
            d = mX[row, n] - mean
            mean += d / count
            m2 += d * (mX[row, n] - mean)
    for k in cutlass.range_constexpr(5):
        count_b = cute.arch.shuffle_sync_bfly(count, offset=1 << k)
        mean_b = cute.arch.shuffle_sync_bfly(mean, offset=1 << k)
        m2_b = cute.arch.shuffle_sync_bfly(m2, offset=1 << k)
        both = count + count_b
        share = Float32(0.0)
        if both > 0.0:
            share = count_b / both
        d = mean_b - mean
        mean += d * share
        m2 += m2_b + d * d * count * share
        count = both
    if row < mX.shape[0] and lane == 0:
        mMean[row] = mean
        mVar[row] = m2 / count
    # [/fill]


@cute.jit
def mean_variance(mX: cute.Tensor, mMean: cute.Tensor, mVar: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 4)
    mean_variance_kernel(mX, mMean, mVar).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
