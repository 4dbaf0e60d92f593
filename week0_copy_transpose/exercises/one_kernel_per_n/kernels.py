"""Define two functions whose compiled kernels the cache holds."""

from __future__ import annotations

import cutlass
import cutlass.cute as cute


@cute.kernel
def _times_kernel(mX: cute.Tensor, mY: cute.Tensor, factor: cutlass.Constexpr) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    row, col = bidy, bidx * 64 + tidx
    if col < mX.shape[1]:
        mY[row, col] = (factor * mX[row, col]).to(mY.element_type)


@cute.jit
def double(mX: cute.Tensor, mY: cute.Tensor) -> None:
    grid = (cute.ceil_div(mX.shape[1], 64), mX.shape[0], 1)
    _times_kernel(mX, mY, 2).launch(grid=grid, block=(64, 1, 1))


@cute.jit
def triple(mX: cute.Tensor, mY: cute.Tensor) -> None:
    grid = (cute.ceil_div(mX.shape[1], 64), mX.shape[0], 1)
    _times_kernel(mX, mY, 3).launch(grid=grid, block=(64, 1, 1))
