"""Solution to week0/rotate_image."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def rotate_image_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    row0, col0 = by * 32, bx * 32
    smem = cutlass.memory.SmemAllocator()
    layout_s = cute.make_layout((32, 32), stride=(33, 1))
    sX = smem.allocate_tensor(mX.element_type, layout_s, 16)
    for k in cutlass.range_constexpr(0, 32, 8):
        if row0 + ty + k < M and col0 + tx < N:
            sX[ty + k, tx] = mX[row0 + ty + k, col0 + tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 32, 8):
        if col0 + ty + k < N and row0 + tx < M:
            mY[col0 + ty + k, M - 1 - (row0 + tx)] = sX[tx, ty + k]
    # [/fill]


@cute.jit
def rotate_image(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
    rotate_image_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))
    # [/fill]
