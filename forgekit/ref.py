"""Reference implementations of the operators in PyTorch, for tests and benchmarks.

They compute in float64, so rounding errors, which depend on the CPU's order of additions, are far
below every tolerance.
"""

from __future__ import annotations

import torch

from forgekit.arguments import checked, dense
from forgekit.errors import usage_error

__all__ = ["copy_transpose", "reduce_sum", "softmax", "softmax_backward"]


@checked()
def copy_transpose(x: torch.Tensor) -> torch.Tensor:
    """Return x.t() as a new contiguous tensor (N, M), for x (M, N) of any dtype and strides."""
    if dense("x", x, meta=True).dim() != 2:
        got, remedy = f"{x.dim()} dimensions", "reshape it, or transpose slice by slice"
        raise usage_error("x", got, "2", remedy)
    return x.t().clone(memory_format=torch.contiguous_format)


@checked()
def reduce_sum(x: torch.Tensor, dim: int = -1, keepdim: bool = False) -> torch.Tensor:
    """Return the sums of x along dim as a new contiguous tensor, for x of any shape, strides and
    float type.

    The sums are added in float64 and rounded once to x's type.
    """
    dim = _row_wise(dim, x=x)
    return torch.sum(x, dim, keepdim, dtype=torch.float64).to(x.dtype).contiguous()


@checked()
def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return exp(x) / sum of exp(x) along dim as a new contiguous tensor, for x of any shape,
    strides and float type.

    The values are computed in float64 and rounded once to x's type.
    """
    dim = _row_wise(dim, x=x)
    return torch.softmax(x, dim, dtype=torch.float64).to(x.dtype).contiguous()


@checked()
def softmax_backward(grad: torch.Tensor, y: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return y * (grad - sum of grad * y along dim), the gradient with respect to x if grad is the
    gradient with respect to y = softmax(x).

    grad and y have the same shape and float type, with any strides; the result is new and
    contiguous, computed in float64 and rounded once.
    """
    dim = _row_wise(dim, grad=grad, y=y)
    wide_grad, wide_y = grad.double(), y.double()
    dot = torch.sum(wide_grad * wide_y, dim, keepdim=True)
    return (wide_y * (wide_grad - dot)).to(y.dtype).contiguous()


def _row_wise(dim: int, **tensors: torch.Tensor) -> int:
    """Return `dim` as a nonnegative index. Check that the tensors contain floats, have the same
    shape, and have this dimension.

    Raises:
        UsageError: the tensors are not of the same shape and of float types, or lack this
            dimension.
    """
    first = next(iter(tensors.values()))
    for name, x in tensors.items():
        if not dense(name, x, meta=True).is_floating_point() or x.dtype.itemsize < 2:
            needed = "floats of 16 bits or more"
            raise usage_error(name, x.dtype, needed, f"use {name}.float()")
        if x.shape != first.shape:
            got, needed = tuple(x.shape), f"the other tensor's shape, {tuple(first.shape)}"
            raise usage_error(f"shape of {name}", got, needed, "pass tensors of equal shape")
    sizes = max(first.dim(), 1)
    if not -sizes <= dim < sizes:
        needed = f"a dimension from {-sizes} to {sizes - 1}"
        raise usage_error("dim", dim, needed, "use -1 for the last dimension")
    return dim % sizes
