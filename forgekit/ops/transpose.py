"""`copy_transpose(x)`: x transposed into new memory by forgekit's own kernels; and its operator."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from forgekit import ref
from forgekit.dtypes import dtype_info
from forgekit.errors import brief, usage_error
from forgekit.ops.checks import check_tensor
from forgekit.ops.operators import Operator
from forgekit.ops.transposes import TILES, launcher

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
    if tile is not None and type(tile) is not int:  # 32.0 is equal to 32 where calls are looked up
        _check(x, tile)
    return _copy_transpose.call(x, (tile,), backend)


def _check(x: Any, tile: object) -> None:
    check_tensor(x)
    if x.dim() != 2:
        shape = f"shape {tuple(x.shape)}"
        remedy = (
            "choose rows and columns with x.reshape(rows, columns), or transpose slice by slice"
        )
        raise usage_error("x", shape, "2 dimensions", remedy)
    if x.dtype is torch.complex128:
        remedy = "transpose x.real and x.imag, or use x.to(torch.complex64)"
        raise usage_error("x.dtype", "complex128", "64 bits an element at most", remedy)
    if x.dtype not in _COMPLEX:
        dtype_info(x.dtype)
    if tile is not None and not (type(tile) is int and tile in TILES):
        needed = ", ".join(map(str, TILES)) + " or None"
        raise usage_error("tile", brief(tile), needed, "leave it out for the fastest")


_copy_transpose = Operator(
    "copy_transpose",
    "(Tensor x, int? tile=None, str? backend=None) -> Tensor",
    reference=ref.copy_transpose,
    check=_check,
    launcher=launcher,
    result_shape=lambda shape, tile: shape[::-1],
    backward=lambda ctx, grad: (copy_transpose(grad, tile=ctx.options[0], backend=ctx.backend),),
)
