"""Convert a grid of cells, with axes and borders, to items of a scene. A large grid is drawn as an
overview.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from forgekit.layouts.tuples import flat
from forgekit.viz.palette import INK, PAPER
from forgekit.viz.scene import Cell, Item, Label, Line, Pixels, Rect, moved, text_width

_MOST_SIDE, _MOST_DRAWN = 64, 2048  # maximum cells drawn individually: along a side, and in total
_OVERVIEW_PX, _LEAST_PX = 448.0, 96.0
_MOST_LINES = 128  # maximum lines between groups in an overview; more would hide the cells
_TICK = 10.5  # font size of axes in px
_LEVEL = 17.0  # px per level of a nested axis
_CAPTION = 24.0


@dataclass(frozen=True)
class Content:
    fill: str
    lines: tuple[str, ...] = ()
    corner: str = ""
    hatched: bool = False
    data: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Axis:
    """An axis of a grid.

    levels: lists of (first cell, cell after the last, text), from the level next to the cells
    outwards.

    borders: maps the first cell of each group in a nested mode to the weight (1, 2, …) of the line
    before it.
    """

    levels: tuple[tuple[tuple[int, int, str], ...], ...]
    borders: dict[int, int] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        return max((len(t) for _, _, t in self.levels[0]), default=1) if self.levels else 1


def plain_axis(size: int, step: int = 1) -> Axis:
    """Return an axis that numbers the cells 0, step, 2 step, …"""
    return Axis((tuple((i, i + 1, str(i * step)) for i in range(size)),))


def nested_axis(shape: Any) -> Axis:
    """Return an axis with the coordinates of a nested mode, with the innermost entry next to the
    cells."""
    leaves = [leaf for leaf in flat(shape) if leaf > 1] or [1]
    size = math.prod(leaves)
    levels, span = [], 1
    borders: dict[int, int] = {}
    for depth, leaf in enumerate(leaves):
        levels.append(tuple((i, i + span, str(i // span % leaf)) for i in range(0, size, span)))
        if depth:
            borders |= dict.fromkeys(range(span, size, span), depth)
        span *= leaf
    return Axis(tuple(levels), borders)


def cell_size(columns: int, longest: int, *, lines: int = 1) -> tuple[float, float]:
    """Return the width and height of a cell in px. Cells are larger in small pictures and smaller
    in wide pictures. longest: the number of characters in the longest text.
    """
    wide = (29.0 if columns <= 32 else 25.0) if lines == 1 else 30.0
    side = 40.0 if columns <= 8 else 36.0 if columns <= 16 else wide
    return max(side, longest * 6.0 + 6.0), side


@dataclass(frozen=True)
class Block:
    """Items positioned relative to the block's upper-left corner.

    left, top: the position of the first cell, used to align grids.
    """

    name: str
    width: float
    height: float
    items: tuple[Item, ...]
    left: float = 0.0
    top: float = 0.0

    def at(self, x: float, y: float) -> list[Item]:
        return [moved(item, x, y) for item in self.items]


@dataclass(frozen=True)
class Grid:
    """A grid of cells.

    name: the panel's name; content: returns the content of the cell at (row, column); group:
    returns a cell's group. A line separates neighbours in different groups: it is heavy if the
    first entries of the groups differ, otherwise fine. caption, note: lines of text above the grid,
    bold and plain; cell: the width and height of a cell in px; frame: the colour of the frame.
    """

    name: str
    rows: int
    columns: int
    content: Callable[[int, int], Content]
    row_axis: Axis
    column_axis: Axis
    group: Callable[[int, int], tuple[Any, Any]] | None = None
    caption: str = ""
    note: str = ""
    cell: tuple[float, float] = (36.0, 36.0)
    frame: str = "ink"

    def transposed(self) -> Grid:
        content, group = self.content, self.group
        return replace(
            self, rows=self.columns, columns=self.rows, row_axis=self.column_axis,
            column_axis=self.row_axis, content=lambda r, c: content(c, r),
            group=group and (lambda r, c: group(c, r)),
        )  # fmt: skip

    @property
    def is_large(self) -> bool:
        return (max(self.rows, self.columns) > _MOST_SIDE
                or self.rows * self.columns > _MOST_DRAWN)  # fmt: skip

    def block(self) -> Block:
        width, height = self.cell
        levels = _LEVEL * (len(self.row_axis.levels) - 1)
        left = text_width("0" * self.row_axis.longest, _TICK) + 8 + levels
        top = _CAPTION * bool(self.caption or self.note) + _LEVEL * len(self.column_axis.levels)
        contents = [[self.content(r, c) for c in range(self.columns)] for r in range(self.rows)]
        size = _text_size([c for row in contents for c in row], width, height)
        items: list[Item] = [Rect(left, top, self.columns * width, self.rows * height, PAPER)]
        items += [
            Cell(left + c * width, top + r * height, width, height, x.fill, x.lines, size,
                 x.corner, x.hatched, x.data)
            for r, row in enumerate(contents) for c, x in enumerate(row)
        ]  # fmt: skip
        across, down = self.columns * width, self.rows * height
        items.append(_frame(left, top, across, down, self.frame))
        items += self._group_lines(left, top, self.cell, (0.9, 2.6))
        items += self._axis_lines(left, top)
        items += self._ticks(left, top)
        return self._block(items, left, top, self.cell)

    def _block(self, items: list[Item], left: float, top: float,
               cell: tuple[float, float]) -> Block:  # fmt: skip
        caption, width = _caption(self, left)
        across, down = self.columns * cell[0], self.rows * cell[1]
        return Block(self.name, left + max(across, width) + 2, top + down + 2,
                     (*items, *caption), left, top)  # fmt: skip

    # -- lines --------------------------------------------------------------------------------
    def _group_lines(self, left: float, top: float, cell: tuple[float, float],
                     weights: tuple[float, float]) -> list[Item]:  # fmt: skip
        """Return lines between neighbours in different groups, one line per run. weights: the line
        widths for groups with equal and with different first entries.
        """
        if self.group is None:
            return []
        width, height = cell
        groups = [[self.group(r, c) for c in range(self.columns)] for r in range(self.rows)]

        def weight(a: tuple[Any, Any], b: tuple[Any, Any]) -> float:
            return 0.0 if a == b else weights[0] if a[0] == b[0] else weights[1]

        items: list[Item] = []
        for row, (above, below) in enumerate(itertools.pairwise(groups), 1):
            y = top + row * height
            items += [Line(left + a * width, y, left + b * width, y, INK, w)
                      for a, b, w in runs(map(weight, above, below)) if w]  # fmt: skip
        across = zip(*groups, strict=True)
        for column, (before, after) in enumerate(itertools.pairwise(across), 1):
            x = left + column * width
            items += [Line(x, top + a * height, x, top + b * height, INK, w)
                      for a, b, w in runs(map(weight, before, after)) if w]  # fmt: skip
        return items

    def _axis_lines(self, left: float, top: float) -> list[Item]:
        """Return the borders of nested modes, with heavier lines for outer borders."""
        width, height = self.cell
        right, bottom = left + self.columns * width, top + self.rows * height
        rows = [(top + row * height, w) for row, w in self.row_axis.borders.items()]
        columns = [(left + column * width, w) for column, w in self.column_axis.borders.items()]
        return [
            *(Line(left, y, right, y, INK, 0.6 + 1.0 * weight) for y, weight in rows),
            *(Line(x, top, x, bottom, INK, 0.6 + 1.0 * weight) for x, weight in columns),
        ]

    def _ticks(self, left: float, top: float) -> list[Item]:
        width, height = self.cell
        items: list[Item] = []
        for depth, level in enumerate(self.column_axis.levels):
            y = top - _LEVEL * (depth + 0.5)
            for start, stop, text in level:
                middle = left + (start + stop) / 2 * width
                items.append(Label(middle, y, text, _TICK, "dim", "middle", bold=depth > 0))
                if stop - start > 1:
                    a, b = left + start * width + 3, left + stop * width - 3
                    items.append(Line(a, y + 8, b, y + 8, "rule", 1))
        for depth, level in enumerate(self.row_axis.levels):
            x = left - 5 - (_LEVEL * depth + text_width("0" * self.row_axis.longest, _TICK) - 6
                            if depth else 0)  # fmt: skip
            for start, stop, text in level:
                middle = top + (start + stop) / 2 * height
                items.append(Label(x, middle, text, _TICK, "dim", "end", bold=depth > 0))
                if stop - start > 1:
                    a, b = top + start * height + 3, top + stop * height - 3
                    items.append(Line(x + 3.5, a, x + 3.5, b, "rule", 1))
        return items

    # -- large grids --------------------------------------------------------------------------
    def corner(self) -> Grid:
        """Return the upper-left part of the grid, whose cells are drawn individually next to an
        overview.
        """
        rows, columns = (8, 16) if self.columns > 2 * self.rows else (16, 8)
        rows, columns = min(rows, self.rows), min(columns, self.columns)
        cell = max(self.cell[0], 34.0), max(self.cell[1], 30.0)
        return replace(
            self, name=f"{self.name} corner", rows=rows, columns=columns,
            row_axis=_first(self.row_axis, rows), column_axis=_first(self.column_axis, columns),
            caption=f"{self.caption} corner".strip() if self.caption else "Corner",
            note=f"the first {rows} rows and {columns} columns", cell=cell,
            frame="focus",
        )  # fmt: skip

    def dot(self) -> tuple[float, float]:
        """Return the width and height, in px, of a cell in an overview. The cell is square unless
        it would be too thin.
        """
        side = min(_OVERVIEW_PX * 1.4 / self.columns, _OVERVIEW_PX / self.rows, 10.0)
        sizes = (min(max(side, _LEAST_PX / n), 10.0) for n in (self.columns, self.rows))
        wide, high = (max(math.floor(size * 2) / 2, 0.5) for size in sizes)
        return wide, high

    def overview(self, dot: tuple[float, float] | None = None) -> Block:
        """Return the grid with coloured dots as cells, and a frame around `corner`."""
        wide, high = dot or self.dot()
        top = _CAPTION * bool(self.caption or self.note) + _LEVEL
        left = text_width("0" * len(str(self.rows)), _TICK) + 8
        fills = [[self.content(r, c).fill for c in range(self.columns)] for r in range(self.rows)]
        colours = sorted({fill for row in fills for fill in row})
        place = {fill: number for number, fill in enumerate(colours)}
        numbers = [[place[fill] for fill in row] for row in fills]
        across, down = self.columns * wide, self.rows * high
        corner = self.corner()
        lines = self._group_lines(left, top, (wide, high), (0.0, 1.0))
        items: list[Item] = [
            Pixels(left, top, across, down, np.array(numbers), colours),
            *(lines if len(lines) <= _MOST_LINES else ()),
            _frame(left, top, across, down),
            _frame(left, top, corner.columns * wide, corner.rows * high, "focus"),
        ]
        for n in ticks(self.columns, min(max(int(across / 28), 1), 8)):
            items.append(Label(left + n * wide, top - _LEVEL / 2, str(n), _TICK))
        for n in ticks(self.rows, min(max(int(down / 16), 1), 8)):
            items.append(Label(left - 5, top + n * high + 5, str(n), _TICK, "dim", "end"))
        return self._block(items, left, top, (wide, high))


def ticks(size: int, most: int = 8) -> range:
    """Return at most `most` ticks, at multiples of a power of two, like most tile sizes."""
    step = 1
    while size > step * most:
        step *= 2
    return range(0, size, step)


def _frame(x: float, y: float, width: float, height: float, colour: str = "ink") -> Rect:
    return Rect(x, y, width, height, None, colour, 1.2 if colour == "ink" else 2.0)


def _caption(grid: Grid, left: float) -> tuple[list[Item], float]:
    items: list[Item] = []
    shift = text_width(grid.caption, 13) * 1.06 + 9 if grid.caption else 0.0
    if grid.caption:
        items.append(Label(left, 8, grid.caption, 13, "ink", bold=True))
    if grid.note:
        items.append(Label(left + shift, 8.5, grid.note, 11))
    return items, shift + text_width(grid.note, 11)


def _text_size(contents: list[Content], width: float, height: float) -> float:
    """Return the font size at which the text of every cell fits."""
    lines = max((len(c.lines) for c in contents), default=1)
    letters = max((len(line) for c in contents for line in c.lines), default=1)
    wide = (width - 5) / (max(letters, 1) * (0.62 if lines > 1 else 0.58))
    return min(13.0, height * (0.33 if lines > 1 else 0.42), wide)


def runs(values: Iterable[Any]) -> list[tuple[int, int, Any]]:
    """Return the runs of equal values as (start, end, value)."""
    found, start = [], 0
    for value, same in itertools.groupby(values):
        end = start + len(list(same))
        found.append((start, end, value))
        start = end
    return found


def _first(axis: Axis, size: int) -> Axis:
    levels = tuple(
        tuple((a, min(b, size), t) for a, b, t in level if a < size) for level in axis.levels
    )
    return Axis(levels, {k: w for k, w in axis.borders.items() if k < size})
