"""The picture of a layout: the offset of every coordinate, coloured by where it lies in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from forgekit.errors import brief, usage_error
from forgekit.layouts import ComposedLayout, Layout
from forgekit.viz.layouts.compose import Swatch, blocks_of, compose
from forgekit.viz.layouts.grid import Axis, Content, Grid, nested_axis, plain_axis
from forgekit.viz.layouts.palette import offset_colour
from forgekit.viz.layouts.reading import Array, read_table
from forgekit.viz.layouts.scene import Scene
from forgekit.viz.layouts.words import offsets_told, table_in_words

_BAR = 32  # cells in a row of a layout of one mode
_MOST_PANELS = 64
_NEUTRAL = "#E8F1F8"


def layout_scene(value: Any, *, flatten_hierarchical: bool = True, arrange: str | None = None
                 ) -> Scene:  # fmt: skip
    """The scene of a layout of any rank; see `forgekit.viz.draw_layout`."""
    if arrange not in (None, "modes", "tiles"):
        needed = "None, 'modes' or 'tiles'"
        remedy = "'modes': mode 0 down and mode 1 across; 'tiles': mode 1 counts tiles of mode 0"
        raise usage_error("arrange", brief(arrange), needed, remedy)
    layout, offsets = read_table(value)
    if layout.rank == 0:
        remedy = "give it a mode, such as 1:0"
        raise usage_error("layout", layout, "at least one mode", remedy)
    table = Table(layout, offsets)
    nested = not flatten_hierarchical
    notes: list[str] = []
    if nested and _as_tiles(layout, arrange):
        grids, notes = [_tiles_grid(table)], [_TILES_NOTE]
    elif layout.rank == 1:
        grids = [_bar_grid(table, nested)]
    else:
        grids = _slices(table, nested)
        if nested and layout.depth > 1:
            notes = ["beside the cells the innermost entry of each mode, the outer ones further "
                     "out"]  # fmt: skip
    told = offsets_told(layout, table.offsets)
    words = ". ".join([f"Layout {layout}", *told, *notes, table_in_words(layout, table.offsets)])
    swatches = table.legend(grids)
    return compose(str(layout), told, blocks_of(grids), words=words, swatches=swatches, notes=notes)


_TILES_NOTE = "inside a heavy frame: mode 0, a tile; the frames themselves: mode 1, the tiles"


class Table:
    """A layout's offsets and how a cell shows one."""

    def __init__(self, layout: Layout | ComposedLayout, offsets: Array) -> None:
        self.layout, self.offsets = layout, offsets
        self.span: tuple[int, int] | None = None
        if self.offsets.ndim == 1:
            self.span = int(self.offsets.min()), int(self.offsets.max())

    def text(self, index: int) -> str:
        offset = self.offsets[index]
        return ",".join(str(int(x)) for x in offset) if offset.ndim else str(int(offset))

    def fill(self, index: int) -> str:
        if self.span is None:
            return _NEUTRAL
        low, high = self.span
        return offset_colour(int(self.offsets[index]) - low, high - low + 1)

    def content(self, index: int) -> Content:
        data = (("index", str(index)), ("coord", nested_text(self.layout.coordinate(index))),
                ("offset", self.text(index)))  # fmt: skip
        return Content(self.fill(index), (self.text(index),), data=data)

    def legend(self, grids: Sequence[Grid]) -> list[Swatch]:
        """Colours to offsets, where a grid is an overview without numbers."""
        if self.span is None or not any(g.is_large for g in grids):
            return []
        low, high = self.span
        ramp = tuple(offset_colour(i, 12) for i in range(12))
        return [Swatch(ramp, f"offset {low:,} to {high:,}")]

    @property
    def longest(self) -> int:
        return max(len(self.text(i)) for i in self._extremes())

    def _extremes(self) -> list[int]:
        columns = self.offsets.reshape(len(self.offsets), -1)
        found = [int(f(columns[:, c])) for c in range(columns.shape[1])
                 for f in (np.argmin, np.argmax)]  # fmt: skip
        return [*found, len(self.offsets) - 1]


def nested_text(coord: Any) -> str:
    """A coordinate as CuTe writes it: `(1,(0,1))`."""
    if isinstance(coord, tuple):
        return "(" + ",".join(nested_text(part) for part in coord) + ")"
    return str(coord)


