"""Solution to week0/transpose_padded."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def padded_tile_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    row0, col0 = by * 32, bx * 64
    # [fill]
    #| layout_s = cute.make_layout((32, 64), stride=(64, 1))
    elements_a_word = 32 // mX.element_type.width
    layout_s = cute.make_layout((32, 64), stride=(64 + elements_a_word, 1))
    # [/fill]
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, layout_s, 16)
    for k in cutlass.range_constexpr(0, 32, 8):
        for c in cutlass.range_constexpr(0, 64, 32):
            if row0 + ty + k < M and col0 + tx + c < N:
                sX[ty + k, tx + c] = mX[row0 + ty + k, col0 + tx + c]
    # [fill]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 64, 8):
        if col0 + ty + k < N and row0 + tx < M:
            mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]
    # [/fill]


@cute.jit
def transpose_padded(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32), 1)
    padded_tile_kernel(mX, mY).launch(grid=grid, block=(32, 8, 1))
