"""Solution to week0/reverse."""

import cutlass.cute as cute


@cute.kernel
def reverse_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    n = mX.shape[0]
    i = bidx * 128 + tidx
    if i < n:
        # [fill]
        #| mY[i] = mX[i]
        mY[i] = mX[n - 1 - i]
        # [/fill]


@cute.jit
def reverse(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 128)
    reverse_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
