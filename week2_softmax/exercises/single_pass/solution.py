"""Solution to week2/single_pass."""

import math
import operator
from functools import partial

import cutlass
import cutlass.cute as cute
from cutlass import Float32

LOG2_E = math.log2(math.e)


@cute.kernel
def single_pass_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sMax = smem.allocate_tensor(Float32, cute.make_layout(4), 16)  # (4):(1)
    sSum = smem.allocate_tensor(Float32, cute.make_layout(4), 16)  # (4):(1)
    vec = cutlass.const_expr(128 // mX.element_type.width)
    loads = cutlass.const_expr(4096 // (128 * vec))
    gX = cute.zipped_divide(mX[row, None], (vec,))  # ((Vec),(Rest))
    gY = cute.zipped_divide(mY[row, None], (vec,))  # ((Vec),(Rest))
    rX = cute.make_rmem_tensor((vec, loads), mX.element_type)  # (Vec,loads)
    rX.fill(-mX.element_type.inf)
    for k in cutlass.range_constexpr(loads):
        if tidx + 128 * k < cute.size(gX, mode=[1]):
            rX[None, k].store(gX[(None, tidx + 128 * k)].load())

    # Online, as the vectors arrive. Maxima are multiplied by log2 e.
    exp2 = partial(cute.math.exp2, fastmath=True)
    rE = cute.make_rmem_tensor((vec, loads), Float32)  # (Vec,loads)
    rMax = cute.make_rmem_tensor(loads, Float32)  # (loads)
    m, s = -Float32.inf, Float32(0.0)
    for k in cutlass.range_constexpr(loads):
        x = rX[None, k].load().to(Float32)
        largest = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)
        m_new = cute.arch.fmax(m, largest * LOG2_E)
        shift = Float32(0.0) if m_new == -Float32.inf else m_new
        e = exp2(cute.math.fma(x, cute.full_like(x, LOG2_E), cute.full_like(x, -shift)))
        s = s * exp2(m - shift) + e.reduce(cute.ReductionOp.ADD, 0.0, 0)
        m = m_new
        rE[None, k].store(e)
        rMax[k] = m

    # Lanes, then warps.
    m_warp = cute.arch.warp_reduction(m, cute.arch.fmax)
    shift = Float32(0.0) if m_warp == -Float32.inf else m_warp
    s = cute.arch.warp_reduction(s * exp2(m - shift), operator.add)
    if tidx % 32 == 0:
        sMax[tidx // 32], sSum[tidx // 32] = m_warp, s
    cute.arch.sync_threads()
    m, s = sMax[tidx % 4], sSum[tidx % 4]
    m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=4)
    shift = Float32(0.0) if m_row == -Float32.inf else m_row
    s = s * exp2(m - shift)
    s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)

    scale = 1.0 / s
    for k in cutlass.range_constexpr(loads):
        y = rE[None, k].load() * (exp2(rMax[k] - m_row) * scale)
        rX[None, k].store(y.to(mY.element_type))
        if tidx + 128 * k < cute.size(gY, mode=[1]):
            gY[(None, tidx + 128 * k)].store(rX[None, k].load())
    # [/fill]


@cute.jit
def single_pass_softmax(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    single_pass_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))
    # [/fill]
