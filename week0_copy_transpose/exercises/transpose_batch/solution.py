"""Solution to week0/transpose_batch."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def batch_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, b = cute.arch.block_idx()
    _, M, N = mX.shape
    row0, col0 = by * 32, bx * 32
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, cute.make_layout((32, 32), stride=(33, 1)), 16)
    for k in cutlass.range_constexpr(0, 32, 8):
        if row0 + ty + k < M and col0 + tx < N:
            sX[ty + k, tx] = mX[b, row0 + ty + k, col0 + tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 32, 8):
        if col0 + ty + k < N and row0 + tx < M:
            mY[b, col0 + ty + k, row0 + tx] = sX[tx, ty + k]
    # [/fill]


@cute.jit
def transpose_batch(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    B, M, N = mX.shape
    grid = (cute.ceil_div(N, 32), cute.ceil_div(M, 32), B)
    batch_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))
    # [/fill]
