"""The picture of a swizzled layout: each element's offset and bank, coloured by the bank."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from forgekit.errors import usage_error
from forgekit.layouts import ComposedLayout, Layout, read
from forgekit.viz.layouts.banks import BANKS, bank_of, conflict_ways, element_width
from forgekit.viz.layouts.compose import Swatch, blocks_of, compose
from forgekit.viz.layouts.grid import Content, Grid, plain_axis
from forgekit.viz.layouts.palette import bank_colour
from forgekit.viz.layouts.plain import cell_size, nested_text
from forgekit.viz.layouts.reading import Array, offsets_of, read_layout
from forgekit.viz.layouts.scene import Scene
from forgekit.viz.layouts.words import offsets_told, table_in_words


def swizzle_scene(value: Any, *, element_bits: int | None = None) -> Scene:
    """The scene of a layout in shared memory; see `forgekit.viz.draw_swizzle_layout`."""
    described, layout = read(value), read_layout(value)
    bits = element_width(element_bits, described.dtype)
    if layout.rank not in (1, 2):
        remedy = "slice it: layout((None, None, 0))"
        raise usage_error("layout", f"{layout} of rank {layout.rank}", "rank 1 or 2",
                                    remedy)  # fmt: skip
    rows = layout.size(0) if layout.rank == 2 else 1
    columns = layout.size() // rows
    offsets, title = offsets_of(layout), str(layout)
    if offsets.ndim != 1:
        remedy = "draw it with draw_layout"
        raise usage_error("layout", layout, "offsets into memory", remedy)
    plain = _without_swizzle(layout)
    if described.pointer_swizzle is not None:
        swizzle = described.pointer_swizzle
        plain, title = offsets, f"{layout} behind a pointer with {swizzle} of bytes"
        offsets = np.array([swizzle(int(o) * bits // 8) * 8 // bits for o in offsets], np.int64)
    table = offsets.reshape(columns, rows).T
    longest = max(len(str(int(offsets.max()))), 3)

    def content(row: int, column: int) -> Content:
        index, offset = column * rows + row, int(table[row, column])
        bank = bank_of(offset, bits)
        data = (("index", str(index)), ("coord", nested_text(layout.coordinate(index))),
                ("offset", str(offset)), ("bank", str(bank)))  # fmt: skip
        return Content(bank_colour(bank), (str(offset), f"b{bank}"), data=data)

    grid = Grid("layout", rows, columns, content, plain_axis(rows), plain_axis(columns),
                cell=cell_size(columns, longest, lines=2))  # fmt: skip
    before = None if plain is None else plain.reshape(columns, rows).T
    told = [*offsets_told(layout, offsets), *_conflicts(table, before, bits)]
    used = [b for b in range(BANKS) if (offsets * bits // 32 % BANKS == b).any()]
    swatches = [Swatch(tuple(bank_colour(b) for b in used), _banks_text(used))]
    notes = [f"in each cell: the offset, and b: its bank, for elements of {bits} bits. "
             "A hue is 16 bytes (4 banks), which is what one row of ldmatrix reads."]  # fmt: skip
    words = ". ".join([f"Layout {title} in shared memory", *told, *notes,
                       table_in_words(layout, offsets), _in_words(offsets, bits)])  # fmt: skip
    return compose(title, told, blocks_of([grid]), words=words, swatches=swatches,
                   notes=notes)  # fmt: skip


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
    lines = []
    for name, axis in (("row", 0), ("column", 1)):
        if table.shape[1 - axis] < 2:
            continue
        ways = _worst(table, axis, bits)
        line = f"a warp that reads a {name}: {_ways(ways)}"
        if plain is not None and (before := _worst(plain, axis, bits)) != ways:
            line += f" ({_ways(before)} without the swizzle)"
        lines.append(line)
    return lines


def _worst(table: Array, axis: int, bits: int) -> int:
    lines = table if axis == 0 else table.T
    return max(conflict_ways(line, bits) for line in lines)


def _ways(ways: int) -> str:
    return "no conflict" if ways == 1 else f"{ways}-way conflict"


def _in_words(offsets: Array, bits: int) -> str:
    if math.prod(offsets.shape) > 64:
        return ""
    banks = ", ".join(str(bank_of(int(offset), bits)) for offset in offsets)
    return f"Banks in the same order: {banks}."
