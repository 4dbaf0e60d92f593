"""`copy_transpose(x)`: x transposed into new memory by forgekit's own kernels; and its operator.

    y = forgekit.ops.copy_transpose(x)                     # the function
    y = torch.ops.forgekit.copy_transpose(x)               # the operator: for torch.compile, export

The function launches directly, without PyTorch's dispatcher, unless something needs that one (see
`dispatching.plain`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_compiling

from forgekit.dtypes import dtype_info
from forgekit.errors import UsageError, brief, got_needed
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.backends import (
    chosen,
    computed_by,
    current_backend,
    defaults,
    other_than_kernel,
    remembered,
)
from forgekit.ops.dispatching import batched, check_tensor, plain, quiet, recorder, virtual_arch
from forgekit.ops.transpose_choice import TILES
from forgekit.ops.transpose_launch import launcher

__all__ = ["copy_transpose"]

_COMPLEX = (torch.complex32, torch.complex64)  # as wide as integers, so they cost nothing more


def copy_transpose(x: Tensor, *, tile: int | None = None, backend: str | None = None) -> Tensor:
    """A new contiguous tensor (N, M) with y[n, m] = x[m, n], bit for bit.

    x (M, N): any sizes, also 0; any strides, also 0; floats, integers, booleans, complex numbers of
    at most 64 bits. On a GPU the kernel runs there, on the current stream; a tensor on the CPU is
    computed by the same kernel on the virtual GPU. tile: rows and columns of a block's tile, 16, 32
    or 64; the fastest for the tensor if left out. Tensors that need no tiles (one row or column,
    columns that are contiguous) are copied without them. backend: who computes, see
    `forgekit.ops.use_backend`.

    Gradients flow through it: its derivative is itself. It never falls back on torch. What PyTorch
    has not for operators written in Python is refused: forward mode and torch.func.grad.
    torch.func.vmap computes slice by slice.

    Raises:
        UsageError: not a tensor, not 2-D, a dtype wider than 64 bits, another tile or backend, a
            device where no kernel runs, a dual tensor.
        PlatformError: a GPU older than compute capability 8.0.
    """
    if is_compiling() or not plain(x):
        if not is_compiling():  # else the operator's fake checks: Dynamo traces no exception
            if quiet(x):
                return _recorded(x, tile, backend)
            check(x, tile)
            current_backend("copy_transpose", backend)
        result: Tensor = torch.ops.forgekit.copy_transpose(x, tile, backend)
        return result
    return _run(x, tile, backend)


def _run(x: Tensor, tile: int | None, backend: str | None) -> Tensor:
    """Allocate and launch. One dictionary look-up decides: host time counts for small tensors."""
    if backend is not None or chosen.get() or defaults:
        function = other_than_kernel("copy_transpose", backend, tile)
        if function is not None:
            check(x, tile)
            return computed_by(function, "copy_transpose", (x.shape[1], x.shape[0]), x)
    try:
        if tile is not None:
            check(x, tile)
        arch = None if x.is_cuda else virtual_arch(x)
        M, N = x.shape
        run = launcher(x.dtype, arch, (M, N), x.stride(), x.data_ptr() % VECTOR_BYTES, tile)
    except (RuntimeError, TypeError, ValueError):
        if batched(x):
            result: Tensor = torch.ops.forgekit.copy_transpose(x, tile, backend)
            return result
        check(x, tile)  # says it in the user's terms
        raise
    y = x.new_empty_strided((N, M), (M or 1, 1))
    if run is not None:
        run(x.resolve_neg() if x.is_neg() else x, y)
    return y


def check(x: object, tile: object) -> None:
    """Raise UsageError, with what was got, what is needed and a remedy, for what cannot be done."""
    check_tensor(x)
    assert isinstance(x, Tensor)
    if x.dim() != 2:
        shape = f"shape {tuple(x.shape)}"
        remedy = (
            "choose rows and columns with x.reshape(rows, columns), or transpose slice by slice"
        )
        raise UsageError(got_needed("x", shape, "2 dimensions", remedy))
    if x.dtype is torch.complex128:
        remedy = "transpose x.real and x.imag, or use x.to(torch.complex64)"
        raise UsageError(got_needed("x.dtype", "complex128", "64 bits an element at most", remedy))
    if x.dtype not in _COMPLEX:
        dtype_info(x.dtype)
    if tile is not None and not (type(tile) is int and tile in TILES):
        needed = ", ".join(map(str, TILES)) + " or None"
        raise UsageError(got_needed("tile", brief(tile), needed, "leave it out for the fastest"))


_SCHEMA = "(Tensor x, int? tile=None, str? backend=None) -> Tensor"


@torch.library.custom_op("forgekit::copy_transpose", mutates_args=(), schema=_SCHEMA)
def _operator(x: Tensor, tile: int | None = None, backend: str | None = None) -> Tensor:
    return _run(x, tile, backend)


@_operator.register_fake
def _(x: Tensor, tile: int | None = None, backend: str | None = None) -> Tensor:
    check(x, tile)
    return x.new_empty((x.shape[1], x.shape[0]))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, ctx.tile, backend = inputs
    ctx.backend = remembered("copy_transpose", backend)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
    return copy_transpose(grad, tile=ctx.tile, backend=ctx.backend), None, None


_recorded = recorder(_run, _remember, _backward)
_operator.register_autograd(_backward, setup_context=_remember)
