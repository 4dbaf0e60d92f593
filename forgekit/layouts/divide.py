"""Divides: cutting a layout into tiles.

The results have CuTe's form. Source: CUTLASS, media/docs/cpp/cute/02_layout_algebra.md.
"""

from __future__ import annotations

from typing import Any

from forgekit.arguments import checked
from forgekit.errors import brief, usage_error
from forgekit.layouts.algebra import as_layout, by_mode, coalesce, complement, composition, joined
from forgekit.layouts.layout import Layout
from forgekit.layouts.swizzle import ComposedLayout


@checked()
def logical_divide(layout: Layout | ComposedLayout, tiler: Any) -> Any:
    """The layout cut by a tiler: mode 0 walks within a tile, mode 1 over the tiles.

    `tiler` is a Layout, an integer n (tiles of n neighbours), or a tuple of those, one for each
    mode: then each mode becomes (within, over); None and modes beyond the tuple stay whole. Where
    a tile does not divide, the number of tiles is rounded up. Raises UsageError where composition
    and complement do, and for a tiler with more entries than modes.
    """
    if isinstance(layout, ComposedLayout):
        return _with_outer(layout, logical_divide(layout.outer, tiler))
    if isinstance(tiler, tuple):
        return joined(by_mode(logical_divide, layout, tiler, "logical_divide"))
    tile = as_layout(tiler, "logical_divide")
    return composition(layout, joined([tile, complement(tile, coalesce(layout))]))


@checked()
def zipped_divide(layout: Layout | ComposedLayout, tiler: Any) -> Any:
    """logical_divide with the parts gathered: ((tile modes), (rest modes)).

    `zipped_divide(gA, (8, 8))[(None, (1, 2))]` is the tile in row 1, column 2. As in CuTe, the
    tiler is a tuple or a Layout, an integer is refused, and None is taken only for a mode of
    exactly two parts, which then become its tile and its rest.
    """
    if isinstance(layout, ComposedLayout):
        return _with_outer(layout, zipped_divide(layout.outer, tiler))
    if not isinstance(tiler, tuple | Layout) or tiler == ():
        raise usage_error(
            "zipped, tiled or flat divide: tiler",
            brief(tiler),
            "a tuple with one entry for each mode, or a Layout",
            "write (4,) to cut mode 0 into tiles of 4",
        )
    return _unzip(logical_divide(layout, tiler), tiler)


@checked()
def tiled_divide(layout: Layout | ComposedLayout, tiler: Any) -> Any:
    """zipped_divide with the rest modes at top level: ((tile modes), rest0, rest1, ...)."""
    if isinstance(layout, ComposedLayout):
        return _with_outer(layout, tiled_divide(layout.outer, tiler))
    tile, rest = zipped_divide(layout, tiler)
    return joined([tile, *rest])


@checked()
def flat_divide(layout: Layout | ComposedLayout, tiler: Any) -> Any:
    """zipped_divide with all modes at top level: (tile0, tile1, ..., rest0, rest1, ...)."""
    if isinstance(layout, ComposedLayout):
        return _with_outer(layout, flat_divide(layout.outer, tiler))
    tile, rest = zipped_divide(layout, tiler)
    return joined([*tile, *rest])


def _unzip(divided: Layout, tiler: Any) -> Layout:
    """The first parts of the modes that a tiler cut as one mode, their second parts as another."""
    if not isinstance(tiler, tuple):
        if divided.rank != 2:
            raise usage_error(
                "zipped, tiled or flat divide",
                f"None for the mode {divided}",
                "a size for each mode of the tiler",
                "give the mode's whole size, or use logical_divide",
            )
        return divided
    pairs = zip(divided, tiler, strict=False)
    halves = [_unzip(mode, entry) for mode, entry in pairs]
    beyond = list(divided)[len(tiler) :]
    return joined([joined([h[0] for h in halves]), joined([h[1] for h in halves] + beyond)])


def _with_outer(composed: ComposedLayout, outer: Layout) -> ComposedLayout:
    return ComposedLayout(composed.inner, composed.offset, outer)
