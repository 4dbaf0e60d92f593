"""Describe a call by the properties that determine its kernel, and view tensors of any rank as
(outer, reduced, inner)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from forgekit.kernels import VECTOR_BYTES

Launch = Callable[..., None]  # its arguments are the operands and the result


class Call(NamedTuple):
    """All properties of a call except the tensors' values.

    op: the operator's name. arch: the virtual GPU's architecture, or None for the GPU. shape: the
    shape of every operand. strides: one tuple per operand, in elements. addresses: one per operand,
    in bytes modulo 16. dim, keepdim, variant, tile: the operator's arguments.
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
        """Return the call of an operator with these operands."""
        strides = tuple(x.stride() for x in operands)
        addresses = tuple(x.data_ptr() % VECTOR_BYTES for x in operands)
        x = operands[0]
        return cls(op, x.dtype, arch, tuple(x.shape), strides, addresses, **options)

    @property
    def kind(self) -> Any:
        """Return the operator's name in the tables of `tile_choice`."""
        return "sum" if self.op == "reduce_sum" else self.op

    def contiguous(self, shape: tuple[int, ...], dim: int) -> Call:
        """Return a copy of the call whose operands are contiguous, have this shape and begin at
        16-byte boundaries."""
        n = len(self.strides)
        strides, addresses = (contiguous_strides(shape),) * n, (0,) * n
        return self._replace(shape=shape, strides=strides, addresses=addresses, dim=dim)


# -- views for kernels over rows or columns --------------------------------------------------------
@dataclass(frozen=True)
class View:
    """The sizes of the outer, reduced and inner modes, and each operand's strides in elements.

    The outer mode folds the dimensions before the reduced dimension, and the inner mode folds the
    dimensions after it.
    """

    outer: int
    reduced: int
    inner: int
    strides: tuple[tuple[int, int, int], ...]


def fold(shape: Sequence[int], strides: Sequence[Sequence[int]], dim: int) -> View | None:
    """Return a view of operands that share a shape, or None if their dimensions cannot be folded.

    strides: the strides of each operand, in elements. dim: the reduced dimension. Dimensions can be
    folded into one if, in every operand, a single stride leads from each element to the next.
    Dimensions of size 1 can always be folded. A mode of size 1 has stride 0.
    """
    before = _merge(shape[:dim], [s[:dim] for s in strides])
    behind = _merge(shape[dim + 1 :], [s[dim + 1 :] for s in strides])
    if before is None or behind is None:
        return None
    (outer, outer_steps), (inner, inner_steps) = before, behind
    steps = [s[dim] if shape[dim] > 1 else 0 for s in strides]
    return View(outer, shape[dim], inner, tuple(zip(outer_steps, steps, inner_steps, strict=True)))


def _merge(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[int, tuple[int, ...]] | None:
    """Fold adjacent dimensions, and return the size and each operand's stride, or None."""
    size, steps = 1, tuple(0 for _ in strides)
    for mode in reversed(range(len(shape))):
        if shape[mode] == 1:
            continue
        here = tuple(s[mode] for s in strides)
        if size == 1:
            size, steps = shape[mode], here
        elif all(h == size * step for h, step in zip(here, steps, strict=True)):
            size *= shape[mode]
        else:
            return None
    return size, steps


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides, in elements, that torch gives a contiguous tensor of this shape."""
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))
