"""Solution to week0/transpose_coalesced."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def coalesced_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    row0, col0 = by * 32, bx * 32
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, cute.make_layout((32, 32), stride=(32, 1)), 16)
    for k in cutlass.range_constexpr(0, 32, 8):
        if row0 + ty + k < M and col0 + tx < N:
            sX[ty + k, tx] = mX[row0 + ty + k, col0 + tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 32, 8):
        # [fill]
        #| if row0 + ty + k < M and col0 + tx < N:
        #|     mY[col0 + tx, row0 + ty + k] = sX[ty + k, tx]
        if col0 + ty + k < N and row0 + tx < M:
            mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]
        # [/fill]


@cute.jit
def transpose_coalesced(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
    coalesced_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))
