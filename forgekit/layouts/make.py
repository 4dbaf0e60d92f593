"""Making layouts, from sizes and orders, and rearranging their modes.

Source: CUTLASS, include/cute/layout.hpp, and CuTe DSL 4.8.1 for the forms of results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forgekit.arguments import checked, integer_or_none
from forgekit.errors import brief, usage_error
from forgekit.layouts.algebra import (
    composition,
    filter_zeros,
    joined,
    require_integers,
    right_inverse,
)
from forgekit.layouts.layout import Layout
from forgekit.layouts.swizzle import ComposedLayout
from forgekit.layouts.tiling import blocked_product, raked_product
from forgekit.layouts.tuples import (
    Basis,
    IntTuple,
    checked_tuple,
    leaf_map,
    parts,
    product,
    text,
    weakly_congruent,
)


@checked()
def size(layout: Layout | ComposedLayout, mode: int | None = None) -> int:
    """How many coordinates a layout, or one mode of it, has."""
    return layout.size(mode)


@checked()
def cosize(layout: Layout | ComposedLayout) -> int:
    """One more than the largest offset."""
    return layout.cosize()


@checked()
def make_layout(shape: Any, stride: Any = None) -> Layout:
    """Layout(shape, stride); a tuple of Layouts is made the modes of one."""
    if isinstance(shape, tuple | list) and shape and all(isinstance(s, Layout) for s in shape):
        return joined(list(shape))
    return Layout(shape, stride)


@checked()
def make_identity_layout(shape: Any) -> Layout:
    """The layout whose value at each coordinate is that coordinate: (4,8):(1@0,1@1)."""
    plain = Layout(shape).shape
    return Layout(plain, _bases(plain, ()))


def _bases(shape: IntTuple, path: tuple[int, ...]) -> IntTuple:
    if isinstance(shape, tuple):
        return tuple(_bases(part, (*path, i)) for i, part in enumerate(shape))
    return Basis(1, path) if path else 1


@checked()
def make_ordered_layout(shape: Any, order: Any) -> Layout:
    """A compact layout whose modes get their strides in the given order, the smallest first.

    (1, 0) for two modes is row-major. An entry for a nested mode orders it as a whole. As in CuTe,
    modes of equal order get the same stride, so that the layout is not one-to-one. Raises
    UsageError unless there is one entry for each mode.
    """
    plain = Layout(shape).shape
    wanted = checked_tuple(order, "order", leaf=_order_leaf)
    if not weakly_congruent(wanted, plain):
        raise usage_error(
            "order", text(wanted), f"one entry for each mode of {text(plain)}", "such as (1, 0)"
        )
    return Layout(plain, _ordered(plain, wanted, wanted, plain))


def _order_leaf(value: object) -> int:
    number = integer_or_none(value)
    if number is None:
        raise usage_error("order", brief(value), "integers", "such as (1, 0)")
    return number


def _ordered(part: IntTuple, order: IntTuple, orders: IntTuple, shape: IntTuple) -> IntTuple:
    if isinstance(order, tuple):
        return tuple(_ordered(p, o, orders, shape) for p, o in zip(part, order, strict=True))
    start = _size_below(shape, orders, order)
    strides = Layout(part).stride
    return leaf_map(lambda stride: stride * start, strides)


def _size_below(shape: IntTuple, orders: IntTuple, order: int) -> int:
    """The product of the sizes of all modes that come before an order."""
    if isinstance(orders, tuple):
        below = [_size_below(s, o, order) for s, o in zip(shape, orders, strict=True)]
        return product(tuple(below))
    return product(shape) if orders < order else 1


@checked()
def make_layout_like(layout: Layout) -> Layout:
    """A compact layout of the same shape whose modes have the same order of strides.

    Broadcast modes (stride 0) stay so; as in CuTe, equal strides stay equal. It is what fragments
    in registers get.
    """
    layout.require_static("make_layout_like")
    require_integers(layout, "make_layout_like")
    sizes = filter_zeros(layout).shape

    def compact(size: int, stride: int) -> int:
        return 0 if size == 1 else _size_below(sizes, layout.stride, stride)

    return Layout(layout.shape, leaf_map(compact, sizes, layout.stride))


@checked()
def product_each(shape: IntTuple) -> tuple[int, ...]:
    """The size of each top-level mode of a shape."""
    return tuple(product(part) for part in parts(Layout(shape).shape))


@checked()
def make_layout_tv(thr_layout: Layout, val_layout: Layout) -> tuple[tuple[int, ...], Layout]:
    """The tile and the thread-value layout of values repeated over threads.

    Args:
        thr_layout: (rows, columns) of threads -> thread index; compact.
        val_layout: (rows, columns) of one thread's values -> value index; compact.

    Returns:
        (tiler_mn, layout_tv): the tile's sizes, and the layout from (thread, value) to the linear
        index (column-major) in that tile.

    Raises UsageError where raked_product and composition do.
    """
    layout_mn = raked_product(thr_layout, val_layout)
    threads_values = Layout((thr_layout.size(), val_layout.size()))
    layout_tv = composition(right_inverse(layout_mn), threads_values)
    return product_each(layout_mn.shape), layout_tv


@checked()
def tile_to_shape(atom: Layout | ComposedLayout, shape: Any, order: Any) -> Any:
    """A layout of a shape made by repeating an atom, along the modes in the given order.

    Sizes are rounded up to whole atoms. It is how shared memory gets a swizzled layout.
    """
    target = product_each(Layout(shape).shape)
    if atom.rank > len(target):
        raise usage_error(
            "tile_to_shape",
            f"an atom of {atom.rank} modes for the shape {text(target)}",
            "a shape with at least the modes of the atom",
            "give one size for each mode",
        )
    of_atom = (*product_each(atom.shape), *[1] * len(target))[: len(target)]
    copies = tuple(-(-t // a) for t, a in zip(target, of_atom, strict=True))
    return blocked_product(atom, make_ordered_layout(copies, order))


@checked()
def select(layout: Layout, modes: Sequence[int]) -> Layout:
    """The chosen top-level modes, in the order given."""
    if any(integer_or_none(i) is None for i in modes):
        needed, remedy = "a list of modes", "write select(layout, [0, 2]), say"
        raise usage_error("select, modes", brief(modes), needed, remedy)
    return joined([layout.mode(i) for i in modes])


@checked()
def group_modes(layout: Layout, begin: int, end: int | None = None) -> Layout:
    """The layout with modes begin to end (without end) made one nested mode."""
    modes = list(layout)
    first = begin if begin >= 0 else begin + len(modes)
    last = len(modes) if end is None else end
    if not 0 <= first < last <= len(modes):
        needed = f"0 <= begin < end <= {len(modes)}"
        remedy = "count modes from 0; end is the first mode that is left out"
        raise usage_error(f"group_modes of {layout}", f"begin {begin}, end {end}", needed, remedy)
    return joined([*modes[:first], joined(modes[first:last]), *modes[last:]])


@checked()
def append(layout: Layout, mode: Layout) -> Layout:
    """The layout with one more mode at the end."""
    return joined([*layout, mode])


@checked()
def prepend(layout: Layout, mode: Layout) -> Layout:
    """The layout with one more mode at the front."""
    return joined([mode, *layout])
