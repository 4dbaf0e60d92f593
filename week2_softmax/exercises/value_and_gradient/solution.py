"""Solution to week2/value_and_gradient."""

import operator

import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def value_and_gradient_kernel(
    mX: cute.Tensor, mW: cute.Tensor, mValue: cute.Tensor, mdX: cute.Tensor
):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 4 + tidx // 32
    if row < mX.shape[0]:
        m, s, t = -Float32.inf, Float32(0.0), Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            m_new = cute.arch.fmax(m, mX[row, n])
            scale = cute.math.exp(m - m_new, fastmath=True)
            e = cute.math.exp(mX[row, n] - m_new, fastmath=True)
            s = s * scale + e
            t = t * scale + mW[row, n] * e
            m = m_new
        m_row = cute.arch.warp_reduction(m, cute.arch.fmax)
        scale = cute.math.exp(m - m_row, fastmath=True)
        s = cute.arch.warp_reduction(s * scale, operator.add)
        t = cute.arch.warp_reduction(t * scale, operator.add)
        value = t / s
        if lane == 0:
            mValue[row] = value
        for n in range(lane, mX.shape[1], 32):
            y = cute.math.exp(mX[row, n] - m_row, fastmath=True) / s
            mdX[row, n] = (mW[row, n] - value) * y
    # [/fill]


@cute.jit
def value_and_gradient(mX: cute.Tensor, mW: cute.Tensor, mValue: cute.Tensor, mdX: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 4)
    value_and_gradient_kernel(mX, mW, mValue, mdX).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
