"""Solution to week0/three_sums."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def three_sums_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sRow = smem.allocate_tensor(Float32, cute.make_layout(128), 16)
    total = mX[row, tidx]
    sRow[tidx] = total
    cute.arch.sync_threads()
    if tidx > 0:
        total += sRow[tidx - 1]
    if tidx < 127:
        total += sRow[tidx + 1]
    mY[row, tidx] = total
    # [/fill]


@cute.jit
def three_sums(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    three_sums_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(128, 1, 1))
    # [/fill]
