"""Solution to week2/temperature_backward."""

import operator

import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def temperature_backward_kernel(
    mdY: cute.Tensor,
    mY: cute.Tensor,
    mX: cute.Tensor,
    t: Float32,
    mdX: cute.Tensor,
    mdT: cute.Tensor,
):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 4 + tidx // 32
    if row < mY.shape[0]:
        dot, dt = Float32(0.0), Float32(0.0)
        for n in range(lane, mY.shape[1], 32):
            dot += mdY[row, n] * mY[row, n]
        dot = cute.arch.warp_reduction(dot, operator.add)
        for n in range(lane, mY.shape[1], 32):
            dx = (mdY[row, n] - dot) * mY[row, n] / t
            dt += dx * mX[row, n]
            mdX[row, n] = dx
        dt = cute.arch.warp_reduction(dt, operator.add)
        if lane == 0:
            mdT[row] = -dt / t
    # [/fill]


@cute.jit
def temperature_backward(
    mdY: cute.Tensor,
    mY: cute.Tensor,
    mX: cute.Tensor,
    t: Float32,
    mdX: cute.Tensor,
    mdT: cute.Tensor,
):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mY.shape[0], 4)
    temperature_backward_kernel(mdY, mY, mX, t, mdX, mdT).launch(
        grid=(blocks, 1, 1), block=(128, 1, 1)
    )
    # [/fill]
