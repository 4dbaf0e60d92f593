"""`reduce_sum(x, dim)`: sums along one dimension by forgekit's own kernels; and its operator."""

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
    """The sums of x along dim: a new contiguous tensor of x's dtype, x's shape without dim.

    x: float16, bfloat16 or float32, of any shape and strides; added in float32 and rounded once,
    in an order that x's shape, strides and address decide: the same call gives the same bits.
    Where there is nothing to add the sum is 0; a tensor without dimensions is its own sum. dim:
    counts from 0, or from -1 backwards. keepdim: dim stays, with size 1. variant: the kernel,
    "naive", "smem", "shuffle", "vectorized" or "split"; the fastest for the tensor if left out.
    backend: who computes, see `forgekit.ops.use_backend`.

    On a GPU the kernel runs there, on the current stream; a tensor on the CPU is computed by the
    same kernel on the virtual GPU. Gradients of any order flow through it. It never falls back on
    torch. Refused is what PyTorch has not for operators written in Python: forward mode and
    torch.func.grad. torch.func.vmap computes slice by slice.

    Raises:
        UsageError: not a strided tensor, another dtype, no such dim, variant or backend, a device
            where no kernel runs, a dual tensor.
        PlatformError: a GPU older than compute capability 8.0.
    """
    if type(dim) is not int or type(keepdim) is not bool:
        _check(x, dim, keepdim, variant)  # True is equal to 1 where calls are looked up
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
    """The shape of the result."""
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
