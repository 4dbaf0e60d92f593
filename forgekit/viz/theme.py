"""Colours, text and a page measured in inches, for every picture: on white and on black alike."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

Array = np.ndarray[Any, np.dtype[Any]]

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
    from matplotlib.colors import to_rgba

    light = np.array(to_rgba(rgba))[:3] ** 2.2 @ np.array([0.2126, 0.7152, 0.0722])
    return "black" if light > 0.25 else "white"


# -- a page in inches -------------------------------------------------------------------------
def text_at(figure: Figure, x: float, y: float, text: str, **style: Any) -> None:
    """Text whose top is at (x, y) inches; a `$` in a name or a message is a `$`."""
    width, height = figure.get_size_inches()
    given = {"size": 9, "color": TEXT, "va": "top", **style}
    figure.text(x / width, y / height, text, parse_math=False, **given)


def axes_at(figure: Figure, x: float, y: float, width: float, height: float) -> Axes:
    """Axes whose lower left corner is at (x, y) inches."""
    whole = figure.get_size_inches()
    axes = figure.add_axes((x / whole[0], y / whole[1], width / whole[0], height / whole[1]))
    axes.patch.set_alpha(0.0)
    return axes


class Canvas:
    """A figure to draw on in inches, from its upper left corner; `gid` names what is drawn."""

    def __init__(self, height: float, width: float = WIDTH) -> None:
        from matplotlib.figure import Figure

        self.width, self.height = width, height
        self.figure = Figure(figsize=(width, height))
        self.figure.patch.set_alpha(0.0)
        self.axes = axes_at(self.figure, 0, 0, width, height)
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(height, 0)
        self.axes.set_axis_off()

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

    def line(self, x: Sequence[float], y: Sequence[float], *, gid: str = "", **style: Any) -> None:
        self.axes.plot(x, y, gid=gid, **{"color": TEXT, "linewidth": 0.8, **style})

    def lines(self, x: float, y: float, texts: Sequence[str], **style: Any) -> float:
        """Lines of small text one below the other; returns where the next one begins."""
        for text in texts:
            self.text(x, y, text, **style)
            y += LINE * style.get("size", 9.0) / 9.0
        return y


# -- what pictures of warps have in common ------------------------------------------------------
def heading_height(headline: str, notes: list[str]) -> float:
    return 0.14 + 0.23 * len(wrap(headline, WIDTH - 0.4, LETTERS * 0.76)) + LINE * len(notes)


def draw_heading(canvas: Canvas, headline: str, notes: list[str]) -> float:
    """The title, and what went wrong; returns where the picture begins."""
    y = 0.08
    for text in wrap(headline, WIDTH - 0.4, LETTERS * 0.76):
        canvas.text(WIDTH / 2, y, text, size=11.5, weight="bold", ha="center", gid="title")
        y += 0.23
    return canvas.lines(WIDTH / 2, y, notes, color=RED, ha="center") + 0.06
