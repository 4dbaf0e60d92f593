"""Define small kernels for tests of compilation and calls."""

import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream

THREADS = 64


@cute.kernel
def add_kernel(mX: cute.Tensor, mY: cute.Tensor, value: cutlass.Float32):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * THREADS + tidx
    if i < mX.shape[0]:
        mY[i] = mX[i] + value


@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor):
    add_kernel(mX, mY, cutlass.Float32(0.0)).launch(
        grid=(cute.ceil_div(mX.shape[0], THREADS), 1, 1), block=(THREADS, 1, 1)
    )


@cute.jit
def add(mX: cute.Tensor, mY: cute.Tensor, value: cutlass.Float32):
    add_kernel(mX, mY, value).launch(
        grid=(cute.ceil_div(mX.shape[0], THREADS), 1, 1), block=(THREADS, 1, 1)
    )


@cute.jit
def add_on_stream(mX: cute.Tensor, mY: cute.Tensor, stream: CUstream):
    add_kernel(mX, mY, cutlass.Float32(2.0)).launch(
        grid=(cute.ceil_div(mX.shape[0], THREADS), 1, 1), block=(THREADS, 1, 1), stream=stream
    )


@cute.jit
def launches_nothing(mX: cute.Tensor, mY: cute.Tensor):
    pass


@cute.kernel
def repeat_kernel(mX: cute.Tensor, mY: cute.Tensor, times: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    for k in cutlass.range_constexpr(times):
        mY[tidx + k * 8] = mX[tidx]


@cute.jit
def repeat(mX: cute.Tensor, mY: cute.Tensor, times: cutlass.Constexpr = 2):
    repeat_kernel(mX, mY, times).launch(grid=(1, 1, 1), block=(8, 1, 1))


@cute.kernel
def transpose_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    row, column = by * 8 + ty, bx * 8 + tx
    if row < mX.shape[0] and column < mX.shape[1]:
        mY[column, row] = mX[row, column]


@cute.jit
def transpose(mX: cute.Tensor, mY: cute.Tensor):
    M, N = mX.shape
    transpose_kernel(mX, mY).launch(
        grid=(cute.ceil_div(N, 8), cute.ceil_div(M, 8), 1), block=(8, 8, 1)
    )


@cute.jit
def copy_optional(mX: cute.Tensor, mY: cute.Tensor, mB: cute.Tensor | None = None):
    if cutlass.const_expr(mB is None):
        copy(mX, mY)
    else:
        copy(mB, mY)


class Scale:
    """A kernel in a class, with its configuration in the constructor."""

    def __init__(self, factor: float, threads: int = 32):
        self.factor = factor
        self.threads = threads

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor):
        self.kernel(mX, mY).launch(
            grid=(cute.ceil_div(mX.shape[0], self.threads), 1, 1), block=(self.threads, 1, 1)
        )

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor):
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        i = bidx * self.threads + tidx
        if i < mX.shape[0]:
            mY[i] = mX[i] * self.factor
