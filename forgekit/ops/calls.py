"""What of a call decides how it is computed, and the one cache of what was decided."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from forgekit.devices import current_target
from forgekit.kernels import VECTOR_BYTES
from forgekit.ops.views import contiguous_strides
from forgekit.vgpu.host.intercept import stands_in_for_cuda

Launch = Callable[..., None]  # of the operands, and of the result that it fills
Allocate = Callable[[Tensor], Tensor]


class Call(NamedTuple):
    """All of a call but the values; frozen, and the key of `plan`.

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


class Operator(Protocol):
    """What `plan` needs of one."""

    @property
    def name(self) -> str: ...
    @property
    def option_names(self) -> tuple[str, ...]: ...
    def prepare(self, call: Call, options: Any) -> tuple[Launch | None, Allocate]: ...


@functools.lru_cache(maxsize=4096)
def plan(
    operator: Operator,
    options: tuple[Any, ...],
    arch: str | None,
    dtype: torch.dtype,
    shape: tuple[int, ...],
    *places: Any,
) -> tuple[Launch | None, Allocate]:
    """What fills the result of a call (None: it has no elements), and what allocates that.

    places: strides and address of each operand, one after the other. The one cache above that of
    `compile`. Its key is what makes a `Call`, which costs more to make than to look up, as nested
    tuples do; so only the first call of its kind has one.
    """
    named = dict(zip(operator.option_names, options, strict=True))
    if arch is None and stands_in_for_cuda():
        arch = current_target().arch
    call = Call(operator.name, dtype, arch, tuple(shape), places[::2], places[1::2], **named)
    return operator.prepare(call, options)
