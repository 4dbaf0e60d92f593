"""Define `reduce_sum(x, dim)`, the sum along a dimension, and register it with PyTorch."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from forgekit import ref
from forgekit.errors import brief, usage_error
from forgekit.ops.checks import normal_dim
from forgekit.ops.operators import Operator
from forgekit.ops.reductions import check_operand, launcher


def reduce_sum(
    x: Tensor,
    dim: int = -1,
    keepdim: bool = False,
    *,
    variant: str | None = None,
    backend: str | None = None,
) -> Tensor:
    """Return the sums of x along dim: a new contiguous tensor with x's dtype and x's shape without
    dim.

    x: float16, bfloat16 or float32, of any shape and strides. The sums are accumulated in float32,
    in an order that depends only on x's shape, strides and address, and rounded once; the same call
    therefore returns the same bits. An empty sum is 0; the sum of a tensor without dimensions is
    its value. dim: the dimension, counted from 0, or backwards from -1. keepdim: True to keep dim,
    with size 1. variant: the kernel, "naive", "smem", "shuffle", "vectorized" or "split"; by
    default the fastest for the tensor. backend: see `forgekit.ops.use_backend`.

    For a tensor on a GPU, the kernel runs there, on the current stream; for a tensor on the CPU,
    the same kernel runs on the virtual GPU. The operator supports gradients of any order and never
    falls back to torch. Forward mode and torch.func.grad raise UsageError, because PyTorch does not
    support them for operators written in Python. torch.func.vmap computes one slice at a time.

    Raises:
        UsageError: x is not a strided tensor or is a dual tensor, its dtype is unsupported, no
            kernel runs on its device, or the dim, variant or backend does not exist.
        PlatformError: the GPU's compute capability is below 8.0.
    """
    if type(dim) is not int or type(keepdim) is not bool:
        _check(x, dim, keepdim, variant)  # the cache would treat 1 and True as equal
        dim = normal_dim(dim, x.dim())
    return _reduce_sum.call(x, (dim, keepdim, variant), backend)


def _check(x: Any, dim: object, keepdim: object, variant: object) -> None:
    check_operand("reduce_sum", x, dim, variant)
    if not isinstance(keepdim, bool):
        remedy = "leave it out to drop the dimension"
        raise usage_error("keepdim", brief(keepdim), "True or False", remedy)


def _reduced(
    shape: tuple[int, ...], dim: int, keepdim: bool, variant: str | None
) -> tuple[int, ...]:
    """Return the shape of the result."""
    if not shape:
        return ()
    axis = normal_dim(dim, len(shape))
    return (*shape[:axis], *((1,) if keepdim else ()), *shape[axis + 1 :])


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor]:
    dim, keepdim, _ = ctx.options
    if not keepdim and ctx.shape:
        grad = grad.unsqueeze(normal_dim(dim, len(ctx.shape)))
    return (grad.expand(ctx.shape),)


_reduce_sum = Operator(
    "reduce_sum",
    "(Tensor x, int dim=-1, bool keepdim=False, str? variant=None, str? backend=None) -> Tensor",
    reference=ref.reduce_sum,
    check=_check,
    launcher=launcher,
    result_shape=_reduced,
    backward=_backward,
)
