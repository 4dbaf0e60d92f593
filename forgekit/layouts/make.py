"""Create layouts and rearrange their modes.

Source: CUTLASS, include/cute/layout.hpp; results have the same form as in CuTe DSL 4.8.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forgekit.arguments import checked, integer_or_none
from forgekit.errors import brief, usage_error
from forgekit.layouts.algebra import composition, joined, right_inverse
from forgekit.layouts.layout import Layout
from forgekit.layouts.swizzle import ComposedLayout
from forgekit.layouts.tiling import raked_product
from forgekit.layouts.tuples import Basis, IntTuple


@checked()
def size(layout: Layout | ComposedLayout, mode: int | None = None) -> int:
    """Return the number of coordinates of a layout, or of one of its modes."""
    return layout.size(mode)


@checked()
def cosize(layout: Layout | ComposedLayout) -> int:
    """Return one more than the largest offset, with absolute values of strides."""
    return layout.cosize()


@checked()
def make_layout(shape: Any, stride: Any = None) -> Layout:
    """Return Layout(shape, stride). If `shape` is a tuple of Layouts, return the layout with these
    modes."""
    if isinstance(shape, tuple | list) and shape and all(isinstance(s, Layout) for s in shape):
        return joined(list(shape))
    return Layout(shape, stride)


@checked()
def make_identity_layout(shape: Any) -> Layout:
    """Return the layout that maps each coordinate to itself, such as (4,8):(1@0,1@1)."""
    plain = Layout(shape).shape
    return Layout(plain, _bases(plain, ()))


def _bases(shape: IntTuple, path: tuple[int, ...]) -> IntTuple:
    if isinstance(shape, tuple):
        return tuple(_bases(part, (*path, i)) for i, part in enumerate(shape))
    return Basis(1, path) if path else 1


@checked()
def make_layout_tv(thr_layout: Layout, val_layout: Layout) -> tuple[tuple[int, ...], Layout]:
    """Return the tile and the thread-value layout for threads whose values all have the same
    layout.

    Args:
        thr_layout: maps (row, column) in the grid of threads to a thread index; compact.
        val_layout: maps (row, column) in a thread's tile to a value index; compact.

    Returns:
        (tiler_mn, layout_tv): the sizes of the tile, and the layout that maps (thread, value) to
            the column-major linear index in the tile.

    Raises UsageError in the same cases as raked_product and composition.
    """
    layout_mn = raked_product(thr_layout, val_layout)
    threads_values = Layout((thr_layout.size(), val_layout.size()))
    layout_tv = composition(right_inverse(layout_mn), threads_values)
    return tuple(mode.size() for mode in layout_mn), layout_tv


@checked()
def select(layout: Layout, modes: Sequence[int]) -> Layout:
    """Return the layout of the top-level modes with these numbers, in the given order."""
    if any(integer_or_none(i) is None for i in modes):
        needed, remedy = "a list of modes", "write select(layout, [0, 2]), for example"
        raise usage_error("select, modes", brief(modes), needed, remedy)
    return joined([layout.mode(i) for i in modes])


@checked()
def group_modes(layout: Layout, begin: int, end: int | None = None) -> Layout:
    """Return the layout with the modes from `begin` to `end` (exclusive) grouped into one nested
    mode."""
    modes = list(layout)
    first = begin if begin >= 0 else begin + len(modes)
    last = len(modes) if end is None else end
    if not 0 <= first < last <= len(modes):
        needed = f"0 <= begin < end <= {len(modes)}"
        remedy = "count modes from 0; end is exclusive"
        raise usage_error(f"group_modes of {layout}", f"begin {begin}, end {end}", needed, remedy)
    return joined([*modes[:first], joined(modes[first:last]), *modes[last:]])
