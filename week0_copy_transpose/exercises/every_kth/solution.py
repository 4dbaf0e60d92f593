"""Solution to week0/every_kth."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def every_kth_kernel(mX: cute.Tensor, k: cutlass.Constexpr, mY: cute.Tensor):
    # [fill]
    #| pass
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    i, j = by * 8 + ty, bx * 32 + tx
    vec = cutlass.const_expr(128 // mX.element_type.width)
    if cutlass.const_expr(k < vec):
        gX = cute.zipped_divide(mX, (1, vec))  # ((1,Vec),(M,N/Vec))
        gY = cute.zipped_divide(mY, (1, vec // k))  # ((1,Vec/k),(M,N/Vec))
        if i < mX.shape[0] and j < mX.shape[1] // vec:
            rX = cute.make_rmem_tensor(vec, mX.element_type)
            rY = cute.make_rmem_tensor(vec // k, mX.element_type)
            cute.autovec_copy(gX[(0, None), (i, j)], rX)
            for v in cutlass.range_constexpr(vec // k):
                rY[v] = rX[v * k]
            cute.autovec_copy(rY, gY[(0, None), (i, j)])
    elif i < mY.shape[0] and j < mY.shape[1]:
        mY[i, j] = mX[i, j * k]
    # [/fill]


@cute.jit
def every_kth(mX: cute.Tensor, k: cutlass.Constexpr, mY: cute.Tensor):
    # [fill]
    #| pass
    vec = cutlass.const_expr(128 // mX.element_type.width)
    columns = mX.shape[1] // cutlass.const_expr(max(k, vec))
    grid = (cute.ceil_div(columns, 32), cute.ceil_div(mX.shape[0], 8), 1)
    every_kth_kernel(mX, k, mY).launch(grid=grid, block=(32, 8, 1))
    # [/fill]
