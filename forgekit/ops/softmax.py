"""Define `softmax(x, dim)` and `softmax_backward(grad, y, dim)`, and register them with PyTorch."""

from __future__ import annotations

import functools
from typing import Any

from torch import Tensor

from forgekit import ref
from forgekit.errors import usage_error
from forgekit.ops.backends import backend_names
from forgekit.ops.checks import check_tensor, normal_dim
from forgekit.ops.operators import Operator
from forgekit.ops.reduce import reduce_sum
from forgekit.ops.reductions import check_operand, launcher


def softmax(
    x: Tensor, dim: int = -1, *, variant: str | None = None, backend: str | None = None
) -> Tensor:
    """Return exp(x) divided by its sums along dim: a new contiguous tensor with x's shape and
    dtype.

    x: float16, bfloat16 or float32, of any shape and strides. The softmax is computed in float32
    from x minus the maximum along dim, and rounded once; results for infinities and NaN are the
    same as torch's. dim: the dimension, counted from 0, or backwards from -1. variant: the kernel,
    "three_pass", "two_pass", "online", "vectorized" or "cluster"; by default the fastest for the
    tensor. backend: see `forgekit.ops.use_backend`.

    For a tensor on a GPU, the kernel runs there, on the current stream; for a tensor on the CPU,
    the same kernel runs on the virtual GPU. Gradients of any order use the same backend's
    `softmax_backward`. The operator never falls back to torch. Forward mode and torch.func.grad
    raise UsageError, because PyTorch does not support them for operators written in Python.
    torch.func.vmap computes one slice at a time.

    Raises:
        UsageError: x is not a strided tensor or is a dual tensor, its dtype is unsupported, no
            kernel runs on its device, or the dim, variant or backend does not exist; at
            `backward()`, the backend has no gradient.
        PlatformError: the GPU's compute capability is below 8.0.
    """
    if type(dim) is not int:  # the cache would treat 1 and True as equal
        check_operand("softmax", x, dim, variant)
        dim = normal_dim(dim, x.dim())
    return _softmax.call(x, (dim, variant), backend)


def softmax_backward(
    grad: Tensor,
    y: Tensor,
    dim: int = -1,
    *,
    variant: str | None = None,
    backend: str | None = None,
) -> Tensor:
    """Return y * (grad - sum of grad * y along dim), the gradient with respect to x for y =
    softmax(x, dim).

    grad is the gradient with respect to y; both tensors have the same shape, dtype and device. The
    dtypes, strides, dim, variants, backends and errors are the same as for `softmax`. The result is
    a new contiguous tensor.
    """
    if type(dim) is not int:
        _check_pair(grad, y, dim, variant)
        dim = normal_dim(dim, y.dim())
    return _softmax_backward.call(grad, (dim, variant), backend, y)


# -- softmax ---------------------------------------------------------------------------------
def _backward(ctx: Any, grad: Tensor, y: Tensor) -> tuple[Tensor]:
    if ctx.backend is not None and ctx.backend not in backend_names("softmax_backward"):
        what = f"gradient of softmax by the backend {ctx.backend!r}"
        remedy = f'forgekit.ops.register_backend("softmax_backward", "{ctx.backend}", …) adds one'
        raise usage_error(what, "no backward", "a gradient registered with that backend", remedy)
    return (softmax_backward(grad, y, ctx.options[0], backend=ctx.backend),)


_softmax = Operator(
    "softmax",
    "(Tensor x, int dim=-1, str? variant=None, str? backend=None) -> Tensor",
    reference=ref.softmax,
    check=functools.partial(check_operand, "softmax"),
    launcher=launcher,
    keep=lambda x, y: (y,),
    backward=_backward,
)


# -- its gradient ----------------------------------------------------------------------------
def _check_pair(grad: Any, y: Any, dim: object, variant: object) -> None:
    check_tensor(grad, "grad")
    check_operand("softmax_backward", y, dim, variant, "y")
    if grad.shape != y.shape:
        remedy = "use grad.expand(y.shape) if it must be repeated"
        needed = f"{tuple(y.shape)}, like y"
        raise usage_error("grad.shape", tuple(grad.shape), needed, remedy)
    for what in ("dtype", "device"):
        got, needed = getattr(grad, what), getattr(y, what)
        if got != needed:
            remedy = f"use grad.to(y.{what})"
            raise usage_error(f"grad.{what}", got, f"{needed}, like y", remedy)


def _double_backward(
    ctx: Any, v: Tensor, grad: Tensor, y: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """Differentiate the gradient. With s = sum of grad * y, dx_i = y_i (grad_i - s). The derivative
    with respect to grad therefore has the same formula as dx; the derivative with respect to y_j is
    v_j (grad_j - s) - grad_j * sum of v * y."""
    for_grad = for_y = None
    if ctx.needs_input_grad[0]:
        for_grad = softmax_backward(v, y, ctx.options[0], backend=ctx.backend)
    if ctx.needs_input_grad[1]:
        v32, grad32, y32 = v.float(), grad.float(), y.float()
        kept = v32 * (grad32 - _sum(grad32 * y32, ctx)) - grad32 * _sum(v32 * y32, ctx)
        for_y = kept.to(y.dtype)
    return for_grad, for_y


def _sum(x: Tensor, ctx: Any) -> Tensor:
    backend = ctx.backend if ctx.backend in (None, "kernel") else "ref"
    return reduce_sum(x, ctx.options[0], True, backend=backend)


_softmax_backward = Operator(
    "softmax_backward",
    "(Tensor grad, Tensor y, int dim=-1, str? variant=None, str? backend=None) -> Tensor",
    reference=ref.softmax_backward,
    check=_check_pair,
    launcher=launcher,
    keep=lambda grad, y, dx: (grad, y),
    backward=_double_backward,
    operands=2,
)
