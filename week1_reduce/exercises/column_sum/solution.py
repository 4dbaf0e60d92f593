"""Solution to week1/column_sum."""

import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def column_sum_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    col = bidx * 128 + tidx
    if col < mX.shape[1]:
        total = Float32(0.0)
        for m in range(mX.shape[0]):
            total += mX[m, col].to(Float32)
        mY[col] = total.to(mY.element_type)
    # [/fill]


@cute.jit
def column_sum(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[1], 128)
    column_sum_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
