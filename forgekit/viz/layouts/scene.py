"""A picture as data: what lies where, in CSS pixels. `svg` and `raster` turn it into files.

Colours are `#RRGGBB`, equal on every page, or a role of `palette.THEME` such as "ink", which is
another colour on a dark page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rect:
    """A filled rectangle, with a border where `stroke` is given."""

    x: float
    y: float
    width: float
    height: float
    fill: str | None
    stroke: str | None = None
    stroke_width: float = 1.0
    radius: float = 0.0


@dataclass(frozen=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float
    stroke: str
    width: float = 1.0


@dataclass(frozen=True)
class Label:
    """Text on a line whose middle is at height `y`; `anchor` is start, middle or end."""

    x: float
    y: float
    text: str
    size: float = 11.0
    fill: str = "dim"
    anchor: str = "start"
    bold: bool = False
    mono: bool = False


@dataclass(frozen=True)
class Cell:
    """A square of a grid with up to two lines of text.

    Attributes:
        lines: texts from top to bottom; size: of their letters, px.
        corner: small text in the upper right corner.
        hatched: drawn with strokes across, for a cell that is nobody's.
        data: what the cell stands for, written as `data-…` attributes.
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


@dataclass(frozen=True)
class Tiles:
    """Many small cells without text, by colour: colour -> (column, row, columns, rows)."""

    x: float
    y: float
    width: float
    height: float
    runs: dict[str, list[tuple[int, int, int, int]]]


Item = Rect | Line | Label | Cell | Tiles


@dataclass(frozen=True)
class Panel:
    """Items that belong together, such as one matrix; `name` becomes `data-panel`."""

    name: str
    items: tuple[Item, ...]


@dataclass
class Scene:
    """A whole picture.

    Attributes:
        width, height: px. title: its name in a line. summary: the lines of text that it shows at
            the top. words: all that it shows, for a reader who does not see it.
    """

    width: float
    height: float
    title: str
    summary: str
    words: str
    panels: list[Panel] = field(default_factory=list)

    def add(self, name: str, items: Iterable[Item]) -> None:
        self.panels.append(Panel(name, tuple(items)))


def text_width(text: str, size: float, mono: bool = False) -> float:
    """About how wide a text is, px; a little more than in most fonts."""
    return len(text) * size * (0.61 if mono else 0.58)
