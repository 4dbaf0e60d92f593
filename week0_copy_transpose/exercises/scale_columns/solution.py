"""Solution to week0/scale_columns."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def scale_columns_kernel(
    mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor, width: cutlass.Constexpr
):
    # [fill]
    #| pass
    tidx, _, _ = cute.arch.thread_idx()
    bidx, row, _ = cute.arch.block_idx()
    k = bidx * 128 + tidx
    if k * width < mX.shape[1]:
        gX = cute.local_tile(mX[row, None], (width,), (k,))  # (Width)
        gW = cute.local_tile(mW, (width,), (k,))  # (Width)
        gY = cute.local_tile(mY[row, None], (width,), (k,))  # (Width)
        gY.store(gX.load() * gW.load())
    # [/fill]


@cute.jit
def scale_columns(mX: cute.Tensor, mW: cute.Tensor, mY: cute.Tensor):
    # [fill]
    #| pass
    width = 128 // mX.element_type.width
    grid = (cute.ceil_div(mX.shape[1], 128 * width), mX.shape[0], 1)
    scale_columns_kernel(mX, mW, mY, width).launch(grid=grid, block=(128, 1, 1))
    # [/fill]
