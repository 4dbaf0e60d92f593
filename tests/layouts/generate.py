"""Generate random layouts, tilers and coordinates."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, TypeVar

from forgekit.layouts import Layout, Swizzle
from forgekit.layouts.tuples import flat, leaf_map

T = TypeVar("T")

_SIZES = (1, 2, 4, 8, 3, 6, 12, 16, 5, 2, 4)
_STRIDES = (0, 1, 2, 4, 8, 3, 6, 12, 24, 48)


class Choices:
    """Draws random layouts, tilers and coordinates; equal seeds give equal results."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, n: int) -> int:
        """Return an integer from 0 to n - 1."""
        return int(self._random.random() * n)

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def permutation(self, n: int) -> tuple[int, ...]:
        return tuple(self._random.sample(range(n), n))

    def size(self) -> int:
        return self.one_of(_SIZES)

    def shape(self, depth: int = 2) -> Any:
        """Return a size, or a tuple of up to three shapes."""
        if depth == 0 or self.below(3) == 0:
            return self.size()
        return tuple(self.shape(depth - 1) for _ in range(1 + self.below(3)))

    def layout(self, depth: int = 2, negative: bool = False) -> Layout:
        """Return a layout that is compact in some order, padded in places, or has arbitrary
        strides."""
        shape = self.shape(depth)
        leaves = flat(shape)
        form = self.below(8)
        if form == 0:
            return Layout(shape)
        if form < 3:
            strides = [self.one_of(_STRIDES) for _ in leaves]
            if negative and self.below(3) == 1:
                at = self.below(len(strides))
                strides[at] = -strides[at]
        else:
            strides = [0] * len(leaves)
            step = 1
            for i in self.permutation(len(leaves)):
                strides[i] = step
                step *= leaves[i] * self.one_of((1, 1, 1, 1, 1, 2, 3))
        found = iter(strides)
        return Layout(shape, leaf_map(lambda _: next(found), shape))

    def tiler(self, layout: Layout, integers: bool = True) -> Any:
        """Return a tiler: an integer, a layout, or a tuple with one tiler per mode, possibly
        nested."""
        form = self.below(16)
        if form == 15 and integers:
            return self.size()
        if form in (13, 14):
            return self.layout(depth=1)
        modes = list(layout)
        if form == 12:
            modes = modes[: 1 + self.below(len(modes))]
        return tuple(self._entry(mode, 1) for mode in modes)

    def _entry(self, mode: Layout, depth: int) -> Any:
        form = self.below(24)
        if form == 23:
            return None
        if form in (21, 22):
            return self.size()
        if form in (18, 19, 20):
            return self.layout(depth=1)
        if form >= 14 and depth and isinstance(mode.shape, tuple):
            return tuple(self._entry(part, depth - 1) for part in mode)
        size = mode.size()
        return self.one_of([n for n in range(1, min(size, 64) + 1) if size % n == 0])

    def coordinate(self, shape: Any, slicing: bool = False, beyond: int = 2) -> Any:
        """Return a coordinate of a shape: an integer for the whole shape or any of its modes,
        otherwise nested like the shape; if `slicing`, with None in some modes. Integers range from
        -(beyond - 1) to `beyond` times the size.
        """
        if slicing and self.below(3) == 1:
            return None
        if isinstance(shape, tuple) and self.below(3):
            return tuple(self.coordinate(part, slicing, beyond) for part in shape)
        size = math.prod(flat(shape))
        return self.below(min(beyond * size, 65536) + beyond - 1) - (beyond - 1)

    def swizzle(self) -> Swizzle:
        bits = self.below(5)
        base, shift = self.below(5), bits + self.below(4)
        return Swizzle(bits, base, -shift if self.below(4) == 1 else shift)
