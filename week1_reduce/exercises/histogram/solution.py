"""Solution to week1/histogram."""

import cutlass
import cutlass.cute as cute
from cutlass import Int32


@cute.kernel
def histogram_kernel(mX: cute.Tensor, mH: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sH = smem.allocate_tensor(Int32, cute.make_layout(256), 16)
    sH[tidx] = Int32(0)
    cute.arch.sync_threads()
    for n in range(tidx, mX.shape[1], 256):
        byte = mX[row, n].to(Int32)
        cute.arch.atomic_add(sH.iterator + byte, Int32(1))
    cute.arch.sync_threads()
    mH[row, tidx] = sH[tidx]
    # [/fill]


@cute.jit
def histogram(mX: cute.Tensor, mH: cute.Tensor):
    # [fill]
    #| pass
    histogram_kernel(mX, mH).launch(grid=(mX.shape[0], 1, 1), block=(256, 1, 1))
    # [/fill]
