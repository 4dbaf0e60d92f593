"""Solution to week2/cross_entropy_backward."""

import cutlass.cute as cute
from cutlass import Float32, Int32


@cute.kernel
def cross_entropy_backward_kernel(
    mX: cute.Tensor, mT: cute.Tensor, mLse: cute.Tensor, mG: cute.Tensor, mdX: cute.Tensor
):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    target, lse, g = Int32(mT[row]), mLse[row], mG[row]
    if target == -100:
        g = Float32(0.0)
    for n in range(tidx, mX.shape[1], 128):
        p = cute.math.exp(mX[row, n].to(Float32) - lse, fastmath=True)
        if n == target:
            p -= 1.0
        mdX[row, n] = (g * p).to(mdX.element_type)
    # [/fill]


@cute.jit
def cross_entropy_backward(
    mX: cute.Tensor, mT: cute.Tensor, mLse: cute.Tensor, mG: cute.Tensor, mdX: cute.Tensor
):
    # [fill]
    #| pass
    grid = (mX.shape[0], 1, 1)
    cross_entropy_backward_kernel(mX, mT, mLse, mG, mdX).launch(grid=grid, block=(128, 1, 1))
    # [/fill]
