"""Solution to week2/padded_backward."""

import operator

import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def padded_backward_kernel(
    mdY: cute.Tensor, mY: cute.Tensor, mLength: cute.Tensor, mdX: cute.Tensor
):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 4 + tidx // 32
    if row < mY.shape[0]:
        length = mLength[row]
        dot = Float32(0.0)
        for n in range(lane, length, 32):
            dot += mdY[row, n].to(Float32) * mY[row, n].to(Float32)
        dot = cute.arch.warp_reduction(dot, operator.add)
        for n in range(lane, mY.shape[1], 32):
            dx = Float32(0.0)
            if n < length:
                dx = (mdY[row, n].to(Float32) - dot) * mY[row, n].to(Float32)
            mdX[row, n] = dx.to(mdX.element_type)
    # [/fill]


@cute.jit
def padded_backward(mdY: cute.Tensor, mY: cute.Tensor, mLength: cute.Tensor, mdX: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mY.shape[0], 4)
    padded_backward_kernel(mdY, mY, mLength, mdX).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
