"""Solution to week1/row_prefix."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def row_prefix_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    carry = Float32(0.0)
    for piece in range(cute.ceil_div(mX.shape[1], 32)):
        n = piece * 32 + lane
        value = Float32(0.0)
        if row < mX.shape[0] and n < mX.shape[1]:
            value = mX[row, n]
        for k in cutlass.range_constexpr(5):
            left = cute.arch.shuffle_sync_up(value, offset=1 << k)
            if lane >= 1 << k:
                value += left
        value += carry
        if row < mX.shape[0] and n < mX.shape[1]:
            mY[row, n] = value
        carry = cute.arch.shuffle_sync(value, 31)
    # [/fill]


@cute.jit
def row_prefix(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 4)
    row_prefix_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
