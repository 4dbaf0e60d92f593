"""Solution to week1/row_rms."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def row_rms_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sSum = smem.allocate_tensor(Float32, cute.make_layout(128), 16)
    total = Float32(0.0)
    for n in range(tidx, mX.shape[1], 128):
        value = mX[row, n].to(Float32)
        total += value * value
    sSum[tidx] = total
    for k in cutlass.range_constexpr(7):
        cute.arch.sync_threads()
        half = 64 >> k
        if tidx < half:
            sSum[tidx] += sSum[tidx + half]
    if tidx == 0:
        mean = sSum[0] / Float32(mX.shape[1])
        mY[row] = cute.math.sqrt(mean).to(mY.element_type)
    # [/fill]


@cute.jit
def row_rms(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    row_rms_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))
    # [/fill]
