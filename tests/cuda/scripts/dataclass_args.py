"""Tensors within a NamedTuple argument; Constexpr choices; a kernel called from a jit function."""

from typing import NamedTuple

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


class Operands(NamedTuple):
    a: cute.Tensor
    b: cute.Tensor


@cute.kernel
def dot_kernel(operands: Operands, mOut: cute.Tensor, squared: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    value = operands.a[lane] * operands.b[lane]
    if cutlass.const_expr(squared):
        value = value * value
    value = cute.arch.warp_reduction_sum(value)
    if lane == 0:
        mOut[0] = value


@cute.jit
def launch(operands: Operands, mOut: cute.Tensor, squared: cutlass.Constexpr):
    dot_kernel(operands, mOut, squared).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.jit
def dot(operands: Operands, mOut: cute.Tensor, squared: cutlass.Constexpr[bool] = False):
    launch(operands, mOut, squared)


a, b = torch.randn(2, 32, device="cuda").unbind()
out = torch.zeros(1, device="cuda")
for squared in (False, True):
    dot(Operands(from_dlpack(a), from_dlpack(b)), from_dlpack(out), squared)
    product = (a * b) ** (2 if squared else 1)
    torch.testing.assert_close(out[0], product.sum(), atol=1e-5, rtol=1e-5)
