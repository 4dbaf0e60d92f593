"""Colours, text and a page measured in inches, for every picture: on white and on black alike."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from forgekit.viz.palette import luminance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

Entry = tuple[str, dict[str, Any]]  # of a legend: what, and how it is drawn

TEXT, RED = "#7F7F7F", "#D55E00"  # the grey reads on white and on black
UNTOUCHED: dict[str, Any] = {"facecolor": "#DEDEDE", "edgecolor": "#A6A6A6", "hatch": "/////",
                             "linewidth": 0}  # fmt: skip
NOT_TOUCHED: dict[str, Any] = {"fill": False, "edgecolor": "#9A9A9A", "linewidth": 0.5}

WIDTH = 8.3  # inches, 800 pixels of a page
LINE = 0.165  # inches, a line of small text
LETTERS = 14  # of small text in an inch
_DIGIT = 0.64  # width of a digit by the size of the font


# -- text -------------------------------------------------------------------------------------
def wrap(text: str, inches: float, letters: float = LETTERS) -> list[str]:
    """Lines of about equal length, as few as fit into a width."""
    width = max(int(inches * letters), 20)
    lines = textwrap.wrap(text, width)
    while len(shorter := textwrap.wrap(text, width := width - 1)) == len(lines) > 1:
        lines = shorter
    return lines


def fitting(choices: Sequence[str], inches: float, size: float) -> str:
    """The first text that fits into a width in letters of this size; empty if none does."""
    room = 72 * inches / (_DIGIT * size)
    return next((text for text in choices if len(text) <= room), "")


def fitting_size(choices: Sequence[str], inches: float) -> tuple[str, float]:
    """The text of `fitting`, in usual small letters if they do, else in smaller ones."""
    for size in (7.0, 6.0):
        text = fitting(choices, 0.93 * inches, size)
        if text:
            break
    return text, size


def ticks(size: int, most: int = 8) -> range:
    """Multiples of a power of two, the numbers that tiles are made of; at most so many."""
    step = 1
    while size > step * most:
        step *= 2
    return range(0, size, step)


# -- colours ----------------------------------------------------------------------------------
def ink(rgba: Any) -> str:
    """Black or white, whichever reads on a colour."""
    from matplotlib.colors import to_hex

    return "black" if luminance(to_hex(rgba)) > 0.25 else "white"


# -- a page in inches -------------------------------------------------------------------------
def text_at(figure: Figure, x: float, y: float, text: str, **style: Any) -> None:
    """Text whose top is at (x, y) inches; a `$` in a name or a message is a `$`."""
    width, height = figure.get_size_inches()
    given = {"size": 9, "color": TEXT, "va": "top", **style}
    figure.text(x / width, y / height, text, parse_math=False, **given)


class Canvas:
    """A figure to draw on in inches, from its upper left corner down to where `finish` cuts it off;
    `gid` names what is drawn.
    """

    def __init__(self, width: float = WIDTH) -> None:
        from matplotlib.figure import Figure

        self.width = width
        self.figure = Figure(figsize=(width, 1))
        self.figure.patch.set_alpha(0.0)
        self._panels: list[tuple[Axes, tuple[float, float, float, float]]] = []
        self.axes = self.panel(0, 0, width, 1)
        self.axes.set_axis_off()

    def panel(self, x: float, y: float, width: float, height: float) -> Axes:
        """Axes whose upper left corner is at (x, y)."""
        axes = self.figure.add_axes((0, 0, 1, 1), label=str(len(self._panels)))
        axes.patch.set_alpha(0.0)
        self._panels.append((axes, (x, y, width, height)))
        return axes

    def finish(self, height: float) -> Figure:
        """The figure, of this height."""
        self._panels[0] = self.axes, (0, 0, self.width, height)
        self.figure.set_size_inches(self.width, height)
        self.axes.set(xlim=(0, self.width), ylim=(height, 0))
        for axes, (x, y, w, h) in self._panels:
            place = x / self.width, 1 - (y + h) / height, w / self.width, h / height
            axes.set_position(place)
        return self.figure

    def box(
        self, x: float, y: float, width: float, height: float, *, gid: str = "", **style: Any
    ) -> Rectangle:
        from matplotlib.patches import Rectangle

        rectangle = Rectangle((x, y), width, height, gid=gid, **{"linewidth": 0, **style})
        self.axes.add_patch(rectangle)
        return rectangle

    def text(self, x: float, y: float, text: str, *, gid: str = "", **style: Any) -> None:
        given = {"size": 9.0, "color": TEXT, "ha": "left", "va": "top", **style}
        self.axes.text(x, y, text, gid=gid, parse_math=False, **given)

    def centred(self, x: float, y: float, text: str, size: float, **style: Any) -> None:
        """Text whose middle is at (x, y)."""
        self.text(x, y, text, size=size, ha="center", va="center_baseline", **style)

    def line(self, x: Sequence[float], y: Sequence[float], *, gid: str = "", **style: Any) -> None:
        self.axes.plot(x, y, gid=gid, **{"color": TEXT, "linewidth": 0.8, **style})

    def lines(self, x: float, y: float, texts: Sequence[str], **style: Any) -> float:
        """Lines of small text one below the other; returns where the next one begins."""
        for text in texts:
            self.text(x, y, text, **style)
            y += LINE * style.get("size", 9.0) / 9.0
        return y

    def heading(self, headline: str, notes: Sequence[str]) -> float:
        """The title, and what went wrong; returns where the picture begins."""
        y, room = 0.08, self.width - 0.4
        for text in wrap(headline, room, LETTERS * 0.74):
            self.text(self.width / 2, y, text, size=11.5, weight="bold", ha="center", gid="title")
            y += 0.23
        lines = [line for note in notes for line in wrap(note, room)]
        return self.lines(self.width / 2, y, lines, color=RED, ha="center") + 0.06

    def legend(self, x: float, y: float, entries: Sequence[Entry], right: float = 0.1) -> float:
        """What colours and signs mean, in as many rows as they need; returns where they end."""
        at = x
        for label, style in entries:
            wide = (0.28 if style else 0.0) + 0.25 + 0.0665 * len(label)
            if at > x and at + wide - 0.25 > self.width - right:
                at, y = x, y + 0.23
            if style:
                self.box(at, y + 0.015, 0.22, 0.14, gid="key", **style)
            self.text(at + (0.28 if style else 0), y + 0.085, label, size=8.5, gid="legend",
                      va="center_baseline")  # fmt: skip
            at += wide
        return y + 0.24 if entries else y
