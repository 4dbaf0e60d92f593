"""Solution to week1/count_positive."""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Int32


@cute.kernel
def clear_counts_kernel(mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    row = bidx * 256 + tidx
    if row < mY.shape[0]:
        mY[row] = 0
    # [/fill]


@cute.kernel
def count_positive_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    piece, row, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sCount = smem.allocate_tensor(Int32, cute.make_layout(8), 16)
    count = Int32(0)
    for k in cutlass.range_constexpr(8):
        n = piece * 2048 + k * 256 + tidx
        if n < mX.shape[1]:
            if mX[row, n] > 0.0:
                count += 1
    count = cute.arch.warp_reduction(count, operator.add)
    if tidx % 32 == 0:
        sCount[tidx // 32] = count
    cute.arch.sync_threads()
    count = cute.arch.warp_reduction(sCount[tidx % 8], operator.add, threads_in_group=8)
    if tidx == 0:
        cute.arch.atomic_add(mY.iterator + row, count)
    # [/fill]


@cute.jit
def count_positive(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    rows, pieces = mX.shape[0], cute.ceil_div(mX.shape[1], 2048)
    few = (cute.ceil_div(rows, 256), 1, 1)
    clear_counts_kernel(mY).launch(grid=few, block=(256, 1, 1))
    count_positive_kernel(mX, mY).launch(grid=(pieces, rows, 1), block=(256, 1, 1))
    # [/fill]
