"""Products: repeating a layout over a grid of copies.

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
def logical_product(block: Layout | ComposedLayout, tiler: Any) -> Any:
    """The block repeated over a tiler: mode 0 is the block, mode 1 walks over its copies.

    `tiler` is a Layout, an integer n (n copies), or a tuple of those, one for each mode of the
    block, None leaving a mode alone. Raises UsageError where composition and complement do.
    """
    if isinstance(block, ComposedLayout):
        return ComposedLayout(block.inner, block.offset, logical_product(block.outer, tiler))
    if tiler is None:
        return block
    if isinstance(tiler, tuple):
        return joined(by_mode(logical_product, block, tiler, "logical_product"))
    grid = as_layout(tiler, "logical_product")
    rest = complement(block, block.size() * grid.cosize())
    return joined([block, composition(rest, grid)])


@checked()
def zipped_product(block: Layout | ComposedLayout, tiler: Layout) -> Any:
    """logical_product by a Layout: ((block modes), (tiler modes))."""
    _require_layout(tiler)
    return logical_product(block, tiler)


@checked()
def tiled_product(block: Layout | ComposedLayout, tiler: Layout) -> Any:
    """zipped_product with the tiler's modes at top level: ((block modes), copies0, ...)."""
    if isinstance(block, ComposedLayout):
        return ComposedLayout(block.inner, block.offset, tiled_product(block.outer, tiler))
    within, over = zipped_product(block, tiler)
    return joined([within, *over])


@checked()
def flat_product(block: Layout | ComposedLayout, tiler: Layout) -> Any:
    """zipped_product with all modes at top level: (block0, ..., copies0, ...)."""
    if isinstance(block, ComposedLayout):
        return ComposedLayout(block.inner, block.offset, flat_product(block.outer, tiler))
    within, over = zipped_product(block, tiler)
    return joined([*within, *over])


@checked()
def blocked_product(block: Layout | ComposedLayout, tiler: Layout) -> Any:
    """The block repeated over the tiler's grid: mode i is (within the block, over the blocks).

    The shorter of block and tiler gets modes 1:0 appended. As in CuTe DSL 4.8.1 the result is not
    coalesced, unlike raked_product's.
    """
    return _interleaved(block, tiler, block_first=True)


@checked()
def raked_product(block: Layout | ComposedLayout, tiler: Layout) -> Any:
    """The copies interleaved: mode i is (over the copies, within the block), coalesced.

    As in CuTe DSL 4.8.1, one-mode arguments should be tuples, Layout((4,)): with plain `4:1` the
    two products refuse some pairs that they take in the other order.
    """
    return _interleaved(block, tiler, block_first=False)


def _interleaved(block: Layout | ComposedLayout, tiler: Layout, *, block_first: bool) -> Any:
    if isinstance(block, ComposedLayout):
        outer = _interleaved(block.outer, tiler, block_first=block_first)
        return ComposedLayout(block.inner, block.offset, outer)
    _require_layout(tiler)
    rank = max(block.rank, tiler.rank)
    within, over = logical_product(_padded(block, rank), _padded(tiler, rank))
    if block_first:
        return _zipped(within, over)
    return coalesce(_zipped(over, within), (1,) * rank)


def _zipped(first: Layout, second: Layout) -> Layout:
    """The modes of two layouts in pairs; one pair if the first has no modes of its own."""
    if not isinstance(first.shape, tuple):
        return joined([joined([first, second])])
    if not isinstance(second.shape, tuple) or first.rank != second.rank:
        raise usage_error(
            "blocked or raked product",
            f"{first} and {second}",
            "block and tiler with the same number of modes",
            "write a one-mode layout with a tuple, Layout((4,))",
        )
    return joined([joined(list(pair)) for pair in zip(first, second, strict=True)])


def _padded(layout: Layout, rank: int) -> Layout:
    """The layout with modes 1:0 appended up to a rank."""
    if layout.rank == rank:
        return layout
    return joined([*layout, *[Layout(1, 0)] * (rank - layout.rank)])


def _require_layout(tiler: Any) -> None:
    if not isinstance(tiler, Layout):
        raise usage_error(
            "product: tiler", brief(tiler), "a Layout", "write Layout((2, 3)), say, for (2, 3)"
        )