def cell_size(columns: int, longest: int, *, lines: int = 1) -> tuple[float, float]:
    """Width and height of a cell, px: generous in small pictures, tighter in wide ones."""
    side = 40.0 if columns <= 8 else 36.0 if columns <= 16 else 29.0 if columns <= 32 else 25.0
    if lines > 1:
        side = 40.0 if columns <= 8 else 36.0 if columns <= 16 else 30.0
    return max(side, longest * 6.0 + 6.0), side


# -- arrangements -----------------------------------------------------------------------------
def _axis(shape: Any, nested: bool) -> Axis:
    size = math.prod(_flat(shape))
    return nested_axis(shape) if nested else plain_axis(size)


def _flat(shape: Any) -> list[int]:
    return [x for part in shape for x in _flat(part)] if isinstance(shape, tuple) else [shape]


def _modes(layout: Layout | ComposedLayout) -> tuple[Any, ...]:
    return layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)


def _bar_grid(table: Table, nested: bool) -> Grid:
    """One mode: a bar, broken into rows where it is long."""
    size = len(table.offsets)
    shape = _modes(table.layout)[0]
    if size <= _BAR:
        columns, rows, across, down = size, 1, _axis(shape, nested), Axis(())
    else:
        columns, rows = _BAR, -(-size // _BAR)
        across, down = plain_axis(columns), plain_axis(rows, step=columns)

    def content(row: int, column: int) -> Content:
        index = row * columns + column
        return table.content(index) if index < size else Content("#FFFFFF", hatched=True)

    return Grid("layout", rows, columns, content, down, across,
                cell=cell_size(columns, table.longest))  # fmt: skip


def _slices(table: Table, nested: bool) -> list[Grid]:
    """Mode 0 down, mode 1 across, and a grid for each coordinate of the others."""
    modes = _modes(table.layout)
    rows, columns = math.prod(_flat(modes[0])), math.prod(_flat(modes[1]))
    others = [math.prod(_flat(mode)) for mode in modes[2:]]
    count = math.prod(others)
    if count > _MOST_PANELS:
        remedy = "draw fewer of them: slice the layout, or group its modes into two"
        needed = f"at most {_MOST_PANELS} slices of {rows} × {columns}"
        raise usage_error(f"layout {table.layout}", f"{count:,}", needed, remedy)
    cell = cell_size(columns * min(count, 3), table.longest)
    grids = []
    for part in range(count):

        def content(row: int, column: int, start: int = part * rows * columns) -> Content:
            return table.content(start + column * rows + row)

        where, rest = [], part
        for size in others:
            where.append(str(rest % size))
            rest //= size
        caption = f"(_,_,{','.join(where)})" if others else ""
        name = f"layout {caption}".strip()
        grids.append(Grid(name, rows, columns, content, _axis(modes[0], nested),
                          _axis(modes[1], nested), caption=caption, cell=cell))  # fmt: skip
    return grids


def _as_tiles(layout: Layout | ComposedLayout, arrange: str | None) -> bool:
    """Whether mode 0 is drawn as a tile and mode 1 as the grid of tiles."""
    modes = _modes(layout)
    fits = len(modes) == 2 and all(len(_pair(m)) == 2 for m in modes)
    if arrange == "tiles" and not fits:
        needed = "two modes of at most two entries each, such as ((2,2),(3,4))"
        remedy = "use arrange='modes'"
        raise usage_error("arrange='tiles'", layout, needed, remedy)
    both = fits and all(isinstance(m, tuple) for m in modes)
    return fits if arrange == "tiles" else both and arrange is None


def _pair(mode: Any) -> tuple[Any, ...]:
    """A mode as rows and columns of a tile; a single entry runs down."""
    if not isinstance(mode, tuple):
        return mode, 1
    return (mode[0], 1) if len(mode) == 1 else mode


def _tiles_grid(table: Table) -> Grid:
    """As a matrix that zipped_divide took apart: each tile where it lay."""
    inner, outer = (_pair(mode) for mode in _modes(table.layout))
    tile_rows, tile_columns = (math.prod(_flat(x)) for x in inner)
    grid_rows, grid_columns = (math.prod(_flat(x)) for x in outer)
    size = tile_rows * tile_columns

    def content(row: int, column: int) -> Content:
        within = row % tile_rows + column % tile_columns * tile_rows
        tile = row // tile_rows + column // tile_columns * grid_rows
        return table.content(within + tile * size)

    rows, columns = tile_rows * grid_rows, tile_columns * grid_columns
    return Grid("layout", rows, columns, content, nested_axis((tile_rows, grid_rows)),
                nested_axis((tile_columns, grid_columns)),
                cell=cell_size(columns, table.longest))  # fmt: skip
