"""Define a kernel in a module whose annotations are strings."""

from __future__ import annotations

import cutlass
import cutlass.cute as cute


@cute.kernel
def kernel(mX: cute.Tensor, mY: cute.Tensor, value: cutlass.Float32, op: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = op(mX[tidx], value)


@cute.jit
def apply(mX: cute.Tensor, mY: cute.Tensor, value: cutlass.Float32, op: cutlass.Constexpr):
    kernel(mX, mY, value, op).launch(grid=(1, 1, 1), block=(8, 1, 1))
