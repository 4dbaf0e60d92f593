"""Solution of week0/every_other."""

import cutlass.cute as cute


@cute.kernel
def every_other_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = mX[2 * tidx]


@cute.jit
def every_other(mX: cute.Tensor, mY: cute.Tensor):
    every_other_kernel(mX, mY).launch(grid=(1, 1, 1), block=(256, 1, 1))


# [fill]
#| guess_sectors = None
guess_sectors = 8
# [/fill]
