"""Solution to week0/mirror_rows."""

import cutlass
import cutlass.cute as cute


# [fill]
#| @cute.kernel
#| def mirror_kernel(mX: cute.Tensor, mY: cute.Tensor):
#|     tidx, _, _ = cute.arch.thread_idx()
#|     bidx, _, _ = cute.arch.block_idx()
#|     M, N = mX.shape
#|     i = bidx * 256 + tidx
#|     if i < M * N:
#|         row, col = i // N, i % N
#|         mY[row, N - 1 - col] = mX[row, col]
#|
#|
#| @cute.jit
#| def mirror_rows(mX: cute.Tensor, mY: cute.Tensor):
#|     blocks = cute.ceil_div(cute.size(mX), 256)
#|     mirror_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))
@cute.kernel
def mirror_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    gX = cute.zipped_divide(mX, (1, 8))  # ((1,8),(M,N/8))
    gY = cute.zipped_divide(mY, (1, 8))  # ((1,8),(M,N/8))
    M, vectors = gX.shape[1]
    i = bidx * 256 + tidx
    if i < M * vectors:
        row, v = i // vectors, i % vectors
        rX = cute.make_rmem_tensor(8, mX.element_type)
        rY = cute.make_rmem_tensor(8, mX.element_type)
        cute.autovec_copy(gX[(0, None), (row, v)], rX)
        for k in cutlass.range_constexpr(8):
            rY[k] = rX[7 - k]
        cute.autovec_copy(rY, gY[(0, None), (row, vectors - 1 - v)])


@cute.jit
def mirror_rows(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(cute.size(mX), 8 * 256)
    mirror_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(256, 1, 1))


# [/fill]
