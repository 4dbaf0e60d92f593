"""Tensors of any rank as (outer, reduced, inner): what kernels over rows or columns take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Strides = tuple[int, int, int]


@dataclass(frozen=True)
class View:
    """Sizes of outer, reduced and inner modes, and their strides in elements for each operand.

    outer holds the dimensions before the reduced one, inner those behind it.
    """

    outer: int
    reduced: int
    inner: int
    strides: tuple[Strides, ...]


def fold(shape: Sequence[int], strides: Sequence[Sequence[int]], dim: int) -> View | None:
    """The view of operands that share a shape, or None if their dimensions do not fold.

    strides: of each operand, in elements. dim: the reduced dimension. Dimensions fold into one if
    every operand steps through them evenly; those of size 1 always do. The stride of a mode of
    size 1 is given as 0.
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
    """One size, and the step of each operand, for dimensions next to each other."""
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
    """Strides of a contiguous tensor, in elements, as torch gives them."""
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))
