"""Define `copy_transpose(x)`, the transpose of x in new memory, and register it with PyTorch."""

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

_COMPLEX = (torch.complex32, torch.complex64)  # copied as integers of the same width


def copy_transpose(x: Tensor, *, tile: int | None = None, backend: str | None = None) -> Tensor:
    """Return a new contiguous tensor (N, M) with y[n, m] = x[m, n], bit for bit.

    x (M, N): any sizes and strides, including 0; floats, integers, booleans and complex numbers of
    at most 64 bits. For a tensor on a GPU, the kernel runs there, on the current stream; for a
    tensor on the CPU, the same kernel runs on the virtual GPU. tile: the side of a block's square
    tile, 16, 32 or 64; by default the fastest tile for the tensor. Tensors that need no tiles (one
    row or column, contiguous columns) are copied without tiles. backend: see
    `forgekit.ops.use_backend`.

    The operator supports gradients, because its derivative is the transpose, and never falls back
    to torch. Forward mode and torch.func.grad raise UsageError, because PyTorch does not support
    them for operators written in Python. torch.func.vmap computes one slice at a time.

    Raises:
        UsageError: x is not a 2-D tensor or is a dual tensor, its dtype is wider than 64 bits, no
            kernel runs on its device, or the tile or backend does not exist.
        PlatformError: the GPU's compute capability is below 8.0.
    """
    # the cache would treat 32.0 and 32 as equal
    if tile is not None and type(tile) is not int:
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
        raise usage_error("x.dtype", "complex128", "at most 64 bits per element", remedy)
    if x.dtype not in _COMPLEX:
        dtype_info(x.dtype)
    if tile is not None and not (type(tile) is int and tile in TILES):
        needed = ", ".join(map(str, TILES)) + " or None"
        raise usage_error("tile", brief(tile), needed, "leave it out to use the fastest")


_copy_transpose = Operator(
    "copy_transpose",
    "(Tensor x, int? tile=None, str? backend=None) -> Tensor",
    reference=ref.copy_transpose,
    check=_check,
    launcher=launcher,
    result_shape=lambda shape, tile: shape[::-1],
    backward=lambda ctx, grad: (copy_transpose(grad, tile=ctx.options[0], backend=ctx.backend),),
)
