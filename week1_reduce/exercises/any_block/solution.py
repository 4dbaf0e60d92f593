"""Solution to week1/any_block."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def any_block_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sSum = smem.allocate_tensor(Float32, cute.make_layout(96), 16)
    total = Float32(0.0)
    for n in range(tidx, mX.shape[1], 96):
        total += mX[row, n].to(Float32)
    sSum[tidx] = total
    left = 96
    while cutlass.const_expr(left > 1):
        cute.arch.sync_threads()
        # [fill]
        #| half = left // 2
        #| if tidx < half:
        #|     sSum[tidx] += sSum[tidx + half]
        half = (left + 1) // 2
        if tidx < left - half:
            sSum[tidx] += sSum[tidx + half]
        # [/fill]
        left = half
    if tidx == 0:
        mY[row] = sSum[0].to(mY.element_type)


@cute.jit
def any_block(mX: cute.Tensor, mY: cute.Tensor):
    any_block_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(96, 1, 1))
