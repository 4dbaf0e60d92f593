"""What of a call decides how it is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.views import contiguous_strides

Launch = Callable[..., None]  # of the operands, and of the result that it fills


class Call(NamedTuple):
    """All of a call but the values; frozen, and what `operators.plan` goes by.

    op: the operator's name. arch: of the virtual GPU, None for the GPU. shape: of all operands.
    strides: of each operand, in elements. addresses: of each, in bytes modulo 16. dim, keepdim,
    variant, tile: as the operator takes them.
    """

    op: str
    dtype: torch.dtype
    arch: str | None
    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    addresses: tuple[int, ...]
    dim: int = -1
    keepdim: bool = False
    variant: str | None = None
    tile: int | None = None

    @classmethod
    def of(cls, op: str, *operands: Tensor, arch: str | None, **options: Any) -> Call:
        """The call of an operator with these operands; arch: None for the GPU."""
        strides = tuple(x.stride() for x in operands)
        addresses = tuple(x.data_ptr() % VECTOR_BYTES for x in operands)
        x = operands[0]
        return cls(op, x.dtype, arch, tuple(x.shape), strides, addresses, **options)

    @property
    def kind(self) -> Any:
        """The operator as the tables of tiles call it."""
        return "sum" if self.op == "reduce_sum" else self.op

    def contiguous(self, shape: tuple[int, ...], dim: int) -> Call:
        """The call with contiguous operands of this shape, which begin at vectors."""
        n = len(self.strides)
        strides, addresses = (contiguous_strides(shape),) * n, (0,) * n
        return self._replace(shape=shape, strides=strides, addresses=addresses, dim=dim)
