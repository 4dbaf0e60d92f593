"""Draw where two tensors differ: one cell an element, or a block of them, coloured by what is wrong
there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from forgekit.arguments import checked
from forgekit.checking.check_report import CheckReport
from forgekit.checking.compare import compare, tile_sizes
from forgekit.errors import UsageError, got_needed
from forgekit.show import Picture
from forgekit.viz.cells import cell_items, cell_steps, panel, reduced, rings, wrapped_width
from forgekit.viz.compose import compose
from forgekit.viz.grid import ticks
from forgekit.viz.palette import UNTOUCHED, WRONG
from forgekit.viz.scene import Item, Line, Rect, Scene, Swatch

Array = np.ndarray[Any, np.dtype[Any]]

_COLOURS = ("quiet", WRONG, UNTOUCHED, "nan", None)  # by code; the last one for _BEYOND
_LABELS = ("equal", "wrong value", "0 or never written", "NaN")
_BEYOND = -1  # code of a cell after the end of a wrapped 1-D tensor
_MAX_GRID = 32  # up to this many cells along an axis a line is drawn between them
_MAX_TILE_LINES = 64
_MAX_FRAMES, _LEAST_FRAME = 256, 0.012  # of the picture's side
_CELL, _LEAST, _MOST = 27.0, 250.0, 480.0  # px, of an element, and of the longer side


@dataclass(frozen=True, eq=False, repr=False)
class Mismatches(Picture):
    """A picture of the elements in which two tensors differ, those of a CheckReport."""

    report: CheckReport
    tile: tuple[int, ...] | None

    @property
    def summary(self) -> str:
        """What is wrong, and where."""
        return "\n".join([self.report.headline, *self.report.hints])


@checked()
def mismatch_map(
    report_or_actual: CheckReport | object,
    expected: object = None,
    tile: int | tuple[int, ...] | None = None,
) -> Mismatches:
    """A picture of the elements in which `actual` and `expected` differ.

    A 2-D tensor is drawn as it is, a 1-D one in rows (whose width the axis states), leading
    dimensions of others are merged. Where a cell stands for a block of elements, it has the colour
    of the worst of them.

    Args:
        report_or_actual: a CheckReport, or the actual values, compared as `check` does.
        expected: the expected values, if no report is given.
        tile: draw the borders of tiles of this size (rows, columns); None takes the report's tile.

    Raises:
        UsageError: no expected values, or the two cannot be compared.
    """
    if isinstance(report_or_actual, CheckReport):
        report = report_or_actual
    elif expected is None:
        remedy = "give a CheckReport, or both tensors"
        raise UsageError(got_needed("mismatch_map", "one tensor", "actual and expected", remedy))
    else:
        report = compare(report_or_actual, expected)
    return Mismatches(report, report.tile if tile is None else tile_sizes(tile))


def draw(shown: Mismatches) -> Scene:
    """The picture of Mismatches."""
    report, tile = shown.report, shown.tile
    grid, x_label, y_label = _as_grid(report.codes, tile)
    rows, columns = grid.shape
    steps = cell_steps(rows, columns)
    codes = reduced(np.maximum, grid, steps)  # the worst of each cell
    width, height = _size(rows, columns)
    cell = width / columns, height / rows
    items: list[Item] = [
        *cell_items(codes % len(_COLOURS), _COLOURS, steps, cell),
        *(_grid(rows, columns, cell) if max(rows, columns) <= _MAX_GRID else ()),
    ]
    title = _title(report)
    tiles = _Tiles(report.codes, tile) if tile is not None and report.codes.size else None
    if tiles is not None:
        items += tiles.items(cell)
        title += f", in {tiles.counted}"
    items += rings(codes > 0, steps, cell)
    if steps != (1, 1):
        x_label += f"; one cell is {steps[0]} × {steps[1]} elements"
    down = () if rows == 1 else ticks(rows, max(2, min(8, int(height / 22))))
    block = panel("elements", [], items, (width, height),
                  (x_label, [(n + 0.5, f"{n:,}") for n in ticks(columns, 8)]),
                  (y_label, [(n + 0.5, f"{n:,}") for n in down]), cell)  # fmt: skip
    swatches = [Swatch((_COLOURS[code],), _LABELS[code])
                for code in np.unique(codes).tolist() if code >= 0]  # fmt: skip
    if tiles is not None and not tiles.flat:
        swatches.append(Swatch((None,), tiles.named, "ink"))
    return compose(title, [], [[block]], words=shown.alt, swatches=swatches, plain=True)


def _title(report: CheckReport) -> str:
    name = f"{report.name}: " if report.name else ""
    verb = "differs" if report.wrong == 1 else "differ"
    return f"{name}{report.wrong:,} of {report.total:,} elements {verb}"


class _Tiles:
    """The kernel's tiles: where their borders lie in the picture, and which of them are wrong."""

    def __init__(self, codes: Array, tile: tuple[int, ...]) -> None:
        self.size = tile[-codes.ndim :] if codes.ndim else (1,)
        rows = codes.reshape(-1, codes.shape[-1]) if codes.ndim > 1 else codes.reshape(1, -1)
        high = tile[-2] if len(tile) > 1 and codes.ndim > 1 else 0
        each = codes.shape[-2] if codes.ndim > 1 else 1  # rows of a matrix: tiles end with it
        starts = range(0, len(rows), max(each, 1))
        self.tops = [s + k for s in starts for k in range(0, each, high or max(each, 1))]
        self.lefts = list(range(0, rows.shape[1], max(tile[-1], 1)))
        self.shape, self.flat = rows.shape, codes.ndim < 2
        wrong = np.add.reduceat(np.add.reduceat(rows > 0, self.tops, axis=0, dtype=np.int64),
                                self.lefts, axis=1)  # fmt: skip
        self.wrong = wrong > 0

    @property
    def counted(self) -> str:
        """`2 of 8 tiles`"""
        return f"{int(self.wrong.sum()):,} of {self.wrong.size:,} tiles"

    @property
    def named(self) -> str:
        return f"{' × '.join(f'{n:,}' for n in self.size)} tile with mismatches"

    def items(self, cell: tuple[float, float]) -> list[Item]:
        """Thin borders of all tiles, and a frame round those with mismatches."""
        if self.flat:  # a row of the picture is a tile already, or has few of them
            return []
        (rows, columns), (wide, high) = self.shape, cell
        out: list[Item] = []
        if len(self.tops) <= _MAX_TILE_LINES:
            out += [Line(0, y * high, columns * wide, y * high, "rule", sort="tile")
                    for y in self.tops[1:]]  # fmt: skip
        if len(self.lefts) <= _MAX_TILE_LINES:
            out += [Line(x * wide, 0, x * wide, rows * high, "rule", sort="tile")
                    for x in self.lefts[1:]]  # fmt: skip
        hit = np.argwhere(self.wrong)
        if len(hit) > _MAX_FRAMES or max(len(self.tops), len(self.lefts)) > _MAX_TILE_LINES:
            return out
        bottoms, rights = [*self.tops[1:], rows], [*self.lefts[1:], columns]
        for i, k in hit.tolist():
            across, down = rights[k] - self.lefts[k], bottoms[i] - self.tops[i]
            if min(across / columns, down / rows) >= _LEAST_FRAME:  # else it hides what is in it
                out.append(Rect(self.lefts[k] * wide, self.tops[i] * high, across * wide,
                                down * high, None, "ink", 2, sort="wrong tile"))  # fmt: skip
        return out


