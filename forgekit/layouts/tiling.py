"""Tile layouts: divides cut a layout into tiles, and products repeat a layout.

Results have the same form as in CuTe. Source: CUTLASS, media/docs/cpp/cute/02_layout_algebra.md.
"""

from __future__ import annotations

from typing import Any

from forgekit.arguments import checked
from forgekit.errors import brief, usage_error
from forgekit.layouts.algebra import as_layout, by_mode, coalesce, complement, composition, joined
from forgekit.layouts.layout import Layout
from forgekit.layouts.swizzle import ComposedLayout, outer_of


# -- divides ------------------------------------------------------------------------------------
@checked()
def logical_divide(layout: Layout | ComposedLayout, tiler: Any) -> Any:
    """Return the layout divided into tiles: mode 0 iterates within a tile, and mode 1 over the
    tiles.

    `tiler` is a Layout, an integer n (tiles of n neighbours), or a tuple of Layouts and integers,
    one per mode. With a tuple, each mode becomes (within the tile, over the tiles), but a mode
    whose entry is None or missing stays whole. If a tile does not divide a mode, the number of
    tiles is rounded up. Raises UsageError in the same cases as composition and complement, and for
    a tiler with more entries than modes.
    """
    if isinstance(tiler, tuple):
        return joined(by_mode(logical_divide, layout, tiler, "logical_divide"))
    tile = as_layout(tiler, "logical_divide")
    return composition(layout, joined([tile, complement(tile, coalesce(layout))]))


@checked()
def zipped_divide(layout: Layout | ComposedLayout, tiler: Any) -> Any:
    """Return the logical divide with its modes grouped as ((tile modes), (rest modes)).

    `zipped_divide(gA, (8, 8))[(None, (1, 2))]` is the tile in row 1, column 2. As in CuTe, the
    tiler is a tuple or a Layout, not an integer. None is allowed only for a mode with exactly two
    parts, which become its tile mode and its rest mode.
    """
    if not isinstance(tiler, tuple | Layout) or tiler == ():
        needed = "a tuple with one entry per mode, or a Layout"
        remedy = "write (4,) to cut mode 0 into tiles of 4"
        raise usage_error("zipped, tiled or flat divide: tiler", brief(tiler), needed, remedy)
    return _unzip(logical_divide(layout, tiler), tiler)


@checked()
def tiled_divide(layout: Layout | ComposedLayout, tiler: Any) -> Any:
    """Return the zipped divide with the rest modes at the top level: ((tile modes), rest0, rest1,
    ...)."""
    tile, rest = zipped_divide(layout, tiler)
    return joined([tile, *rest])


@checked()
def flat_divide(layout: Layout | ComposedLayout, tiler: Any) -> Any:
    """Return the zipped divide with all modes at the top level: (tile0, tile1, ..., rest0, rest1,
    ...)."""
    tile, rest = zipped_divide(layout, tiler)
    return joined([*tile, *rest])


def _unzip(divided: Any, tiler: Any) -> Any:
    """Group the tile parts of a divided layout's modes into one mode, and the rest parts into
    another mode."""
    if not isinstance(tiler, tuple):
        if divided.rank != 2:
            got, needed = (
                f"None for the mode {outer_of(divided)}",
                "a size for each mode of the tiler",
            )
            remedy = "pass the mode's whole size, or use logical_divide"
            raise usage_error("zipped, tiled or flat divide", got, needed, remedy)
        return divided
    pairs = zip(divided, tiler, strict=False)
    halves = [_unzip(mode, entry) for mode, entry in pairs]
    beyond = list(divided)[len(tiler) :]
    return joined([joined([h[0] for h in halves]), joined([h[1] for h in halves] + beyond)])


# -- products -----------------------------------------------------------------------------------
@checked()
def logical_product(block: Layout | ComposedLayout, tiler: Any) -> Any:
    """Return copies of the block, arranged by a tiler: mode 0 is the block, and mode 1 iterates
    over the copies.

    `tiler` is a Layout, an integer n (n copies), or a tuple of Layouts and integers, one per mode
    of the block; None leaves a mode unchanged. Raises UsageError in the same cases as composition
    and complement.
    """
    if tiler is None:
        return block
    if isinstance(tiler, tuple):
        return joined(by_mode(logical_product, block, tiler, "logical_product"))
    grid = as_layout(tiler, "logical_product")
    rest = complement(outer_of(block), block.size() * grid.cosize())
    return joined([block, composition(rest, grid)])


@checked()
def zipped_product(block: Layout | ComposedLayout, tiler: Layout) -> Any:
    """Return the logical product with a Layout as the tiler: ((block modes), (tiler modes))."""
    return logical_product(block, tiler)


@checked()
def tiled_product(block: Layout | ComposedLayout, tiler: Layout) -> Any:
    """Return the zipped product with the tiler's modes at the top level: ((block modes), copies0,
    ...)."""
    within, over = zipped_product(block, tiler)
    return joined([within, *over])


@checked()
def flat_product(block: Layout | ComposedLayout, tiler: Layout) -> Any:
    """Return the zipped product with all modes at the top level: (block0, ..., copies0, ...)."""
    within, over = zipped_product(block, tiler)
    return joined([*within, *over])


@checked()
def blocked_product(block: Layout | ComposedLayout, tiler: Layout) -> Any:
    """Return copies of the block, arranged in the tiler's grid: mode i is (within the block, over
    the copies).

    If block and tiler differ in rank, modes 1:0 are appended to the shorter. As in CuTe DSL 4.8.1,
    the result is not coalesced, unlike the result of raked_product.
    """
    return _interleaved(block, tiler, block_first=True)


@checked()
def raked_product(block: Layout | ComposedLayout, tiler: Layout) -> Any:
    """Return interleaved copies of the block: mode i is (over the copies, within the block),
    coalesced.

    Write a one-mode argument with a tuple, Layout((4,)). As in CuTe DSL 4.8.1, blocked_product and
    raked_product refuse some pairs that contain a plain `4:1`, but accept them in the opposite
    order.
    """
    return _interleaved(block, tiler, block_first=False)


def _interleaved(block: Layout | ComposedLayout, tiler: Layout, *, block_first: bool) -> Any:
    rank = max(block.rank, tiler.rank)
    within, over = logical_product(_padded(block, rank), _padded(tiler, rank))
    if block_first:
        return _zipped(within, over)
    return coalesce(_zipped(over, within), (1,) * rank)


def _zipped(first: Any, second: Any) -> Any:
    """Return a layout whose modes are pairs of corresponding modes of two layouts; if the first
    shape is not a tuple, there is a single pair."""
    if not isinstance(first.shape, tuple):
        return joined([joined([first, second])])
    if not isinstance(second.shape, tuple) or first.rank != second.rank:
        got = f"{outer_of(first)} and {outer_of(second)}"
        needed = "block and tiler with the same number of modes"
        remedy = "write a one-mode layout with a tuple, Layout((4,))"
        raise usage_error("blocked or raked product", got, needed, remedy)
    return joined([joined(list(pair)) for pair in zip(first, second, strict=True)])


def _padded(layout: Any, rank: int) -> Any:
    if layout.rank == rank:
        return layout
    return joined([*layout, *[Layout(1, 0)] * (rank - layout.rank)])
