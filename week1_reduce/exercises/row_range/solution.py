"""Solution to week1/row_range."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def row_range_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sMax = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
    sMin = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
    high, low = -Float32.inf, Float32.inf
    for n in range(tidx, mX.shape[1], 256):
        value = mX[row, n].to(Float32)
        high, low = cutlass.max(high, value), cutlass.min(low, value)
    for k in cutlass.range_constexpr(5):
        high = cutlass.max(high, cute.arch.shuffle_sync_bfly(high, offset=16 >> k))
        low = cutlass.min(low, cute.arch.shuffle_sync_bfly(low, offset=16 >> k))
    if tidx % 32 == 0:
        sMax[tidx // 32], sMin[tidx // 32] = high, low
    cute.arch.sync_threads()
    if tidx < 32:
        high, low = -Float32.inf, Float32.inf
        if tidx < 8:
            high, low = sMax[tidx], sMin[tidx]
        for k in cutlass.range_constexpr(3):
            high = cutlass.max(high, cute.arch.shuffle_sync_bfly(high, offset=4 >> k))
            low = cutlass.min(low, cute.arch.shuffle_sync_bfly(low, offset=4 >> k))
        if tidx == 0:
            mY[row] = (high - low).to(mY.element_type)
    # [/fill]


@cute.jit
def row_range(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    row_range_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))
    # [/fill]
