"""Solution to week0/transpose_swizzled."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def swizzled_tile_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    row0, col0 = by * 32, bx * 64
    layout_s = cute.make_layout((32, 64), stride=(64, 1))
    # [fill]
    layout_s = cute.make_composed_layout(cute.make_swizzle(5, 0, 6), 0, layout_s)
    # [/fill]
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, layout_s, 128)
    for k in cutlass.range_constexpr(0, 32, 8):
        for c in cutlass.range_constexpr(0, 64, 32):
            if row0 + ty + k < M and col0 + tx + c < N:
                sX[ty + k, tx + c] = mX[row0 + ty + k, col0 + tx + c]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 64, 8):
        if col0 + ty + k < N and row0 + tx < M:
            mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]


@cute.jit
def transpose_swizzled(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32), 1)
    swizzled_tile_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))
