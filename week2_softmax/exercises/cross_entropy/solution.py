"""Solution to week2/cross_entropy."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32


@cute.kernel
def cross_entropy_kernel(mX: cute.Tensor, mT: cute.Tensor, mLoss: cute.Tensor, mLse: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    lane, warp = tidx % 32, tidx // 32
    smem = cutlass.memory.SmemAllocator()
    sM = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
    sS = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
    m, s = -Float32.inf, Float32(0.0)
    for n in range(tidx, mX.shape[1], 128):
        value = mX[row, n].to(Float32)
        m_new = cute.arch.fmax(m, value)
        s = s * cute.math.exp(m - m_new, fastmath=True)
        s += cute.math.exp(value - m_new, fastmath=True)
        m = m_new
    m_warp = cute.arch.warp_reduction_max(m)
    if m > -Float32.inf:
        s = s * cute.math.exp(m - m_warp, fastmath=True)
    s = cute.arch.warp_reduction_sum(s)
    if lane == 0:
        sM[warp] = m_warp
        sS[warp] = s
    cute.arch.sync_threads()
    if tidx == 0:
        m = cute.arch.fmax(cute.arch.fmax(sM[0], sM[1]), cute.arch.fmax(sM[2], sM[3]))
        s = Float32(0.0)
        for w in cutlass.range_constexpr(4):
            s += sS[w] * cute.math.exp(sM[w] - m, fastmath=True)
        log_s = cute.math.log(s, fastmath=True)
        mLse[row] = m + log_s
        loss, target = Float32(0.0), Int32(mT[row])
        if target != -100:
            loss = m - mX[row, target].to(Float32) + log_s
        mLoss[row] = loss
    # [/fill]


@cute.jit
def cross_entropy(mX: cute.Tensor, mT: cute.Tensor, mLoss: cute.Tensor, mLse: cute.Tensor):
    # [fill]
    #| pass
    cross_entropy_kernel(mX, mT, mLoss, mLse).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))
    # [/fill]
