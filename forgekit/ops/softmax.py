"""`softmax(x, dim)` and `softmax_backward(grad, y, dim)` by forgekit's own kernels; and operators.

    y = forgekit.ops.softmax(x, dim=-1)                    # the function
    y = torch.ops.forgekit.softmax(x, -1)                  # the operator: for torch.compile, export

The functions launch directly, without PyTorch's dispatcher, unless something needs that one (see
`dispatching.plain`). What does not depend on the values is worked out once for each kind of call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_compiling

from forgekit.errors import UsageError, got_needed
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.backends import (
    backend_names,
    chosen,
    computed_by,
    current_backend,
    defaults,
    other_than_kernel,
    remembered,
)
from forgekit.ops.dispatching import (
    batched,
    check_float,
    check_tensor,
    check_variant,
    contiguous_stride,
    normal_dim,
    plain,
    plain_pair,
    quiet,
    recorder,
    virtual_arch,
)
from forgekit.ops.reduce import reduce_sum
from forgekit.ops.softmax_launch import VARIANTS, backward_launcher, launcher

__all__ = ["softmax", "softmax_backward"]

Run = Callable[[Tensor, Tensor], None]
BackwardRun = Callable[[Tensor, Tensor, Tensor], None]


def softmax(
    x: Tensor, dim: int = -1, *, variant: str | None = None, backend: str | None = None
) -> Tensor:
    """exp(x) divided by its sums along dim: a new contiguous tensor of x's shape and dtype.

    x: float16, bfloat16 or float32, of any shape and strides; computed in float32 from x less the
    largest along dim, and rounded once. Infinities and NaN give what torch gives. dim: counts from
    0, or from -1 backwards. variant: the kernel, "three_pass", "two_pass", "online", "vectorized"
    or "cluster"; the fastest for the tensor if left out. backend: who computes, see
    `forgekit.ops.use_backend`.

    On a GPU the kernel runs there, on the current stream; a tensor on the CPU is computed by the
    same kernel on the virtual GPU. Gradients of any order flow through it, by `softmax_backward`
    of the same backend. It never falls back on torch. Refused is what PyTorch has not for
    operators written in Python: forward mode and torch.func.grad. torch.func.vmap computes slice
    by slice.

    Raises:
        UsageError: not a strided tensor, another dtype, no such dim, variant or backend, a device
            where no kernel runs, a dual tensor; at `backward()`: a backend without one.
        PlatformError: a GPU older than compute capability 8.0.
    """
    if is_compiling() or not plain(x):
        if not is_compiling():  # else the operator's fake checks: Dynamo traces no exception
            if quiet(x):
                return _recorded(x, dim, variant, backend)
            _check(x, dim, variant)
            current_backend("softmax", backend)
        result: Tensor = torch.ops.forgekit.softmax(x, dim, variant, backend)
        return result
    return _run(x, dim, variant, backend)


def softmax_backward(
    grad: Tensor,
    y: Tensor,
    dim: int = -1,
    *,
    variant: str | None = None,
    backend: str | None = None,
) -> Tensor:
    """y * (grad - sum of grad * y along dim): the gradient of x, from that of y = softmax(x, dim).

    grad, y: of one shape, dtype and device; types, strides, dim, variants, backends and what is
    raised as for `softmax`. The result is new and contiguous.
    """
    if is_compiling() or not plain_pair(grad, y):
        if not is_compiling():
            if quiet(grad, y):
                return _recorded_backward(grad, y, dim, variant, backend)
            _check_pair(grad, y, dim, variant)
            current_backend("softmax_backward", backend)
        result: Tensor = torch.ops.forgekit.softmax_backward(grad, y, dim, variant, backend)
        return result
    return _run_backward(grad, y, dim, variant, backend)


# -- the launches ----------------------------------------------------------------------------
def _run(x: Tensor, dim: int, variant: str | None, backend: str | None) -> Tensor:
    """Allocate and launch. One dictionary look-up decides: host time counts for small tensors."""
    if backend is not None or chosen.get() or defaults:
        function = other_than_kernel("softmax", backend, variant)
        if function is not None:
            _check(x, dim)
            return computed_by(function, "softmax", x.shape, x, normal_dim(dim, x.dim()))
    try:
        if type(dim) is not int:  # True is equal to 1 in a dictionary
            dim = normal_dim(dim, x.dim())
        arch = None if x.is_cuda else virtual_arch(x)
        address = x.data_ptr() % VECTOR_BYTES
        run, empty = _plan(x.dtype, arch, x.shape, x.stride(), address, dim, variant)
    except (RuntimeError, TypeError, ValueError):
        if batched(x):
            result: Tensor = torch.ops.forgekit.softmax(x, dim, variant, backend)
            return result
        _check(x, dim, variant)  # says it in the user's terms
        raise
    y = empty(x)
    if run is not None:
        run(x.resolve_neg() if x.is_neg() else x, y)
    return y


def _run_backward(
    grad: Tensor, y: Tensor, dim: int, variant: str | None, backend: str | None
) -> Tensor:
    """As `_run`."""
    if backend is not None or chosen.get() or defaults:
        function = other_than_kernel("softmax_backward", backend, variant)
        if function is not None:
            _check_pair(grad, y, dim)
            axis = normal_dim(dim, y.dim())
            return computed_by(function, "softmax_backward", y.shape, grad, y, axis)
    try:
        if type(dim) is not int:
            dim = normal_dim(dim, y.dim())
        if grad.dtype is not y.dtype or grad.get_device() != y.get_device():
            _check_pair(grad, y, dim)
        arch = None if y.is_cuda else virtual_arch(y)
        run, empty = _backward_plan(
            y.dtype, arch, grad.shape, y.shape, grad.stride(), y.stride(),
            grad.data_ptr() % VECTOR_BYTES, y.data_ptr() % VECTOR_BYTES, dim, variant,
        )  # fmt: skip
    except (RuntimeError, TypeError, ValueError):
        if batched(grad) or batched(y):
            result: Tensor = torch.ops.forgekit.softmax_backward(grad, y, dim, variant, backend)
            return result
        _check_pair(grad, y, dim, variant)
        raise
    dx = empty(y)
    if run is not None:
        run(
            grad.resolve_neg() if grad.is_neg() else grad,
            y.resolve_neg() if y.is_neg() else y,
            dx,
        )
    return dx


@functools.lru_cache(maxsize=4096)
def _plan(
    dtype: torch.dtype,
    arch: str | None,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    address: int,
    dim: int,
    variant: str | None,
) -> tuple[Run | None, Callable[[Tensor], Tensor]]:
    """What fills y from such an x (None: it has no elements), and what allocates y for x."""
    check_float(dtype)
    axis, result = normal_dim(dim, len(shape)), tuple(shape)
    fill: Run | None
    if shape:
        fill = launcher(dtype, arch, result, stride, address, axis, variant)
    else:  # the one element is a row
        row = launcher(dtype, arch, (1,), (1,), address, 0, variant)
        fill = row and (lambda x, y: row(x.view(1), y.view(1)))
    return fill, _allocator(result, stride)


@functools.lru_cache(maxsize=4096)
def _backward_plan(
    dtype: torch.dtype, arch: str | None, grad_shape: tuple[int, ...], shape: tuple[int, ...],
    grad_stride: tuple[int, ...], stride: tuple[int, ...], grad_address: int, address: int,
    dim: int, variant: str | None,
) -> tuple[BackwardRun | None, Callable[[Tensor], Tensor]]:  # fmt: skip
    """What fills dx from such a grad and y (None: no elements), and what allocates dx for y."""
    check_float(dtype, "y")
    _check_shapes(grad_shape, shape)
    axis, result, addresses = normal_dim(dim, len(shape)), tuple(shape), (grad_address, address)
    fill: BackwardRun | None
    if result:
        strides = grad_stride, stride
        fill = backward_launcher(dtype, arch, result, strides, addresses, axis, variant)
    else:
        row = backward_launcher(dtype, arch, (1,), ((1,), (1,)), addresses, 0, variant)
        fill = row and (lambda grad, y, dx: row(grad.view(1), y.view(1), dx.view(1)))
    return fill, _allocator(result, stride)


def _allocator(shape: tuple[int, ...], stride: tuple[int, ...]) -> Callable[[Tensor], Tensor]:
    """What makes a contiguous tensor like those of this shape and strides, in the least time."""
    kept = contiguous_stride(shape)
    if stride == kept:
        return torch.empty_like
    return lambda x: x.new_empty_strided(shape, kept)


# -- what is refused -------------------------------------------------------------------------
def _check(x: object, dim: object, variant: object = None, name: str = "x") -> None:
    """Raise UsageError, with what was got, what is needed and a remedy, for what cannot be done."""
    check_tensor(x, name)
    assert isinstance(x, Tensor)
    check_float(x.dtype, name)
    normal_dim(dim, x.dim())
    check_variant(variant, VARIANTS)


def _check_pair(grad: object, y: object, dim: object, variant: object = None) -> None:
    check_tensor(grad, "grad")
    _check(y, dim, variant, "y")
    assert isinstance(grad, Tensor) and isinstance(y, Tensor)
    _check_shapes(grad.shape, y.shape)
    if grad.dtype != y.dtype:
        raise UsageError(
            got_needed("grad.dtype", grad.dtype, f"{y.dtype}, as y", "use grad.to(y.dtype)")
        )
    if grad.device != y.device:
        raise UsageError(
            got_needed("grad.device", grad.device, f"{y.device}, as y", "use grad.to(y.device)")
        )


def _check_shapes(grad: tuple[int, ...], y: tuple[int, ...]) -> None:
    if grad != y:
        remedy = "use grad.expand(y.shape) if it has to be repeated"
        raise UsageError(got_needed("grad.shape", tuple(grad), f"{tuple(y)}, as y", remedy))


# -- the operators ---------------------------------------------------------------------------
_SCHEMA = "(Tensor x, int dim=-1, str? variant=None, str? backend=None) -> Tensor"
_BACKWARD_SCHEMA = _SCHEMA.replace("Tensor x", "Tensor grad, Tensor y")


@torch.library.custom_op("forgekit::softmax", mutates_args=(), schema=_SCHEMA)
def _operator(
    x: Tensor, dim: int = -1, variant: str | None = None, backend: str | None = None
) -> Tensor:
    return _run(x, dim, variant, backend)


@torch.library.custom_op("forgekit::softmax_backward", mutates_args=(), schema=_BACKWARD_SCHEMA)
def _backward_operator(
    grad: Tensor,
    y: Tensor,
    dim: int = -1,
    variant: str | None = None,
    backend: str | None = None,
) -> Tensor:
    return _run_backward(grad, y, dim, variant, backend)


@_operator.register_fake
def _(x: Tensor, dim: int = -1, variant: str | None = None, backend: str | None = None) -> Tensor:
    _check(x, dim, variant)
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@_backward_operator.register_fake
def _(
    grad: Tensor,
    y: Tensor,
    dim: int = -1,
    variant: str | None = None,
    backend: str | None = None,
) -> Tensor:
    _check_pair(grad, y, dim, variant)
    return torch.empty_like(y, memory_format=torch.contiguous_format)


# -- their derivatives -----------------------------------------------------------------------
def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, ctx.dim, _, backend = inputs
    ctx.backend = remembered("softmax", backend)
    ctx.save_for_backward(output)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    (y,) = ctx.saved_tensors
    if ctx.backend is not None and ctx.backend not in backend_names("softmax_backward"):
        remedy = "pass backward= to forgekit.ops.register_backend, or compute under torch.no_grad()"
        raise UsageError(
            got_needed(
                f"gradient of softmax by the backend {ctx.backend!r}",
                "no backward",
                "one that was registered with it",
                remedy,
            )
        )
    return softmax_backward(grad, y, ctx.dim, backend=ctx.backend), None, None, None


def _remember_pair(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    grad, y, ctx.dim, _, backend = inputs
    ctx.backend = remembered("softmax_backward", backend)
    ctx.save_for_backward(grad, y)


def _double_backward(ctx: Any, v: Tensor) -> tuple[Tensor | None, ...]:
    """With s = sum of grad * y: dx_i = y_i (grad_i - s), so its derivative by grad is dx's own
    formula, and v_j (grad_j - s) - grad_j * sum of v * y is the one by y_j."""
    grad, y = ctx.saved_tensors
    for_grad = for_y = None
    if ctx.needs_input_grad[0]:
        for_grad = softmax_backward(v, y, ctx.dim, backend=ctx.backend)
    if ctx.needs_input_grad[1]:
        v32, grad32, y32 = v.float(), grad.float(), y.float()
        kept = v32 * (grad32 - _sum(grad32 * y32, ctx)) - grad32 * _sum(v32 * y32, ctx)
        for_y = kept.to(y.dtype)
    return for_grad, for_y, None, None, None


def _sum(x: Tensor, ctx: Any) -> Tensor:
    backend = ctx.backend if ctx.backend in (None, "kernel") else "ref"
    return reduce_sum(x, ctx.dim, True, backend=backend)


_recorded = recorder(_run, _remember, _backward)
_recorded_backward = recorder(_run_backward, _remember_pair, _double_backward)
_operator.register_autograd(_backward, setup_context=_remember)
_backward_operator.register_autograd(_double_backward, setup_context=_remember_pair)
