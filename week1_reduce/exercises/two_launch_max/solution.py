"""Solution to week1/two_launch_max."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


# [fill]
@cute.jit
def max_of_block(best: Float32):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    sMax = smem.allocate_tensor(Float32, cute.make_layout(8), 16)
    best = cute.arch.warp_reduction(best, cute.arch.fmax)
    if tidx % 32 == 0:
        sMax[tidx // 32] = best
    cute.arch.sync_threads()
    return cute.arch.warp_reduction(sMax[tidx % 8], cute.arch.fmax, threads_in_group=8)


# [/fill]
@cute.kernel
def pieces_max_kernel(mX: cute.Tensor, mPart: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    piece, row, _ = cute.arch.block_idx()
    best = -Float32.inf
    for k in cutlass.range_constexpr(4):
        n = piece * 1024 + k * 256 + tidx
        if n < mX.shape[1]:
            best = cute.arch.fmax(best, mX[row, n])
    best = max_of_block(best)
    if tidx == 0:
        mPart[row, piece] = best
    # [/fill]


@cute.kernel
def parts_max_kernel(mPart: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    best = -Float32.inf
    for k in range(tidx, mPart.shape[1], 256):
        best = cute.arch.fmax(best, mPart[row, k])
    best = max_of_block(best)
    if tidx == 0:
        mY[row] = best
    # [/fill]


@cute.jit
def two_launch_max(mX: cute.Tensor, mPart: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    rows, pieces = mPart.shape
    pieces_max_kernel(mX, mPart).launch(grid=(pieces, rows, 1), block=(256, 1, 1))
    parts_max_kernel(mPart, mY).launch(grid=(rows, 1, 1), block=(256, 1, 1))
    # [/fill]
