"""Solution to week1/row_dots."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def row_dots_kernel(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    lane, warp = tidx % 32, tidx // 32
    smem = cutlass.memory.SmemAllocator()
    sPart = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
    total = Float32(0.0)
    for n in range(tidx, mA.shape[1], 128):
        total += mA[row, n].to(Float32) * mB[row, n].to(Float32)
    total = cute.arch.warp_reduction_sum(total)
    if lane == 0:
        sPart[warp] = total
    cute.arch.sync_threads()
    if tidx == 0:
        mZ[row] = (sPart[0] + sPart[1] + sPart[2] + sPart[3]).to(mZ.element_type)
    # [/fill]


@cute.jit
def row_dots(mA: cute.Tensor, mB: cute.Tensor, mZ: cute.Tensor):
    # [fill]
    #| pass
    row_dots_kernel(mA, mB, mZ).launch(grid=(mA.shape[0], 1, 1), block=(128, 1, 1))
    # [/fill]
