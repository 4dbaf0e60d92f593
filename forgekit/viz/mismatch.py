"""Draw the elements at which two tensors differ, with one cell per element or per group of
elements, coloured by the kind of error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from forgekit.viz.scene import Array, Item, Line, Rect, Scene, Swatch

_COLOURS = ("quiet", WRONG, UNTOUCHED, "nan", None)  # by code; the last one is for _BEYOND
_LABELS = ("equal", "wrong value", "0 or never written", "NaN")
_BEYOND = -1  # code of a cell after the end of a wrapped 1-D tensor
_MAX_GRID = 32  # maximum cells along an axis for lines between cells
_MAX_TILE_LINES = 64
# The maximum number of frames, and the minimum size of a frame as a fraction of the picture's size.
_MAX_FRAMES, _LEAST_FRAME = 256, 0.012
_CELL, _LEAST, _MOST = 27.0, 250.0, 480.0  # px per element; limits of the longer side


@dataclass(frozen=True, eq=False, repr=False)
class Mismatches(Picture):
    """A picture of the elements that differ according to a CheckReport."""

    report: CheckReport
    tile: tuple[int, ...] | None

    @property
    def summary(self) -> str:
        return "\n".join([self.report.headline, *self.report.hints])


@checked()
def mismatch_map(
    report_or_actual: CheckReport | object,
    expected: object = None,
    tile: int | tuple[int, ...] | None = None,
) -> Mismatches:
    """Draw the elements at which `actual` and `expected` differ.

    A 2-D tensor is drawn directly, a 1-D tensor in rows whose width the axis states; the leading
    dimensions of other tensors are merged. A cell that covers several elements has the colour of
    the worst one.

    Args:
        report_or_actual: a CheckReport, or the actual values, compared as `check` does.
        expected: the expected values, if no report is given.
        tile: the size (rows, columns) of tiles whose borders are drawn; None uses the report's
            tile.

    Raises:
        UsageError: there are no expected values, or the tensors cannot be compared.
    """
    if isinstance(report_or_actual, CheckReport):
        report = report_or_actual
    elif expected is None:
        remedy = "pass a CheckReport, or both tensors"
        raise UsageError(got_needed("mismatch_map", "one tensor", "actual and expected", remedy))
    else:
        report = compare(report_or_actual, expected)
    return Mismatches(report, report.tile if tile is None else tile_sizes(tile))


def draw(shown: Mismatches) -> Scene:
    report, tile = shown.report, shown.tile
    grid, x_label, y_label = _as_grid(report.codes, tile)
    rows, columns = grid.shape
    steps = cell_steps(rows, columns)
    codes = reduced(np.maximum, grid, steps)  # the code of the worst element in each cell
    width, height = _size(rows, columns)
    cell = width / columns, height / rows
    items = cell_items(codes % len(_COLOURS), _COLOURS, steps, cell)
    if max(rows, columns) <= _MAX_GRID:
        items += _lines(range(1, columns), range(1, rows), (width, height), cell, "card", 0.8)
    verb = "differs" if report.wrong == 1 else "differ"
    title = f"{report.wrong:,} of {report.total:,} elements {verb}"
    title = f"{report.name}: {title}" if report.name else title
    swatches = [Swatch((_COLOURS[code],), _LABELS[code])
                for code in np.unique(codes).tolist() if code >= 0]  # fmt: skip
    if tile is not None and report.codes.size:
        tiles, counted = _tiles(report.codes, tile, cell)
        items += tiles
        title += f", in {counted}"
        if report.codes.ndim > 1:
            sizes = " × ".join(f"{n:,}" for n in tile[-report.codes.ndim :])
            swatches.append(Swatch((None,), f"{sizes} tile with mismatches", "ink"))
    items += rings(codes > 0, steps, cell)
    if steps != (1, 1):
        x_label += f"; one cell is {steps[0]} × {steps[1]} elements"
    down = () if rows == 1 else ticks(rows, max(2, min(8, int(height / 22))))
    block = panel("elements", [], items, (width, height),
                  (x_label, [(n + 0.5, f"{n:,}") for n in ticks(columns)]),
                  (y_label, [(n + 0.5, f"{n:,}") for n in down]), cell)  # fmt: skip
    return compose(title, [], [[block]], words=shown.alt, swatches=swatches, plain=True)


def _tiles(
    codes: Array, tile: tuple[int, ...], cell: tuple[float, float]
) -> tuple[list[Item], str]:
    """Return thin borders of the kernel's tiles, frames around tiles with mismatches, and the
    number of these tiles as text, such as `2 of 8 tiles`. The tiles of a 1-D tensor get no borders,
    because each row of the picture is a tile or contains few tiles.
    """
    rows = codes.reshape(-1, codes.shape[-1]) if codes.ndim > 1 else codes.reshape(1, -1)
    # The number of rows per matrix. No tile extends into the next matrix.
    each = max(codes.shape[-2], 1) if codes.ndim > 1 else 1
    high = tile[-2] if len(tile) > 1 and codes.ndim > 1 else each
    tops = [s + k for s in range(0, len(rows), each) for k in range(0, each, high or each)]
    lefts = [*range(0, rows.shape[1], max(tile[-1], 1))]
    of_rows = np.add.reduceat(rows > 0, tops, axis=0, dtype=np.int64)
    wrong = np.add.reduceat(of_rows, lefts, axis=1) > 0
    counted = f"{int(wrong.sum()):,} of {wrong.size:,} tiles"
    if codes.ndim < 2:
        return [], counted
    (down, across), (wide, high_px) = rows.shape, cell
    items = _lines(
        lefts[1:] if len(lefts) <= _MAX_TILE_LINES else (),
        tops[1:] if len(tops) <= _MAX_TILE_LINES else (),
        (across * wide, down * high_px), cell, "rule", 1.0, "tile",
    )  # fmt: skip
    hit = np.argwhere(wrong).tolist()
    if len(hit) > _MAX_FRAMES or max(len(tops), len(lefts)) > _MAX_TILE_LINES:
        return items, counted
    bottoms, rights = [*tops[1:], down], [*lefts[1:], across]
    for i, k in hit:
        columns, lines = rights[k] - lefts[k], bottoms[i] - tops[i]
        if min(columns / across, lines / down) >= _LEAST_FRAME:  # smaller frames hide the tile
            items.append(Rect(lefts[k] * wide, tops[i] * high_px, columns * wide,
                              lines * high_px, None, "ink", 2, sort="wrong tile"))  # fmt: skip
    return items, counted


def _lines(
    lefts: Sequence[int], tops: Sequence[int], size: tuple[float, float],
    cell: tuple[float, float], stroke: str, width: float, sort: str = "",
) -> list[Item]:  # fmt: skip
    return [
        *(Line(0, y * cell[1], size[0], y * cell[1], stroke, width, sort) for y in tops),
        *(Line(x * cell[0], 0, x * cell[0], size[1], stroke, width, sort) for x in lefts),
    ]


def _as_grid(codes: Array, tile: tuple[int, ...] | None) -> tuple[Array, str, str]:
    if codes.size == 0:
        return np.full((1, 1), _BEYOND), "no elements", ""
    if codes.ndim >= 2:
        rows = codes.reshape(-1, codes.shape[-1])
        return rows, "column", "row" if codes.ndim == 2 else "row (leading dimensions merged)"
    width = codes.size if codes.size <= 64 else wrapped_width(codes.size)
    if tile is not None and 1 < tile[-1] <= codes.size:
        width = tile[-1]
    grid = np.full((-(-codes.size // width), width), _BEYOND, np.int8)
    grid.flat[: codes.size] = codes
    if len(grid) == 1:
        return grid, "element", ""
    return grid, f"1-D tensor in rows of {width:,} elements", "row"


def _size(rows: int, columns: int) -> tuple[float, float]:
    """Return the width and height of the grid of cells in px, approximately in the tensor's
    proportions.
    """
    long_side = min(_MOST, max(_LEAST, _CELL * max(rows, columns)))
    ratio = min(max(rows / columns, 0.12), 2.0)
    wide, high = (long_side, long_side * ratio) if ratio <= 1 else (long_side / ratio, long_side)
    return wide, max(high, 34.0)
