"""The picture of a layout: the offset of every coordinate, as a bar, as grids or as tiles."""

from __future__ import annotations

import itertools
import math
from typing import Any

from forgekit.arguments import checked
from forgekit.errors import brief, usage_error
from forgekit.layouts import ComposedLayout, Layout
from forgekit.layouts.tuples import parts, product
from forgekit.viz.compose import blocks_of, compose
from forgekit.viz.grid import Axis, Content, Grid, cell_size, nested_axis, plain_axis
from forgekit.viz.layouts.offsets import Cells
from forgekit.viz.layouts.reading import read_table
from forgekit.viz.palette import PAPER
from forgekit.viz.picture import LayoutPicture

_BAR = 32  # cells in a row of a layout of one mode
_MOST_PANELS = 64
_TILES_NOTE = "inside a heavy frame: mode 0, a tile; the frames themselves: mode 1, the tiles"
_AXES_NOTE = "beside the cells the innermost entry of each mode, the outer ones further out"


@checked()
def draw_layout(
    layout: Any, *, flatten_hierarchical: bool = True, arrange: str | None = None
) -> LayoutPicture:
    """The offset of every coordinate: mode 0 down, mode 1 across, a grid for each of the others.

    Args:
        layout: CuTe's (while it is traced) or forgekit's, a tensor, the text that CuTe prints, or a
            tuple (shape, stride).
        flatten_hierarchical: False shows nested modes as such, with their coordinates on the axes
            and a border round each group.
        arrange: how nested modes lie. "modes": mode 0 down, mode 1 across. "tiles": mode 0 is a
            tile and mode 1 counts tiles, as zipped_divide leaves a matrix; None takes this where
            both modes are nested pairs.

    Raises:
        UsageError: no layout, dynamic modes, or more than 65,536 cells.
    """
    if arrange not in (None, "modes", "tiles"):
        needed = "None, 'modes' or 'tiles'"
        remedy = "'modes': mode 0 down and mode 1 across; 'tiles': mode 1 counts tiles of mode 0"
        raise usage_error("arrange", brief(arrange), needed, remedy)
    layout, offsets = read_table(layout)
    if layout.rank == 0:
        raise usage_error("layout", layout, "at least one mode", "give it a mode, such as 1:0")
    cells = Cells(layout, offsets)
    nested = not flatten_hierarchical
    notes: list[str] = []
    if nested and _as_tiles(layout, arrange):
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
    """One mode: a bar, broken into rows where it is long."""
    size = len(cells.offsets)
    if size <= _BAR:
        columns, rows = size, 1
        across, down = _axis(parts(cells.layout.shape)[0], nested), Axis(())
    else:
        columns, rows = _BAR, -(-size // _BAR)
        across, down = plain_axis(columns), plain_axis(rows, step=columns)

    def content(row: int, column: int) -> Content:
        index = row * columns + column
        return cells.content(index) if index < size else Content(PAPER, hatched=True)

    return Grid("layout", rows, columns, content, down, across,
                cell=cell_size(columns, cells.longest))  # fmt: skip


def _slices(cells: Cells, nested: bool) -> list[Grid]:
    """Mode 0 down, mode 1 across, and a grid for each coordinate of the others."""
    modes = parts(cells.layout.shape)
    rows, columns, *others = map(product, modes)
    count = math.prod(others)
    if count > _MOST_PANELS:
        remedy = "draw fewer of them: slice the layout, or group its modes into two"
        needed = f"at most {_MOST_PANELS} slices of {rows} × {columns}"
        raise usage_error(f"layout {cells.layout}", f"{count:,}", needed, remedy)
    cell = cell_size(columns * min(count, 3), cells.longest)
    grids = []
    counts = itertools.product(*map(range, reversed(others)))  # the leftmost mode is the fastest
    for part, place in enumerate(counts):

        def content(row: int, column: int, start: int = part * rows * columns) -> Content:
            return cells.content(start + column * rows + row)

        caption = f"(_,_,{','.join(map(str, reversed(place)))})" if others else ""
        name = f"layout {caption}".strip()
        grids.append(Grid(name, rows, columns, content, _axis(modes[0], nested),
                          _axis(modes[1], nested), caption=caption, cell=cell))  # fmt: skip
    return grids


def _as_tiles(layout: Layout | ComposedLayout, arrange: str | None) -> bool:
    """Whether mode 0 is drawn as a tile and mode 1 as the grid of tiles."""
    modes = parts(layout.shape)
    fits = len(modes) == 2 and all(len(_pair(m)) == 2 for m in modes)
    if arrange == "tiles" and not fits:
        needed = "two modes of at most two entries each, such as ((2,2),(3,4))"
        raise usage_error("arrange='tiles'", layout, needed, "use arrange='modes'")
    both = fits and all(isinstance(m, tuple) for m in modes)
    return fits if arrange == "tiles" else both and arrange is None


def _pair(mode: Any) -> tuple[Any, ...]:
    """A mode as rows and columns of a tile; a single entry runs down."""
    entries = parts(mode)
    return (*entries, 1) if len(entries) == 1 else entries


def _tiles_grid(cells: Cells) -> Grid:
    """As a matrix that zipped_divide took apart: each tile where it lay."""
    inner, outer = (_pair(mode) for mode in cells.layout.shape)
    tile_rows, tile_columns = map(product, inner)
    grid_rows, grid_columns = map(product, outer)
    size = tile_rows * tile_columns

    def content(row: int, column: int) -> Content:
        within = row % tile_rows + column % tile_columns * tile_rows
        tile = row // tile_rows + column // tile_columns * grid_rows
        return cells.content(within + tile * size)

    rows, columns = tile_rows * grid_rows, tile_columns * grid_columns
    return Grid("layout", rows, columns, content, nested_axis((tile_rows, grid_rows)),
                nested_axis((tile_columns, grid_columns)),
                cell=cell_size(columns, cells.longest))  # fmt: skip
