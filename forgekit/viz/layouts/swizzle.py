"""Draw a layout's shared-memory banks, and compute the bank conflicts when a warp reads a row or a
column.

There are 32 banks, each 4 bytes wide; an address is in bank (byte address / 4) mod 32. Lanes that
need different words of the same bank are served one after another; lanes that need the same word
are served together. Loads wider than 4 bytes per lane are served in groups of lanes that together
need 128 bytes. (CUDA C++ Programming Guide, shared memory.)
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from forgekit.arguments import checked
from forgekit.errors import brief, usage_error
from forgekit.layouts import ComposedLayout, Layout, read
from forgekit.viz.compose import blocks_of, compose
from forgekit.viz.grid import Content, Grid, cell_size, plain_axis
from forgekit.viz.layouts.offsets import MOST_SPELT, Cells
from forgekit.viz.layouts.reading import offsets_of, read_layout
from forgekit.viz.palette import bank_colour
from forgekit.viz.picture import LayoutPicture
from forgekit.viz.scene import Array, Swatch

BANKS, BANK_BITS = 32, 32
_WARP, _SERVED_BITS = 32, 1024
_WIDTHS = (4, 8, 16, 32, 64, 128)


@checked()
def draw_swizzle_layout(layout: Any, *, element_bits: int | None = None) -> LayoutPicture:
    """Draw each element's offset and bank in shared memory, and report the bank conflicts when a
    warp reads a row or a column.

    Args:
        layout: a layout of rank 1 or 2, with or without a swizzle; offsets are in elements.
        element_bits: the width of an element in bits; by default the width of the tensor's
            elements, or 32.

    Raises:
        UsageError: as in `draw_layout`; also if the rank is above 2, or if no element type has this
            width.
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
    plain = offsets
    if isinstance(layout, ComposedLayout) and not isinstance(layout.inner, Layout):
        plain = offsets_of(layout.outer)
    if (swizzle := described.pointer_swizzle) is not None:
        title = f"{layout} at a pointer whose byte addresses use {swizzle}"
        offsets = np.array([swizzle(int(o) * bits // 8) * 8 // bits for o in offsets], np.int64)
    cells = Cells(layout, offsets)
    grid = _banks_grid(cells, bits, rows, columns)
    table, before = (each.reshape(columns, rows).T for each in (offsets, plain))
    lines = [*cells.described(), *_conflicts(table, before, bits)]
    banks = [bank_of(int(offset), bits) for offset in offsets]
    used = sorted({*banks})
    swatches = [Swatch(tuple(bank_colour(b) for b in used), _banks_text(used))]
    spelt = ", ".join(map(str, banks)) if len(banks) <= MOST_SPELT else ""
    notes = [f"in each cell: the offset, and b: its bank, for {bits}-bit elements. Each hue marks "
             "16 bytes (4 banks), one row of ldmatrix."]  # fmt: skip
    words = ". ".join([f"Layout {title} in shared memory", *lines, *notes, cells.spelt_out(),
                       spelt and f"Banks in the same order: {spelt}."])  # fmt: skip
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
    if len(used) == 1:
        return f"bank {used[0]}"
    if len(used) == used[-1] + 1 - used[0]:
        return f"bank {used[0]} to {used[-1]}"
    return f"{len(used)} banks: {used[0]} … {used[-1]}"


def _conflicts(table: Array, plain: Array, bits: int) -> list[str]:
    lines = []
    for name, elements, ways, without in zip(
        ("row", "column"), table.shape[::-1], worst_ways(table, bits), worst_ways(plain, bits),
        strict=True,
    ):  # fmt: skip
        if elements > 1:
            more = f" ({describe_ways(without)} without the swizzle)" if without != ways else ""
            lines.append(f"a warp that reads a {name}: {describe_ways(ways)}{more}")
    return lines


# -- banks and their conflicts ------------------------------------------------------------------
def element_width(element_bits: Any, dtype: str | None) -> int:
    if element_bits is None:
        digits = "".join(c for c in (dtype or "f32").partition("E")[0] if c.isdigit())
        element_bits = int(digits) if digits and int(digits) in _WIDTHS else 32
    if element_bits not in _WIDTHS or isinstance(element_bits, bool):
        remedy = "16 for Float16 and BFloat16, 32 for Float32"
        needed = "one of " + ", ".join(map(str, _WIDTHS))
        raise usage_error("element_bits", brief(element_bits), needed, remedy)
    return int(element_bits)


def bank_of(offset: int, element_bits: int) -> int:
    return offset * element_bits // BANK_BITS % BANKS


def conflict_ways(offsets: Array, element_bits: int) -> int:
    """Return the maximum number of words that a group of lanes reads from a bank if lane i reads
    the element at offsets[i]; 1 means no conflict.

    More than 32 elements are read by several warps.
    """
    lanes = max(min(_WARP, _SERVED_BITS // element_bits), 1)
    each = max(element_bits // BANK_BITS, 1)  # words per element
    worst = 1
    for warp in range(0, len(offsets), _WARP):
        of_warp = offsets[warp : warp + _WARP]
        for start in range(0, len(of_warp), lanes):
            first = of_warp[start : start + lanes] * element_bits // BANK_BITS
            words = np.unique((first[:, None] + np.arange(each)).reshape(-1))
            worst = max(worst, *Counter((words % BANKS).tolist()).values())
    return worst


def worst_ways(table: Array, element_bits: int) -> tuple[int, int]:
    row, column = (max(conflict_ways(line, element_bits) for line in t) for t in (table, table.T))
    return row, column


def describe_ways(ways: int) -> str:
    return "no conflict" if ways == 1 else f"{ways}-way conflict"
