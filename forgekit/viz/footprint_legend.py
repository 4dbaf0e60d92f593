"""Colours of a footprint's picture, and the legend that says what they and the numbers mean."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forgekit.viz.footprint import Footprint

__all__ = ["CLASH", "LETTERS", "LINE", "RED", "TEXT", "UNTOUCHED", "Colours", "Legend", "axes_at",
           "often", "text_at", "ticks", "wrap"]  # fmt: skip

Array = np.ndarray[Any, np.dtype[Any]]

# Okabe-Ito's colours, the bright ones first, and Tol's wine as an eighth.
_BLOCK_COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00",
                  "#882255")  # fmt: skip
TEXT, RED = "#7F7F7F", "#D55E00"  # the grey reads on white and on black
UNTOUCHED: dict[str, Any] = {"facecolor": "#DEDEDE", "edgecolor": "#A6A6A6", "hatch": "/////",
                             "linewidth": 0}  # fmt: skip
CLASH: dict[str, Any] = {"fill": False, "edgecolor": RED, "linewidth": 2.5}

LINE = 0.165  # inches, a line of small text
LETTERS = 14  # of small text in an inch
_BAR, _ROW = 0.72, 0.23  # inches, a colour bar with its label and a row of patches


def wrap(text: str, inches: float, letters: float = LETTERS) -> list[str]:
    """Lines of about equal length, as few as fit into a width."""
    width = max(int(inches * letters), 20)
    lines = textwrap.wrap(text, width)
    while len(shorter := textwrap.wrap(text, width := width - 1)) == len(lines) > 1:
        lines = shorter
    return lines


def text_at(figure: Figure, x: float, y: float, text: str, *, size: float = 9, color: str = TEXT,
          weight: str = "normal", ha: str = "left") -> None:  # fmt: skip
    """Text whose top is at (x, y) inches; a `$` in a name or a message is a `$`."""
    width, height = figure.get_size_inches()
    figure.text(x / width, y / height, text, fontsize=size, color=color, weight=weight, ha=ha,
                va="top", parse_math=False)  # fmt: skip


def axes_at(figure: Figure, x: float, y: float, width: float, height: float) -> Axes:
    """Axes whose lower left corner is at (x, y) inches."""
    whole = figure.get_size_inches()
    axes = figure.add_axes((x / whole[0], y / whole[1], width / whole[0], height / whole[1]))
    axes.patch.set_alpha(0.0)
    return axes


def often(found: dict[str, Array]) -> Array:
    """How often each element was read or written, whichever is more: in place is once each."""
    return np.maximum(found["loads"], found["stores"] + found["atomics"])


def ticks(size: int, most: int = 8) -> range:
    """Multiples of a power of two, the numbers that tiles are made of; at most so many."""
    step = 1
    while size > step * most:
        step *= 2
    return range(0, size, step)


class Colours:
    """A colour for each block or thread: of a palette if they are few, else of a scale."""

    def __init__(self, fp: Footprint) -> None:
        import matplotlib
        from matplotlib.colors import ListedColormap, Normalize

        blocks = math.prod(fp.grid)
        self.few = fp.by == "block" and blocks <= len(_BLOCK_COLOURS)
        last = max((int(f[fp.by].max()) for f in fp.touched.values() if f[fp.by].size), default=0)
        scale = matplotlib.colormaps["viridis"](np.linspace(0.25, 1.0, 128))
        self.cmap = ListedColormap(_BLOCK_COLOURS if self.few else scale)
        self.norm = Normalize(0, max(last, 1))

    def rgba(self, keys: Array) -> Array:
        keys = np.maximum(keys, 0)
        return np.array(self.cmap(keys if self.few else self.norm(keys)))


class Legend:
    """What colours, numbers, hatching and frames mean; `height` in inches."""

    def __init__(
        self, fp: Footprint, colours: Colours, names_labelled: Iterable[str], width: float
    ) -> None:
        self.fp, self.colours = fp, colours
        found = list(fp.touched.values())
        labelled = [fp.touched[name] for name in names_labelled]
        anything = any((f["count"] > 0).any() for f in found)
        self.entries: list[tuple[str, dict[str, Any]]] = []
        if anything and colours.few:
            self.entries = [(f"block {i}", {"facecolor": _BLOCK_COLOURS[i], "linewidth": 0})
                            for i in range(math.prod(fp.grid))]  # fmt: skip
        self.bar = anything and not colours.few and len(labelled) < len(found)
        if any((f["count"] == 0).any() for f in found):
            self.entries.append(("untouched", UNTOUCHED))
        if any((f["stores"] > 1).any() for f in labelled):
            self.entries.append(("written more than once", CLASH))
        self.line = ""
        if any((f["count"] > 0).any() for f in labelled):
            repeated = any((often(f) > 1).any() for f in labelled)
            who = f"thread {_numbered(fp.block)}".rstrip()
            if fp.many_blocks:
                who = f"block {_numbered(fp.grid)}".rstrip() + f", {who}"
            self.line = f"in each cell: {who}"
            if repeated:
                self.line += " (of several the first); ×n: n times"
        longest = max((len(label) for label, _ in self.entries), default=1)
        columns = max(1, int((width - 0.2) / (0.36 + 0.07 * longest)))
        rows = -(-len(self.entries) // columns)
        self.columns = -(-len(self.entries) // max(rows, 1))
        self.lines = wrap(self.line, width - 0.4) if self.line else []
        parts = (0.04 + LINE * len(self.lines), _BAR * self.bar, _ROW * rows)
        self.height = sum(parts) + 0.12

    def draw(self, figure: Figure) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.patches import Patch

        width, height = figure.get_size_inches()
        y = self.height
        text_at(figure, width / 2, y, "\n".join(self.lines), ha="center")
        y -= 0.04 + LINE * len(self.lines)
        if self.bar:
            across = min(4.0, width - 2)
            axes = axes_at(figure, (width - across) / 2, y - 0.2, across, 0.13)
            bar = figure.colorbar(ScalarMappable(self.colours.norm, self.colours.cmap), cax=axes,
                                  orientation="horizontal")  # fmt: skip
            last = int(self.colours.norm.vmax or 1)
            bar.set_ticks([*ticks(last + 1)])
            numbers = _numbered(self.fp.grid if self.fp.by == "block" else self.fp.block)
            bar.set_label(f"{self.fp.by} {numbers}".rstrip(), color=TEXT, fontsize=9)
            bar.ax.tick_params(colors=TEXT, labelsize=8)
            bar.outline.set_visible(False)
            y -= _BAR
        for start in range(0, len(self.entries), self.columns or 1):
            row = self.entries[start : start + self.columns]
            figure.legend(
                handles=[Patch(label=label, **style) for label, style in row], ncols=len(row),
                loc="upper center", bbox_to_anchor=(0.5, (y + 0.04) / height), frameon=False,
                fontsize=9, labelcolor=TEXT, handlelength=1.2, handleheight=1.0, borderpad=0.2,
                borderaxespad=0, columnspacing=1.4, handletextpad=0.5,
            )  # fmt: skip
            y -= _ROW


def _numbered(size: tuple[int, int, int]) -> str:
    """How linear numbers come about where there is more than one direction: `(x + 32 y)`."""
    terms = [f"{step} {axis}" if step > 1 else axis
             for axis, n, step in zip("xyz", size, (1, size[0], size[0] * size[1]), strict=True)
             if n > 1]  # fmt: skip
    return f"({' + '.join(terms)})" if len(terms) > 1 else ""
