"""Draw the offset of every coordinate in a layout or a table, as a bar, grids or tiles.

A cell's colour shows its element's position in memory, from light (first) to dark (last).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from forgekit.arguments import checked, dense, integer_or_none
from forgekit.errors import brief, usage_error
from forgekit.layouts import ComposedLayout, Layout
from forgekit.layouts.tuples import parts, product
from forgekit.layouts.tuples import text as cute_text
from forgekit.text import plural
from forgekit.viz.compose import blocks_of, compose
from forgekit.viz.grid import Axis, Content, Grid, cell_size, nested_axis, plain_axis
from forgekit.viz.layouts.reading import MOST_CELLS, read_table
from forgekit.viz.palette import PAPER, offset_colour
from forgekit.viz.picture import LayoutPicture
from forgekit.viz.scene import Array, Swatch

_NEUTRAL = "#E8F1F8"  # colour of a cell that shows a coordinate
MOST_SPELT = 64  # maximum number of cells that a description lists one by one
_BAR = 32  # cells per row for a layout with one mode
_MOST_PANELS = 64
_TILES_NOTE = "inside a heavy frame: mode 0, a tile; the frames themselves: mode 1, the tiles"
_AXES_NOTE = "beside the cells: the innermost entry of each mode; further out: its outer entries"
_REMEDY = "pass rows of offsets of equal length, such as [[0, 1, 2], [3, 4, 5]]"
_BIGGEST = np.iinfo(np.int64).max


@checked()
def draw_layout(layout: Any, *, flatten_hierarchical: bool = True) -> LayoutPicture:
    """Draw the offset of every coordinate in a layout. Mode 0 runs down and mode 1 across; each
    coordinate of the other modes has its own grid.

    Args:
        layout: a CuTe layout (during tracing), a forgekit layout, a tensor, a layout as CuTe prints
            it, or a tuple (shape, stride).
        flatten_hierarchical: False shows nested modes, with their coordinates on the axes and a
            border around each group. If both modes are nested pairs, as after zipped_divide, mode 0
            is drawn as a tile and mode 1 as the tile's position.

    Raises:
        UsageError: `layout` is not a layout, has dynamic modes, or has more than 65,536 cells.
    """
    layout, offsets = read_table(layout)
    if layout.rank == 0:
        raise usage_error("layout", layout, "at least one mode", "give it a mode, such as 1:0")
    cells, modes = Cells(layout, offsets), parts(layout.shape)
    nested = not flatten_hierarchical
    notes: list[str] = []
    if nested and len(modes) == 2 and all(isinstance(m, tuple) and len(m) == 2 for m in modes):
        grids, notes = [_tiles_grid(cells)], [_TILES_NOTE]
    elif layout.rank == 1:
        grids = [_bar_grid(cells, nested)]
    else:
        grids = _slices(cells, nested)
        if nested and layout.depth > 1:
            notes = [_AXES_NOTE]
    lines = cells.described()
    words = ". ".join([f"Layout {layout}", *lines, *notes, cells.spelt_out()])
    return LayoutPicture(
        compose(str(layout), lines, blocks_of(grids), words=words, swatches=cells.legend(grids),
                notes=notes)
    )  # fmt: skip


def _axis(shape: Any, nested: bool) -> Axis:
    return nested_axis(shape) if nested else plain_axis(product(shape))


def _bar_grid(cells: Cells, nested: bool) -> Grid:
    """Draw a single mode as a bar, split into rows if it is long."""
    size = len(cells.offsets)
    columns = min(size, _BAR)
    rows = -(-size // _BAR)
    across, down = plain_axis(columns), plain_axis(rows, step=columns)
    if rows == 1:
        across, down = _axis(parts(cells.layout.shape)[0], nested), Axis(())

    def content(row: int, column: int) -> Content:
        index = row * columns + column
        return cells.content(index) if index < size else Content(PAPER, hatched=True)

    return Grid("layout", rows, columns, content, down, across,
                cell=cell_size(columns, cells.longest))  # fmt: skip


def _slices(cells: Cells, nested: bool) -> list[Grid]:
    """Draw mode 0 down and mode 1 across, with one grid per coordinate of the other modes."""
    modes = parts(cells.layout.shape)
    rows, columns, *others = map(product, modes)
    count = math.prod(others)
    if count > _MOST_PANELS:
        remedy = "draw fewer slices: slice the layout, or group its modes into two"
        needed = f"at most {_MOST_PANELS} slices of {rows} × {columns}"
        raise usage_error(f"layout {cells.layout}", f"{count:,}", needed, remedy)
    cell = cell_size(columns * min(count, 3), cells.longest)
    grids = []
    counts = itertools.product(*map(range, reversed(others)))  # the leftmost mode varies fastest
    for part, place in enumerate(counts):

        def content(row: int, column: int, start: int = part * rows * columns) -> Content:
            return cells.content(start + column * rows + row)

        caption = f"(_,_,{','.join(map(str, reversed(place)))})" if others else ""
        name = f"layout {caption}".strip()
        grids.append(Grid(name, rows, columns, content, _axis(modes[0], nested),
                          _axis(modes[1], nested), caption=caption, cell=cell))  # fmt: skip
    return grids


def _tiles_grid(cells: Cells) -> Grid:
    """Draw the matrix that zipped_divide divided, with each tile at its position."""
    inner, outer = parts(cells.layout.shape)
    tile_rows, tile_columns = map(product, inner)
    grid_rows, grid_columns = map(product, outer)

    def content(row: int, column: int) -> Content:
        within = row % tile_rows + column % tile_columns * tile_rows
        tile = row // tile_rows + column // tile_columns * grid_rows
        return cells.content(within + tile * tile_rows * tile_columns)

    rows, columns = tile_rows * grid_rows, tile_columns * grid_columns
    return Grid("layout", rows, columns, content, nested_axis((tile_rows, grid_rows)),
                nested_axis((tile_columns, grid_columns)),
                cell=cell_size(columns, cells.longest))  # fmt: skip


# -- tables of offsets -------------------------------------------------------------------------
@checked()
def draw_offsets(table: Any, *, title: str = "offsets") -> LayoutPicture:
    """Draw a table of offsets like `draw_layout`, but with `title` in place of the layout.

    Args:
        table: rows of integers, as nested lists or tuples, or as a two-dimensional array.
        title: the text at the top of the picture.

    Raises:
        UsageError: the table does not consist of rows of integers, its rows differ in length, or it
            has more than 65,536 cells.
    """
    offsets = read_offsets(table)
    rows, columns = offsets.shape
    coordinates = Layout((rows, columns))  # used only for each cell's (row, column)
    cells = Cells(coordinates, offsets.reshape(-1, order="F"))
    grid = Grid("layout", rows, columns, lambda i, j: cells.content(i + j * rows),
                plain_axis(rows), plain_axis(columns),
                cell=cell_size(columns, cells.longest))  # fmt: skip
    line = f"{rows:,} × {columns:,}: {describe_offsets(cells.offsets)}"
    words = ". ".join([title, line, cells.spelt_out()])
    scene = compose(title, [line], blocks_of([grid]), words=words, swatches=cells.legend([grid]))
    return LayoutPicture(scene)


def read_offsets(table: Any, what: str = "table of offsets") -> Array:
    """Return the table as an array of shape (rows, columns). Raise UsageError if `table` does not
    consist of rows of integers or is too large.
    """
    cells = table.size if isinstance(table, np.ndarray) else 0
    if hasattr(table, "is_nested"):  # a tensor
        cells = dense(what, table).numel()
    if cells > MOST_CELLS:  # check the size before the conversion to a list
        raise usage_error(what, brief(table), f"at most {MOST_CELLS:,} cells", _REMEDY)
    rows = table.tolist() if hasattr(table, "tolist") else table
    if not isinstance(rows, list | tuple) or not rows:
        raise usage_error(what, brief(table), "rows of integers", _REMEDY)
    for i, row in enumerate(rows):
        if not isinstance(row, list | tuple) or not row:
            raise usage_error(f"{what}, row {i}", brief(row), "integers", _REMEDY)
        if len(row) != len(rows[0]):
            needed = f"{len(rows[0])}, as in row 0"
            raise usage_error(f"{what}, row {i}", f"{len(row)} entries", needed, _REMEDY)
    if (count := len(rows) * len(rows[0])) > MOST_CELLS:
        got, most = f"{count:,} cells", f"at most {MOST_CELLS:,}"
        raise usage_error(what, got, most, "draw part of it")
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            offset = integer_or_none(entry)
            if offset is None or abs(offset) > _BIGGEST:
                where = f"{what}, row {i}, column {j}"
                integer = "an integer" if offset is None else "an integer of 64 bits"
                raise usage_error(where, brief(entry), integer, _REMEDY)
    return np.array(rows, np.int64)


# -- the texts of cells and descriptions -------------------------------------------------------
class Cells:
    """A layout's cells, whose texts are selected by linear index.

    offsets: the result of `reading.offsets_of`; span: the lowest and the highest offset, or None if
    the offsets are coordinates.
    """

    def __init__(self, layout: Layout | ComposedLayout, offsets: Array) -> None:
        self.layout, self.offsets = layout, offsets
        self.span = (int(offsets.min()), int(offsets.max())) if offsets.ndim == 1 else None

    def text(self, index: int) -> str:
        return ",".join(map(str, np.atleast_1d(self.offsets[index]).tolist()))

    def coordinate(self, index: int) -> str:
        """Return the coordinate of an index in CuTe's format, such as `(1,(0,1))`."""
        return cute_text(self.layout.coordinate(index))

    def content(self, index: int) -> Content:
        text, fill = self.text(index), _NEUTRAL
        if self.span is not None:
            low, high = self.span
            fill = offset_colour(int(self.offsets[index]) - low, high - low + 1)
        data = ("index", str(index)), ("coord", self.coordinate(index)), ("offset", text)
        return Content(fill, (text,), data=data)

    def legend(self, grids: Sequence[Grid]) -> list[Swatch]:
        if self.span is None or not any(g.is_large for g in grids):
            return []
        ramp = tuple(offset_colour(i, 12) for i in range(12))
        return [Swatch(ramp, f"offset {self.span[0]:,} to {self.span[1]:,}")]

    @property
    def longest(self) -> int:
        columns = self.offsets.reshape(len(self.offsets), -1)
        extremes = {*columns.argmin(axis=0), *columns.argmax(axis=0), len(columns) - 1}
        return max(len(self.text(i)) for i in extremes)

    def described(self) -> list[str]:
        """Describe the layout: `size 64, cosize 64: each offset from 0 to 63 once`."""
        head = f"size {self.layout.size():,}, cosize {self.layout.cosize():,}"
        if self.span is None:
            return [f"{head}: offsets are coordinates"]
        return [f"{head}: {describe_offsets(self.offsets)}"]

    def spelt_out(self) -> str:
        """Return text that lists each coordinate with its offset, or an empty string if there are
        too many.
        """
        if len(self.offsets) > MOST_SPELT:
            return ""
        form = "{}" if self.span else "({})"
        pairs = [f"{self.coordinate(i)} to {form.format(self.text(i))}"
                 for i in range(len(self.offsets))]  # fmt: skip
        return "Coordinate to offset: " + ", ".join(pairs) + "."


def describe_offsets(offsets: Array) -> str:
    """Describe the range of the offsets and the number of shared or unused offsets, for example as
    `each offset from 0 to 63 once`.
    """
    found, size = np.unique(offsets), offsets.size
    low, high = int(found[0]), int(found[-1])
    if len(found) < size:
        shared = f"{plural(size, 'coordinate')} share {plural(len(found), 'offset')}"
        return f"{shared}, {low:,} to {high:,}"
    if high - low + 1 == size:
        return f"each offset from {low:,} to {high:,} once"
    return f"offsets {low:,} to {high:,}, {high - low + 1 - size:,} of them unused"
