"""What pictures of benchmarks share: a look for each variant, labels that keep apart, axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forgekit.viz.theme import LETTERS, LINE, TEXT, WIDTH, Canvas, axes_at, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# Okabe-Ito's colours that show on white and on black, and a violet; neighbours differ most.
_HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A6FBF")
_MARKERS = "os^DvPX"
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)))
SMALL = 8.0  # points


@dataclass(frozen=True)
class Look:
    """How a variant is drawn: told by its marker too, and thinner than those before, so that equal
    lines all show."""

    colour: str
    marker: str
    dash: Any
    width: float
    size: float


def look(index: int, count: int) -> Look:
    """Of variant `index` of `count`."""
    share = index / max(count - 1, 1)
    hue = index % len(_HUES)
    # The marker moves on where the colours begin again, so a pair never comes twice.
    marker = _MARKERS[(index + index // len(_HUES)) % len(_MARKERS)]
    dash = _DASHES[index // len(_HUES) % len(_DASHES)]
    return Look(_HUES[hue], marker, dash, 4.2 - 2.8 * share, 8.5 - 4.0 * share)


def wrapped(text: str, inches: float, size: float = SMALL) -> list[str]:
    """Lines of a text in letters of this size, also where a word is longer than a line."""
    width = max(int(inches * LETTERS * 9 / size), 6)
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
            continue
        while len(word) > width:
            lines.append(word[:width])
            word = word[width:]
        lines.append(word)
    return lines or [""]


def apart(
    wanted: Sequence[float], heights: Sequence[float], low: float, high: float
) -> list[float]:
    """Centres near `wanted` of labels with these heights, none on another, within [low, high] if
    there is room: neighbours that would touch are moved as one."""
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    groups: list[tuple[list[int], float, float]] = []  # members, their height, the group's top
    for i in order:
        members, height = [i], heights[i]
        top = min(max(wanted[i] - height / 2, low), high - height)
        while groups and groups[-1][2] + groups[-1][1] > top:
            before, above, _ = groups.pop()
            members, height = before + members, above + height
            mean = sum(wanted[k] for k in members) / len(members)
            top = max(min(mean - height / 2, high - height), low)
        groups.append((members, height, top))
    result = [0.0] * len(wanted)
    for members, _, top in groups:
        for k in members:
            result[k] = top + heights[k] / 2
            top += heights[k]
    return result


# -- the page -------------------------------------------------------------------------------------
def title_lines(headline: str) -> list[str]:
    return wrap(headline, WIDTH - 0.4, LETTERS * 0.76)


def draw_title(canvas: Canvas, headline: str) -> float:
    """The title; returns where the picture begins."""
    y = 0.08
    for text in title_lines(headline):
        canvas.text(WIDTH / 2, y, text, size=11.5, weight="bold", ha="center", gid="title")
        y += 0.23
    return y + 0.08


def caption(notes: Sequence[str]) -> list[str]:
    """Notes as lines of small text."""
    return [line for note in notes for line in wrapped(note, WIDTH - 0.3)]


def draw_caption(canvas: Canvas, y: float, notes: Sequence[str]) -> float:
    """Notes in small text; returns where they end."""
    return canvas.lines(0.12, y, caption(notes), size=SMALL, gid="caption")


def caption_height(notes: Sequence[str]) -> float:
    return LINE * SMALL / 9 * len(caption(notes)) + 0.08


# -- axes -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Frame:
    """Axes on a Canvas; x, y, width, height in inches from the upper left corner."""

    axes: Axes
    x: float
    y: float
    width: float
    height: float

    def inches(self, x: float, y: float) -> tuple[float, float]:
        """Where on the canvas a point of the data lies."""
        px, py = self.axes.transAxes.inverted().transform(self.axes.transData.transform((x, y)))
        return self.x + float(px) * self.width, self.y + (1 - float(py)) * self.height


def frame(canvas: Canvas, x: float, y: float, width: float, height: float) -> Frame:
    """Axes with the house's grey lines: below and left, and faint ones across."""
    axes = axes_at(canvas.figure, x, canvas.height - y - height, width, height)
    axes.tick_params(colors=TEXT, labelsize=SMALL, length=3, which="major")
    axes.tick_params(which="minor", length=0, labelsize=0)
    for name, side in axes.spines.items():
        side.set_color(TEXT)
        side.set_linewidth(0.8)
        side.set_visible(name in ("left", "bottom"))
    axes.grid(axis="y", color=TEXT, alpha=0.22, linewidth=0.6)
    axes.set_axisbelow(True)
    return Frame(axes, x, y, width, height)


def size_ticks(frame: Frame, places: Sequence[float], words: Sequence[str]) -> None:
    """Ticks at sizes on a logarithmic axis, and labels of as many as do not touch."""
    logs = [math.log2(p) for p in places]
    margin = 0.04 * (logs[-1] - logs[0]) or 1.0
    span = logs[-1] - logs[0] + 2 * margin
    centres = [(at - logs[0] + margin) / span * frame.width for at in logs]
    halves = [0.034 * len(text) + 0.02 for text in words]
    frame.axes.set_xscale("log", base=2)
    frame.axes.set_xlim(2 ** (logs[0] - margin), 2 ** (logs[-1] + margin))
    shown = _labelled(centres, halves)
    frame.axes.set_xticks(places, [w if k in shown else "" for k, w in enumerate(words)])
    frame.axes.minorticks_off()


def _labelled(centres: Sequence[float], halves: Sequence[float]) -> Sequence[int]:
    """Which of the sizes, from the last one back: at even distances all, or every second, third, …;
    otherwise each that has room."""

    def fits(left: int, right: int) -> bool:
        return centres[left] + halves[left] <= centres[right] - halves[right]

    last = len(centres) - 1
    gaps = [b - a for a, b in itertools.pairwise(centres)]
    if gaps and max(gaps) < 1.01 * min(gaps):
        every = (range(last, -1, -step) for step in range(1, last + 2))
        return next(e for e in every if all(fits(k, i) for i, k in itertools.pairwise(e)))
    shown = [last]
    for k in range(last - 1, -1, -1):
        if fits(k, shown[-1]):
            shown.append(k)
    return shown


def log_ticks(axis: Axis) -> None:
    """1, 2, 5, 10, … as plain numbers on a logarithmic axis."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < 2000 * low else (1.0,)
    axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=20))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
