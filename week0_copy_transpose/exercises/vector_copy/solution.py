"""Solution to week0/vector_copy."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def vector_copy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    vec = cutlass.const_expr(128 // mX.element_type.width)  # elements in 16 bytes
    n = mX.shape[0]
    gX = cute.zipped_divide(mX, (vec,))  # ((Vec),(Rest))
    gY = cute.zipped_divide(mY, (vec,))  # ((Vec),(Rest))
    i = bidx * 128 + tidx
    # [fill]
    #| if i < cute.size(gX, mode=[1]):
    #|     gY[(None, i)].store(gX[(None, i)].load())
    if i < n // vec:
        gY[(None, i)].store(gX[(None, i)].load())
    if i < n % vec:
        mY[n // vec * vec + i] = mX[n // vec * vec + i]
    # [/fill]


@cute.jit
def vector_copy(mX: cute.Tensor, mY: cute.Tensor):
    vec = cutlass.const_expr(128 // mX.element_type.width)
    blocks = cute.ceil_div(cute.ceil_div(mX.shape[0], vec), 128)
    vector_copy_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
