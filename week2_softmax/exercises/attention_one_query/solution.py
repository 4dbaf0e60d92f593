"""Solution to week2/attention_one_query."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def attention_one_query_kernel(
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mV: cute.Tensor,
    scale_log2: Float32,
    dim: cutlass.Constexpr,
    mO: cute.Tensor,
):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    head, _, _ = cute.arch.block_idx()
    lane, warp = tidx % 32, tidx // 32
    smem = cutlass.memory.SmemAllocator()
    sM = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
    sS = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
    sO = smem.allocate_tensor(Float32, cute.make_layout((4, dim), stride=(dim, 1)), 16)
    each = cutlass.const_expr(dim // 32)  # components of a lane: lane, lane + 32
    rQ, rO = cute.make_rmem_tensor(each, Float32), cute.make_rmem_tensor(each, Float32)
    for d in cutlass.range_constexpr(each):
        rQ[d] = mQ[head, lane + 32 * d].to(Float32) * scale_log2
    rO.fill(0.0)
    m, s = -Float32.inf, Float32(0.0)
    for i in range(warp, mK.shape[1], 4):
        score = Float32(0.0)
        for d in cutlass.range_constexpr(each):
            score += rQ[d] * mK[head, i, lane + 32 * d].to(Float32)
        score = cute.arch.warp_reduction(score, operator.add)
        m_new = cute.arch.fmax(m, score)
        old = cute.math.exp2(m - m_new, fastmath=True)
        new = cute.math.exp2(score - m_new, fastmath=True)
        m, s = m_new, s * old + new
        for d in cutlass.range_constexpr(each):
            rO[d] = rO[d] * old + new * mV[head, i, lane + 32 * d].to(Float32)
    if lane == 0:
        sM[warp], sS[warp] = m, s
    for d in cutlass.range_constexpr(each):
        sO[warp, lane + 32 * d] = rO[d]
    cute.arch.sync_threads()
    if tidx < dim:
        m = cute.arch.fmax(cute.arch.fmax(sM[0], sM[1]), cute.arch.fmax(sM[2], sM[3]))
        s, o = Float32(0.0), Float32(0.0)
        for w in cutlass.range_constexpr(4):
            factor = cute.math.exp2(sM[w] - m, fastmath=True)
            s += sS[w] * factor
            o += sO[w, tidx] * factor
        mO[head, tidx] = (o / s).to(mO.element_type)
    # [/fill]


@cute.jit
def attention_one_query(
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mV: cute.Tensor,
    scale: Float32,
    dim: cutlass.Constexpr,
    mO: cute.Tensor,
):
    # [fill]
    #| pass
    scale_log2 = scale * 1.4426950408889634  # 2 ** (x * log2(e)) is e ** x
    kernel = attention_one_query_kernel(mQ, mK, mV, scale_log2, dim, mO)
    kernel.launch(grid=(mQ.shape[0], 1, 1), block=(128, 1, 1))
    # [/fill]
