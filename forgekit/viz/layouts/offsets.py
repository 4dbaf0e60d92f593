"""The picture of a table of offsets: drawn as a layout is, without saying which layout it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from forgekit.arguments import dense
from forgekit.errors import brief, usage_error
from forgekit.layouts import Layout
from forgekit.layouts.tuples import integer_or_none
from forgekit.viz.layouts.compose import blocks_of, compose
from forgekit.viz.layouts.grid import Grid, plain_axis
from forgekit.viz.layouts.plain import Table, cell_size
from forgekit.viz.layouts.reading import MOST_CELLS, Array
from forgekit.viz.layouts.scene import Scene
from forgekit.viz.layouts.words import offsets_in_words, table_in_words

_REMEDY = "give equally long rows of offsets, such as [[0, 1, 2], [3, 4, 5]]"
_BIGGEST = np.iinfo(np.int64).max


def offsets_scene(table: Any, *, title: str) -> Scene:
    """The scene of a table of offsets; see `forgekit.viz.draw_offsets`."""
    offsets = read_offsets(table)
    rows, columns = offsets.shape
    coordinates = Layout((rows, columns))  # only says which (row, column) a cell is
    drawn = Table(coordinates, offsets.reshape(-1, order="F"))
    grid = Grid("layout", rows, columns, lambda i, j: drawn.content(i + j * rows),
                plain_axis(rows), plain_axis(columns),
                cell=cell_size(columns, drawn.longest))  # fmt: skip
    told = f"{rows:,} × {columns:,}: {offsets_in_words(drawn.offsets)}"
    words = ". ".join([str(title), told, table_in_words(coordinates, drawn.offsets)])
    return compose(str(title), [told], blocks_of([grid]), words=words,
                   swatches=drawn.legend([grid]))  # fmt: skip


def read_offsets(table: Any, what: str = "table of offsets") -> Array:
    """Nested lists, tuples or an array of integers as an array of shape (rows, columns).

    Raises UsageError: not rows of integers, rows of different lengths, no or too many cells.
    """
    needed = "rows of integers"
    cells = table.size if isinstance(table, np.ndarray) else 0
    if hasattr(table, "is_nested"):  # a tensor
        cells = dense(what, table).numel()
    if cells > MOST_CELLS:  # before it is made a list
        raise usage_error(what, brief(table), f"at most {MOST_CELLS:,} cells", _REMEDY)
    rows = table.tolist() if hasattr(table, "tolist") else table
    if not isinstance(rows, list | tuple) or not rows:
        raise usage_error(what, brief(table), needed, _REMEDY)
    lengths = []
    for i, row in enumerate(rows):
        if not isinstance(row, list | tuple) or not row:
            raise usage_error(f"{what}, row {i}", brief(row), "integers", _REMEDY)
        lengths.append(len(row))
    if len(set(lengths)) > 1:
        odd = next(i for i, length in enumerate(lengths) if length != lengths[0])
        got = f"{lengths[odd]} entries"
        same = f"{lengths[0]}, as in row 0"
        raise usage_error(f"{what}, row {odd}", got, same, _REMEDY)
    if len(rows) * lengths[0] > MOST_CELLS:
        got, most = f"{len(rows) * lengths[0]:,} cells", f"at most {MOST_CELLS:,}"
        raise usage_error(what, got, most, "draw a part of it")
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            offset = integer_or_none(entry)
            if offset is None or abs(offset) > _BIGGEST:
                where = f"{what}, row {i}, column {j}"
                integer = "an integer" if offset is None else "an integer of 64 bits"
                raise usage_error(where, brief(entry), integer, _REMEDY)
    return np.array(rows, np.int64)