def _as_grid(codes: Array, tile: tuple[int, ...] | None) -> tuple[Array, str, str]:
    """The codes as rows and columns, with the labels of both axes."""
    if codes.size == 0:
        return np.full((1, 1), _BEYOND), "no elements", ""
    if codes.ndim >= 2:
        rows = codes.reshape(-1, codes.shape[-1])
        return rows, "column", "row" if codes.ndim == 2 else "row (leading dimensions merged)"
    flat = codes.reshape(-1)
    width = _wrap_width(flat.size, tile)
    rows_needed = -(-flat.size // width)
    padded = np.full(rows_needed * width, _BEYOND, np.int8)
    padded[: flat.size] = flat
    if rows_needed == 1:
        return padded.reshape(1, width), "element", ""
    label = f"1-D tensor in rows of {width:,} elements"
    return padded.reshape(rows_needed, width), label, "row"


def _wrap_width(size: int, tile: tuple[int, ...] | None) -> int:
    """Elements in a row: the tile if one is given, else a power of two from 32 on: a picture wider
    than high.
    """
    if tile is not None and 1 < tile[-1] <= size:
        return int(tile[-1])
    if size <= 64:
        return size
    return wrapped_width(size)


def _size(rows: int, columns: int) -> tuple[float, float]:
    """Width and height of all cells, near the tensor's proportions."""
    long_side = min(_MOST, max(_LEAST, _CELL * max(rows, columns)))
    ratio = min(max(rows / columns, 0.12), 2.0)
    wide, high = (long_side, long_side * ratio) if ratio <= 1 else (long_side / ratio, long_side)
    return wide, max(high, 34.0)


def _grid(rows: int, columns: int, cell: tuple[float, float]) -> list[Item]:
    """Lines between cells."""
    (wide, high), (right, bottom) = cell, (columns * cell[0], rows * cell[1])
    return [
        *(Line(0, y * high, right, y * high, "card", 0.8) for y in range(1, rows)),
        *(Line(x * wide, 0, x * wide, bottom, "card", 0.8) for x in range(1, columns)),
    ]
