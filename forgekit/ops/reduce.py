"""`reduce_sum(x, dim)`: sums along one dimension by forgekit's own kernels; and its operator.

    y = forgekit.ops.reduce_sum(x, dim=-1)                 # the function
    y = torch.ops.forgekit.reduce_sum(x, -1)               # the operator: for torch.compile, export

The function launches directly, without PyTorch's dispatcher, unless something needs that one (see
`dispatching.plain`). What does not depend on the values is worked out once for each kind of call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_compiling

from forgekit.errors import UsageError, brief, got_needed
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.backends import (
    chosen,
    computed_by,
    current_backend,
    defaults,
    other_than_kernel,
)
from forgekit.ops.dispatching import (
    batched,
    check_float,
    check_tensor,
    check_variant,
    contiguous_stride,
    normal_dim,
    plain,
    quiet,
    recorder,
    virtual_arch,
)
from forgekit.ops.reduce_launch import VARIANTS, launcher

__all__ = ["reduce_sum"]

Run = Callable[[Tensor, Tensor], None]


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
    if is_compiling() or not plain(x):
        if not is_compiling():  # else the operator's fake checks: Dynamo traces no exception
            if quiet(x):
                return _recorded(x, dim, keepdim, variant, backend)
            _check(x, dim, keepdim, variant)
            current_backend("reduce_sum", backend)
        result: Tensor = torch.ops.forgekit.reduce_sum(x, dim, keepdim, variant, backend)
        return result
    return _run(x, dim, keepdim, variant, backend)


def _run(x: Tensor, dim: int, keepdim: bool, variant: str | None, backend: str | None) -> Tensor:
    """Allocate and launch. One dictionary look-up decides: host time counts for small tensors."""
    if backend is not None or chosen.get() or defaults:
        function = other_than_kernel("reduce_sum", backend, variant)
        if function is not None:
            _check(x, dim, keepdim)
            shape, axis = _reduced(tuple(x.shape), dim, keepdim), normal_dim(dim, x.dim())
            return computed_by(function, "reduce_sum", shape, x, axis, keepdim)
    try:
        if type(dim) is not int or type(keepdim) is not bool:  # in a dictionary True is equal to 1
            _check(x, dim, keepdim, variant)
            dim = normal_dim(dim, x.dim())
        arch = None if x.is_cuda else virtual_arch(x)
        address = x.data_ptr() % VECTOR_BYTES
        plan = _plan(x.dtype, arch, x.shape, x.stride(), address, dim, keepdim, variant)
    except (RuntimeError, TypeError, ValueError):
        if batched(x):
            result: Tensor = torch.ops.forgekit.reduce_sum(x, dim, keepdim, variant, backend)
            return result
        _check(x, dim, keepdim, variant)  # says it in the user's terms
        raise
    run, shape, stride = plan
    y = x.new_empty_strided(shape, stride)
    if run is not None:
        run(x.resolve_neg() if x.is_neg() else x, y)
    return y


@functools.lru_cache(maxsize=4096)
def _plan(
    dtype: torch.dtype,
    arch: str | None,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    address: int,
    dim: int,
    keepdim: bool,
    variant: str | None,
) -> tuple[Run | None, tuple[int, ...], tuple[int, ...]]:
    """What fills y from such an x (None: y has no elements), and y's shape and strides."""
    check_float(dtype)
    axis, result = normal_dim(dim, len(shape)), _reduced(shape, dim, keepdim)
    fill: Run | None
    if shape:
        fill = launcher(dtype, arch, tuple(shape), stride, address, axis, variant)
        fill = _without_dim(fill, result, axis) if fill and keepdim else fill
    else:  # the one element is a row
        row = launcher(dtype, arch, (1,), (1,), address, 0, variant)
        fill = row and (lambda x, y: row(x.view(1), y))
    return fill, result, contiguous_stride(result)


def _without_dim(run: Run, shape: tuple[int, ...], axis: int) -> Run:
    """run, given y without the dimension of size 1 that its shape has."""
    stride = contiguous_stride(shape)
    flat = shape[:axis] + shape[axis + 1 :], stride[:axis] + stride[axis + 1 :]
    return lambda x, y: run(x, y.as_strided(*flat))  # quicker than y.squeeze(axis)


def _reduced(shape: tuple[int, ...], dim: int, keepdim: bool) -> tuple[int, ...]:
    """The shape of the result."""
    if not shape:
        return ()
    axis = normal_dim(dim, len(shape))
    return (*shape[:axis], *((1,) if keepdim else ()), *shape[axis + 1 :])


def _check(x: object, dim: object, keepdim: object, variant: object = None) -> None:
    """Raise UsageError, with what was got, what is needed and a remedy, for what cannot be done."""
    check_tensor(x)
    assert isinstance(x, Tensor)
    check_float(x.dtype)
    normal_dim(dim, x.dim())
    if not isinstance(keepdim, bool):
        remedy = "leave it out to drop the dimension"
        raise UsageError(got_needed("keepdim", brief(keepdim), "True or False", remedy))
    check_variant(variant, VARIANTS)


_SCHEMA = (
    "(Tensor x, int dim=-1, bool keepdim=False, str? variant=None, str? backend=None) -> Tensor"
)


@torch.library.custom_op("forgekit::reduce_sum", mutates_args=(), schema=_SCHEMA)
def _operator(
    x: Tensor,
    dim: int = -1,
    keepdim: bool = False,
    variant: str | None = None,
    backend: str | None = None,
) -> Tensor:
    return _run(x, dim, keepdim, variant, backend)


@_operator.register_fake
def _(
    x: Tensor,
    dim: int = -1,
    keepdim: bool = False,
    variant: str | None = None,
    backend: str | None = None,
) -> Tensor:
    _check(x, dim, keepdim, variant)
    return x.new_empty(_reduced(tuple(x.shape), dim, keepdim))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, dim, keepdim, *_ = inputs
    ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
    if not ctx.keepdim and ctx.shape:
        grad = grad.unsqueeze(normal_dim(ctx.dim, len(ctx.shape)))
    return grad.expand(ctx.shape), None, None, None, None


_recorded = recorder(_run, _remember, _backward)
_operator.register_autograd(_backward, setup_context=_remember)
