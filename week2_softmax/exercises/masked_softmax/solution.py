"""Solution to week2/masked_softmax."""

import math

import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def masked_softmax_kernel(mX: cute.Tensor, mMask: cute.Tensor, t: Float32, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    scale = math.log2(math.e) / t
    if row < mX.shape[0]:
        m, s = -Float32.inf, Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            if mMask[row, n] != 0:
                value = mX[row, n].to(Float32)
                m_new = cute.arch.fmax(m, value)
                s = s * cute.math.exp2((m - m_new) * scale, fastmath=True)
                s += cute.math.exp2((value - m_new) * scale, fastmath=True)
                m = m_new
        m_row = cute.arch.warp_reduction_max(m)
        # In a row without any element this is NaN, which is never used.
        s = cute.arch.warp_reduction_sum(s * cute.math.exp2((m - m_row) * scale, fastmath=True))
        for n in range(lane, mX.shape[1], 32):
            y = Float32(0.0)
            if mMask[row, n] != 0:
                e = cute.math.exp2((mX[row, n].to(Float32) - m_row) * scale, fastmath=True)
                y = e / s
            mY[row, n] = y.to(mY.element_type)
    # [/fill]


@cute.jit
def masked_softmax(mX: cute.Tensor, mMask: cute.Tensor, t: Float32, mY: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mX.shape[0], 4)
    masked_softmax_kernel(mX, mMask, t, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
