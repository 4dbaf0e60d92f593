"""Solution to week0/fix_the_turn."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def turn_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    M, N = mX.shape
    smem = cutlass.memory.SmemAllocator()
    # [fill]
    #| sT = smem.allocate_tensor(Float32, cute.make_layout((32, 32), stride=(32, 1)), 128)
    sT = smem.allocate_tensor(Float32, cute.make_layout((32, 32), stride=(33, 1)), 128)
    # [/fill]
    row, col = bidy * 32 + tidy, bidx * 32 + tidx
    if row < M and col < N:
        sT[tidy, tidx] = mX[row, col]
    cute.arch.sync_threads()
    # [fill]
    #| if row < M and col < N:
    #|     mY[col, M - 1 - row] = sT[tidy, tidx]
    row, col = bidy * 32 + tidx, bidx * 32 + tidy
    if row < M and col < N:
        mY[col, M - 1 - row] = sT[tidx, tidy]
    # [/fill]


@cute.jit
def turn(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
    turn_kernel(mX, mY).launch(grid=grid, block=(32, 32, 1))
