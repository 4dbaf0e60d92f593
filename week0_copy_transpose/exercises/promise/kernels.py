"""Define the kernel that is compiled with a promise."""

from __future__ import annotations

import cutlass
import cutlass.cute as cute


@cute.kernel
def _by_vectors_kernel(mX: cute.Tensor, mY: cute.Tensor, width: cutlass.Constexpr) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    vector = bidx * 32 + tidx
    if vector * width < mX.shape[1]:
        gX = cute.local_tile(mX, (1, width), (bidy, vector))  # (1,Width)
        gY = cute.local_tile(mY, (1, width), (bidy, vector))  # (1,Width)
        gY.store(gX.load())


@cute.jit
def by_vectors(mX: cute.Tensor, mY: cute.Tensor) -> None:
    width = 128 // mX.element_type.width
    grid = (cute.ceil_div(mX.shape[1], 32 * width), mX.shape[0], 1)
    _by_vectors_kernel(mX, mY, width).launch(grid=grid, block=(32, 1, 1))
