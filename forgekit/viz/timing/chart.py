"""Provide the parts that benchmark pictures share: the page, a marker and colour per variant, and
labels that do not overlap.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import LogLocator, NullLocator

from forgekit.viz.scene import wrap
from forgekit.viz.timing.style import CSS_PIXELS, INK, SERIES, SMALL, TEXT, WIDTH, text_at

_MARKERS = "os^DvPX"
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)))
MARK: tuple[Any, ...] = (0, (2, 2))  # dash pattern of a reference line
SMALL_LINE = 0.147  # height of a line of small text in inches
_LETTERS = 126  # characters per inch at a font size of 1 point


def look(index: int, count: int) -> dict[str, Any]:
    """Return the style of variant `index` out of `count`, as arguments of `Axes.plot`. Each variant
    has a different marker, and a thinner line than earlier variants, so that coinciding lines stay
    visible.
    """
    share = index / max(count - 1, 1)
    again, hue = divmod(index, len(SERIES))
    return {
        "color": SERIES[hue],
        # When the colours repeat, the markers shift, so no combination of the two occurs twice.
        "marker": _MARKERS[(index + again) % len(_MARKERS)],
        "linestyle": _DASHES[again % len(_DASHES)],
        "linewidth": 4.2 - 2.8 * share,
        "markersize": 8.5 - 4.0 * share,
        "markeredgewidth": 0,
    }


def wrapped(text: str, inches: float, size: float = SMALL) -> list[str]:
    """Split text, including long words, into lines that are at most `inches` wide at this font
    size.
    """
    letters = max(int(inches * _LETTERS / size), 6)
    return textwrap.wrap(text, letters, break_on_hyphens=False) or [""]


# -- the page -------------------------------------------------------------------------------------
def page(headline: str, notes: Sequence[str], body: float, width: float = WIDTH) -> Figure:
    """Return a figure with a title, notes in small text, and `body` inches for axes in between."""
    title = wrap(headline, CSS_PIXELS * (width - 0.4), 16.8)
    caption = [line for note in notes for line in wrapped(note, width - 0.3)]
    foot = SMALL_LINE * len(caption) + 0.12
    height = 0.2 + 0.23 * len(title) + body + foot
    rect = (0, foot / height, 1, body / height)
    layout = ConstrainedLayoutEngine(rect=rect, w_pad=0.08, h_pad=0.06)
    figure = Figure(figsize=(width, height), layout=layout)
    figure.patch.set_alpha(0.0)
    for k, line in enumerate(title):
        text_at(figure, 0.2, height - 0.12 - 0.23 * k, line, size=10.9, weight="bold",
                color=INK, gid="title")  # fmt: skip
    for k, line in enumerate(caption):
        text_at(figure, 0.2, foot - 0.02 - SMALL_LINE * k, line, gid="caption")
    return figure


def tidy(axes: Axes, *, unit: str = "", across: str = "") -> Axes:
    axes.patch.set_alpha(0.0)
    axes.tick_params(colors=TEXT, labelsize=SMALL, length=3, which="major")
    axes.tick_params(which="minor", length=0, labelsize=0)
    axes.grid(axis="y", color=TEXT, alpha=0.22, linewidth=0.6)
    axes.set_title(unit, gid="unit")
    axes.set_xlabel(across, gid="unit")
    return axes


def beside(axes: Axes, text: str, place: tuple[float, float], points: float, **style: Any) -> Any:
    """Place text `points` to the right of a position; return the Annotation."""
    given = {"textcoords": "offset points", "va": "center_baseline", "gid": "value", **style}
    return axes.annotate(text, place, (points, 0), **given)


def log_ticks(axis: Axis) -> None:
    """Label 1, 2, 5, 10, … on a logarithmic axis as plain numbers."""
    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < 2000 * low else (1.0,)
    axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=20))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")


def size_ticks(axes: Axes, places: Sequence[float], words: Sequence[str], inches: float) -> None:
    """Set ticks at the sizes on a logarithmic axis with a length of about `inches`. Label every
    tick or, so that labels do not touch, every second, third, … tick, counted from the last one.
    """
    logs = [math.log2(p) for p in places]
    margin = 0.04 * (logs[-1] - logs[0]) or 1.0
    scale = inches / (logs[-1] - logs[0] + 2 * margin)
    halves = [0.034 * len(text) + 0.02 for text in words]

    def fit(shown: range) -> bool:
        return all((logs[right] - logs[left]) * scale >= halves[left] + halves[right]
                   for right, left in itertools.pairwise(shown))  # fmt: skip

    last = len(logs) - 1
    every = (range(last, -1, -step) for step in range(1, last + 2))
    shown = next(filter(fit, every))
    axes.set_xscale("log", base=2)
    axes.set_xlim(2 ** (logs[0] - margin), 2 ** (logs[-1] + margin))
    axes.set_xticks(places, [w if k in shown else "" for k, w in enumerate(words)])
    axes.minorticks_off()


# -- names to the right of axes, as near to their points as possible ------------------
@dataclass(frozen=True)
class Name:
    """A label to the right of axes.

    lines: the lines of text; x, y: the labelled point, in the units of the axes; look: the style of
    the labelled line, or None for a limit; dotted: True to draw a dotted line to the point.
    """

    lines: Sequence[str]
    x: float
    y: float
    look: dict[str, Any] | None
    dotted: bool = False


def name_points(axes: Axes, names: Sequence[Name], inches: float) -> None:
    """Draw the labels. inches: the approximate height of the axes."""
    heights = [(SMALL_LINE * len(name.lines) + 0.05) / inches for name in names]
    to_axes = axes.transScale + axes.transLimits
    wanted = [1 - float(to_axes.transform((name.x, name.y))[1]) for name in names]
    down = apart(wanted, heights, -0.15 / inches, 1 + 0.3 / inches)
    for name, centre in zip(names, [1 - y for y in down], strict=True):
        style = {"color": TEXT, **(name.look or {})}
        line = {"arrowstyle": "-", "color": style["color"], "linewidth": 0.8, "shrinkA": 2,
                "shrinkB": 3, "relpos": (0, 0.5), "linestyle": (0, (1, 3)) if name.dotted else "-",
                }  # fmt: skip
        at = 1.085 if name.look else 1.06
        axes.annotate("\n".join(name.lines), (name.x, name.y), (at, centre), va="center",
                      textcoords="axes fraction", arrowprops=line, annotation_clip=False,
                      gid="name")  # fmt: skip
        if name.look:
            key(axes, 1.067, centre, style, transform=axes.transAxes)


def key(axes: Axes, x: float, y: float, style: dict[str, Any], **options: Any) -> None:
    axes.plot([x], [y], color=style["color"], marker=style["marker"], markersize=5.5,
              markeredgewidth=0, clip_on=False, gid="key", **options)  # fmt: skip


def apart(
    wanted: Sequence[float], heights: Sequence[float], low: float, high: float
) -> list[float]:
    """Return centres near `wanted` for labels with these heights, such that labels do not overlap
    and, if there is room, are within [low, high]. Neighbours that would touch move as a group.
    """
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    groups: list[tuple[list[int], float, float]] = []  # members, height, start
    for i in order:
        members, height = [i], heights[i]
        start = min(max(wanted[i] - height / 2, low), high - height)
        while groups and groups[-1][2] + groups[-1][1] > start:
            before, above, _ = groups.pop()
            members, height = before + members, above + height
            mean = sum(wanted[k] for k in members) / len(members)
            start = max(min(mean - height / 2, high - height), low)
        groups.append((members, height, start))
    result = [0.0] * len(wanted)
    for members, _, start in groups:
        for k in members:
            result[k] = start + heights[k] / 2
            start += heights[k]
    return result
