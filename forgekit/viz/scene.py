"""Describe a picture as data: items with positions in CSS pixels. The modules `svg` and `raster`
write these data as SVG and PNG.

A colour is `#RRGGBB`, which is the same on every page, or a role in `palette.THEME` such as "ink",
whose colour differs on a dark page. `sort` is the meaning of an item; it is not drawn.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from forgekit.viz.palette import INK

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Rect:
    """A rectangle, which may have a fill, a border (`stroke`) and hatching."""

    x: float
    y: float
    width: float
    height: float
    fill: str | None
    stroke: str | None = None
    stroke_width: float = 1.0
    radius: float = 0.0
    hatch: str | None = None
    sort: str = ""


@dataclass(frozen=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float
    stroke: str
    width: float = 1.0
    sort: str = ""


@dataclass(frozen=True)
class Label:
    """A line of text. y: the vertical middle of the line; anchor: start, middle or end. Upright
    text runs from bottom to top, with its middle at (x, y).
    """

    x: float
    y: float
    text: str
    size: float = 11.0
    fill: str = "dim"
    anchor: str = "start"
    bold: bool = False
    mono: bool = False
    upright: bool = False
    sort: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of a grid, with up to two lines of text.

    size: the font size in px; corner: small text in the upper-right corner; hatched: True for a
    cell that no thread holds; data: the cell's meaning, written as `data-…` attributes.
    """

    x: float
    y: float
    width: float
    height: float
    fill: str
    lines: tuple[str, ...] = ()
    size: float = 11.0
    corner: str = ""
    hatched: bool = False
    data: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Pixels:
    """Many small cells without text. numbers: the cells' indices into `colours`, an array of shape
    (rows, columns). The colour None is transparent.
    """

    x: float
    y: float
    width: float
    height: float
    numbers: Array
    colours: Sequence[str | None]


CELL_GAP, _HATCH = 0.75, 7.0  # px between cells; px between hatching strokes

Item = Rect | Line | Label | Cell | Pixels


def moved(item: Item, x: float, y: float) -> Item:
    if isinstance(item, Line):
        return replace(item, x1=item.x1 + x, y1=item.y1 + y, x2=item.x2 + x, y2=item.y2 + y)
    return replace(item, x=item.x + x, y=item.y + y)


@dataclass(frozen=True)
class Swatch:
    """An entry of the legend: one or more colours side by side, and their meaning."""

    fills: tuple[str | None, ...]
    text: str
    stroke: str = "rule"
    hatch: str | None = None

    @property
    def width(self) -> float:
        return len(self.fills) * (15.0 if len(self.fills) < 9 else 9.0)

    def items(self, x: float, y: float) -> list[Item]:
        step = self.width / max(len(self.fills), 1)
        colours = [Rect(x + i * step, y, step, 14, fill, hatch=self.hatch, sort="key")
                   for i, fill in enumerate(self.fills)]  # fmt: skip
        frame = [Rect(x, y, self.width, 14, None, self.stroke)] if self.fills else []
        return [*colours, *frame]


@dataclass(frozen=True)
class Panel:
    """Items that belong together, such as one matrix; `name` is written as `data-panel`."""

    name: str
    items: tuple[Item, ...]


@dataclass(frozen=True, eq=False)
class Scene:
    """A whole picture: its size in px, its title and a text equivalent.

    body: the rectangle (x, y, width, height) that contains the cells; plain: True if the title is
    not a layout; lines: the lines below the title, with their roles; swatches, notes: the legend;
    panels: all items of the picture, including its text.
    """

    width: float
    height: float
    title: str
    words: str
    body: tuple[float, float, float, float]
    plain: bool
    lines: Sequence[tuple[str, str]]
    swatches: Sequence[Swatch]
    notes: Sequence[str]
    panels: Sequence[Panel]


def text_width(text: str, size: float, mono: bool = False) -> float:
    """Return an estimate of the width of text in px, which slightly exceeds the width in most
    fonts.
    """
    return len(text) * size * (0.61 if mono else 0.58)


def fitting(choices: Sequence[str], width: float, size: float) -> str:
    """Return the first text that fits a width at this font size, or an empty string."""
    return next((text for text in choices if text_width(text, size) <= width), "")


def wrap(text: str, width: float, size: float = 12.0) -> list[str]:
    """Split text into the fewest lines that fit a width at this font size, all of about equal
    length."""
    letters = max(int(width / text_width("0", size) * 1.08), 20)
    lines = textwrap.wrap(text, letters)
    while len(shorter := textwrap.wrap(text, letters := letters - 1)) == len(lines) > 1:
        lines = shorter
    return lines


def cell_texts(cell: Cell) -> list[Label]:
    middle = cell.x + cell.width / 2
    step = cell.size * 1.22
    top = cell.y + cell.height / 2 - step * (len(cell.lines) - 1) / 2
    if cell.corner and len(cell.lines) > 1:
        top += cell.size * 0.36
    texts = [Label(middle, top + step * i, line, cell.size * (0.88 if i else 1.0), INK, "middle",
                   bold=i == 0 and len(cell.lines) > 1)
             for i, line in enumerate(cell.lines)]  # fmt: skip
    if cell.corner:
        size, right = cell.size * 0.62, cell.x + cell.width - 2
        texts.append(Label(right, cell.y + size * 0.72, cell.corner, size, INK, "end", bold=True))
    return texts


def hatch_lines(box: Cell | Rect) -> list[tuple[float, float, float, float]]:
    """Return the strokes that hatch a box, from lower left to upper right, as (x1, y1, x2, y2)."""
    lines, reach = [], _HATCH / 2
    while reach < box.width + box.height:
        x1, x2 = max(reach - box.height, 0.0), min(reach, box.width)
        lines.append((box.x + x1, box.y + reach - x1, box.x + x2, box.y + reach - x2))
        reach += _HATCH
    return lines
