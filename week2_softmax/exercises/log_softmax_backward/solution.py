"""Solution to week2/log_softmax_backward."""

import operator

import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def log_softmax_backward_kernel(mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane, row = tidx % 32, bidx * 4 + tidx // 32
    if row < mY.shape[0]:
        total = Float32(0.0)
        for n in range(lane, mY.shape[1], 32):
            total += mdY[row, n].to(Float32)
        total = cute.arch.warp_reduction(total, operator.add)
        for n in range(lane, mY.shape[1], 32):
            p = cute.math.exp(mY[row, n].to(Float32), fastmath=True)
            mdX[row, n] = (mdY[row, n].to(Float32) - p * total).to(mdX.element_type)
    # [/fill]


@cute.jit
def log_softmax_backward(mdY: cute.Tensor, mY: cute.Tensor, mdX: cute.Tensor):
    # [fill]
    #| pass
    blocks = cute.ceil_div(mY.shape[0], 4)
    log_softmax_backward_kernel(mdY, mY, mdX).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
    # [/fill]
