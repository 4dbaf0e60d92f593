"""Solution to week0/transpose_registers."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def registers_kernel(mX: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    i, j = by * 4 + tidx // 8, bx * 8 + tidx % 8
    if i * 8 < M and j * 8 < N:
        gX = cute.local_tile(mX, (8, 8), (i, j))  # (8,8)
        gY = cute.local_tile(mY, (8, 8), (j, i))  # (8,8)
        square = cute.make_layout((8, 8), stride=(8, 1))
        rX = cute.make_rmem_tensor(square, mX.element_type)
        rY = cute.make_rmem_tensor(square, mX.element_type)
        for r in cutlass.range_constexpr(8):
            cute.autovec_copy(gX[r, None], rX[r, None])
        for r in cutlass.range_constexpr(8):
            for c in cutlass.range_constexpr(8):
                rY[c, r] = rX[r, c]
        for c in cutlass.range_constexpr(8):
            cute.autovec_copy(rY[c, None], gY[c, None])
    # [/fill]


@cute.jit
def transpose_registers(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32), 1)
    registers_kernel(mX, mY).launch(grid=grid, block=(32, 1, 1))
