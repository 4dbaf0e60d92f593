"""Solution to week2/rms_norm_residual."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def rms_norm_residual_kernel(
    mX: cute.Tensor,
    mR: cute.Tensor,
    mW: cute.Tensor,
    eps: Float32,
    mS: cute.Tensor,
    mY: cute.Tensor,
):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row, lane = bidx * 4 + tidx // 32, tidx % 32
    vec = cutlass.const_expr(128 // mX.element_type.width)
    if row < mX.shape[0]:
        gX = cute.zipped_divide(mX[row, None], (vec,))  # ((Vec),(Rest))
        gR = cute.zipped_divide(mR[row, None], (vec,))
        gW = cute.zipped_divide(mW, (vec,))
        gS = cute.zipped_divide(mS[row, None], (vec,))
        gY = cute.zipped_divide(mY[row, None], (vec,))
        rS = cute.make_rmem_tensor(((vec,), 4), Float32)  # ((Vec),4): the sums of a lane
        rS.fill(0.0)
        for k in cutlass.range_constexpr(4):
            i = lane + 32 * k
            if i < cute.size(gX, mode=[1]):
                s = gX[None, i].load().to(Float32) + gR[None, i].load().to(Float32)
                gS[None, i].store(s.to(mS.element_type))
                rS[None, k].store(s)
        s = rS.load()
        total = (s * s).reduce(cute.ReductionOp.ADD, 0.0, 0)
        total = cute.arch.warp_reduction(total, operator.add)
        scale = cute.math.rsqrt(total / Float32(mX.shape[1]) + eps, fastmath=True)
        for k in cutlass.range_constexpr(4):
            i = lane + 32 * k
            if i < cute.size(gX, mode=[1]):
                y = rS[None, k].load() * scale * gW[None, i].load().to(Float32)
                gY[None, i].store(y.to(mY.element_type))
    # [/fill]


@cute.jit
def rms_norm_residual(
    mX: cute.Tensor,
    mR: cute.Tensor,
    mW: cute.Tensor,
    eps: Float32,
    mS: cute.Tensor,
    mY: cute.Tensor,
):
    # [fill]
    #| pass
    grid = (cute.ceil_div(mX.shape[0], 4), 1, 1)
    rms_norm_residual_kernel(mX, mR, mW, eps, mS, mY).launch(grid=grid, block=(128, 1, 1))
    # [/fill]
