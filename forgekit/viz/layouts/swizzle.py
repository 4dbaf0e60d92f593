"""The picture of a swizzled layout: each element's offset and bank, coloured by the bank."""

from __future__ import annotations

from typing import Any

import numpy as np

from forgekit.arguments import checked
from forgekit.errors import usage_error
from forgekit.layouts import ComposedLayout, Layout, read
from forgekit.viz.compose import blocks_of, compose
from forgekit.viz.grid import Content, Grid, cell_size, plain_axis
from forgekit.viz.layouts.banks import BANKS, bank_of, describe_ways, element_width, worst_ways
from forgekit.viz.layouts.offsets import Cells
from forgekit.viz.layouts.reading import Array, offsets_of, read_layout
from forgekit.viz.palette import bank_colour
from forgekit.viz.picture import LayoutPicture
from forgekit.viz.scene import Swatch


@checked()
def draw_swizzle_layout(layout: Any, *, element_bits: int | None = None) -> LayoutPicture:
    """Each element's offset and bank in shared memory, and how a warp fares that reads a row or a
    column.

    Args:
        layout: of rank 1 or 2, composed with a swizzle or not; offsets count elements.
        element_bits: an element's width; by default the tensor's own, or 32.

    Raises:
        UsageError: as `draw_layout`; rank above 2; a width that no type has.
    """
    described, layout = read(layout), read_layout(layout)
    bits = element_width(element_bits, described.dtype)
    if layout.rank not in (1, 2):
        remedy = "slice it: layout((None, None, 0))"
        raise usage_error("layout", f"{layout} of rank {layout.rank}", "rank 1 or 2", remedy)
    rows = layout.size(0) if layout.rank == 2 else 1
    columns = layout.size() // rows
    offsets, title = offsets_of(layout), str(layout)
    if offsets.ndim != 1:
        raise usage_error("layout", layout, "offsets into memory", "draw it with draw_layout")
    plain = _without_swizzle(layout)
    if (swizzle := described.pointer_swizzle) is not None:
        plain, title = offsets, f"{layout} behind a pointer with {swizzle} of bytes"
        offsets = np.array([swizzle(int(o) * bits // 8) * 8 // bits for o in offsets], np.int64)
    cells = Cells(layout, offsets)
    grid = _banks_grid(cells, bits, rows, columns)
    table = offsets.reshape(columns, rows).T
    before = None if plain is None else plain.reshape(columns, rows).T
    lines = [*cells.described(), *_conflicts(table, before, bits)]
    used = [b for b in range(BANKS) if (offsets * bits // 32 % BANKS == b).any()]
    swatches = [Swatch(tuple(bank_colour(b) for b in used), _banks_text(used))]
    notes = [f"in each cell: the offset, and b: its bank, for elements of {bits} bits. "
             "A hue is 16 bytes (4 banks), which is what one row of ldmatrix reads."]  # fmt: skip
    words = ". ".join([f"Layout {title} in shared memory", *lines, *notes, cells.spelt_out(),
                       _banks_spelt_out(offsets, bits)])  # fmt: skip
    return LayoutPicture(
        compose(title, lines, blocks_of([grid]), words=words, swatches=swatches, notes=notes)
    )


def _banks_grid(cells: Cells, bits: int, rows: int, columns: int) -> Grid:
    def content(row: int, column: int) -> Content:
        index = column * rows + row
        bank, of_offset = bank_of(int(cells.offsets[index]), bits), cells.content(index)
        data = (*of_offset.data, ("bank", str(bank)))
        return Content(bank_colour(bank), (*of_offset.lines, f"b{bank}"), data=data)

    longest = max(len(str(int(cells.offsets.max()))), 3)
    return Grid("layout", rows, columns, content, plain_axis(rows), plain_axis(columns),
                cell=cell_size(columns, longest, lines=2))  # fmt: skip


def _banks_text(used: list[int]) -> str:
    if len(used) == BANKS or used == list(range(used[0], used[-1] + 1)):
        return f"bank {used[0]} to {used[-1]}" if len(used) > 1 else f"bank {used[0]}"
    return f"{len(used)} banks: {used[0]} … {used[-1]}"


def _without_swizzle(layout: Layout | ComposedLayout) -> Array | None:
    """The offsets of the same layout without its swizzle; None if it has none."""
    if not isinstance(layout, ComposedLayout) or isinstance(layout.inner, Layout):
        return None
    return offsets_of(layout.outer)


def _conflicts(table: Array, plain: Array | None, bits: int) -> list[str]:
    """How a warp fares that reads a row or a column, with the swizzle and without."""
    now = worst_ways(table, bits)
    before = now if plain is None else worst_ways(plain, bits)
    lines = []
    for name, elements, ways, without in zip(
        ("row", "column"), table.shape[::-1], now, before, strict=True
    ):
        if elements > 1:
            more = f" ({describe_ways(without)} without the swizzle)" if without != ways else ""
            lines.append(f"a warp that reads a {name}: {describe_ways(ways)}{more}")
    return lines


def _banks_spelt_out(offsets: Array, bits: int) -> str:
    if len(offsets) > 64:
        return ""
    banks = ", ".join(str(bank_of(int(offset), bits)) for offset in offsets)
    return f"Banks in the same order: {banks}."
