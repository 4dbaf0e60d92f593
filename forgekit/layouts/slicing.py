"""Slicing: a coordinate with None keeps the modes where None stands and fixes the others."""

from __future__ import annotations

from forgekit.arguments import checked
from forgekit.errors import usage_error
from forgekit.layouts import coordinates
from forgekit.layouts.layout import Layout
from forgekit.layouts.tuples import IntTuple, flat, leaf_map, text, to_coordinate, weakly_congruent


@checked()
def slice_layout(layout: Layout, coord: object) -> Layout:
    """The modes of `layout` at which `coord` is None, in order, as `layout(coord)` gives in CuTe.

    The offset of the fixed modes is dropped; `slice_and_offset` gives it too. A tuple in the
    coordinate opens the mode it stands at, so `(None, (1, None))` of a 2-mode layout gives 2 modes.
    Raises UsageError if the coordinate does not fit the shape.
    """
    wanted = to_coordinate(coord)
    if wanted is None:
        return layout
    if not weakly_congruent(wanted, layout.shape):
        raise usage_error(
            "coordinate",
            text(wanted),
            f"a tuple nested like the shape {text(layout.shape)}",
            "one integer or None for each mode",
        )
    return Layout(_kept(wanted, layout.shape), _kept(wanted, layout.stride))


@checked()
def slice_and_offset(layout: Layout, coord: object) -> tuple[Layout, IntTuple]:
    """The slice at a coordinate with None, and the offset at which it begins."""
    wanted = to_coordinate(coord)
    sliced = slice_layout(layout, wanted)
    layout.require_static("the offset of a slice")
    start = leaf_map(lambda c: 0 if c is None else c, wanted)
    if None not in flat(wanted):
        return sliced, coordinates.crd2idx(wanted, layout.shape, layout.stride)
    return sliced, coordinates.crd2idx(start, layout.shape, layout.stride)


def _kept(coord: IntTuple, value: IntTuple) -> tuple[IntTuple, ...]:
    """The parts of a value at which the coordinate is None, opened where it is a tuple."""
    if isinstance(coord, tuple):
        return tuple(p for c, v in zip(coord, value, strict=True) for p in _kept(c, v))
    return (value,) if coord is None else ()
