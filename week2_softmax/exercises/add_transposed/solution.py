"""Solution to week2/add_transposed."""

import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def add_transposed_kernel(mX: cute.Tensor, mZ: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    layout = cute.make_layout((32, 32), stride=(32, 1))
    layout = cute.make_composed_layout(cute.make_swizzle(5, 0, 5), 0, layout)  # column ^ row
    smem = cutlass.memory.SmemAllocator()
    sZ = smem.allocate_tensor(Float32, layout, 128)
    for k in cutlass.range_constexpr(0, 32, 8):
        row, col = bx * 32 + ty + k, by * 32 + tx
        if row < N and col < M:
            sZ[ty + k, tx] = mZ[row, col]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 32, 8):
        row, col = by * 32 + ty + k, bx * 32 + tx
        if row < M and col < N:
            mY[row, col] = mX[row, col] + sZ[tx, ty + k]
    # [/fill]


@cute.jit
def add_transposed(mX: cute.Tensor, mZ: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
    add_transposed_kernel(mX, mZ, mY).launch(grid=grid, block=(32, 8, 1))
    # [/fill]
