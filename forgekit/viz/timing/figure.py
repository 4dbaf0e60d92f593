"""Draw a lesson's own plot in the style and the colours of the course's other pictures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from forgekit.arguments import checked
from forgekit.errors import brief, usage_error
from forgekit.viz.timing.chart import lay_out, page, tidy
from forgekit.viz.timing.style import STYLE, TimingPicture, themed_svg

__all__ = ["figure"]

_PHONE = 3.7  # inches, 355 pixels of a page
_MOST = 80_000  # bytes, of an SVG that is kept twice


@checked(height=(0.5, 12), panels=(1, 4))
def figure(title: str, alt: str, *, height: float = 2.6, panels: int = 1, note: str = "") -> Any:
    """Give matplotlib axes to draw on, and show the picture in the page's colours afterwards.

        with fk.figure("Errors grow with n", "A line from 1 at n = 2 to 30 at 1,024.") as axes:
            axes.loglog(lengths, errors)

    title, note: text above and below the axes; alt: what the picture shows, for readers who cannot
    see it; height: of the axes, in inches; panels: how many axes lie side by side, given as a list
    if more than one. A block that raises shows nothing.

    Raises UsageError if `alt` is empty or a number is beyond its limits.
    """
    if not alt.strip():
        raise usage_error("alt", brief(alt), "text", "describe what the picture shows")
    return _figure(title, alt, height, panels, note)


@contextmanager
def _figure(title: str, alt: str, height: float, panels: int, note: str) -> Iterator[Any]:
    from IPython.display import display

    with matplotlib.rc_context(STYLE):
        drawn = page(title, [note] if note else [], height)
        axes: list[Axes] = list(drawn.subplots(1, panels, squeeze=False)[0])
        for each in axes:
            tidy(each)
        yield axes[0] if panels == 1 else axes
        words = f"{title}. {alt}"
        narrow = _narrow(drawn, title, [note] if note else [], height, words)
        display(TimingPicture(drawn, words, narrow))


def _narrow(figure: Figure, title: str, notes: list[str], height: float, words: str) -> str:
    """The figure as an SVG for a phone, its panels below each other; empty where texts would meet.

    The figure is as before afterwards.
    """
    engine, texts = figure.get_layout_engine(), [*figure.texts]
    width, tall = map(float, figure.get_size_inches())
    places: list[Any] = [axes.get_subplotspec() for axes in figure.axes]
    figure.texts.clear()
    lay_out(figure, title, notes, height * len(places), _PHONE)
    rows = GridSpec(len(places), 1, figure)
    for row, axes in enumerate(figure.axes):
        axes.set_subplotspec(rows[row])
    try:
        svg = themed_svg(figure, f"{words} narrow", words) if _legible(figure) else ""
        return svg if len(svg) < _MOST else ""
    finally:
        figure.texts[:] = texts
        figure.set_size_inches(width, tall)
        figure.set_layout_engine(engine)
        for place, axes in zip(places, figure.axes, strict=True):
            axes.set_subplotspec(place)


def _legible(figure: Figure) -> bool:
    """True if all texts lie on the page, none on another, and each inside the bar it is in."""
    with warnings.catch_warnings(record=True) as no_room:
        FigureCanvasAgg(figure).draw()
    if no_room:
        return False
    unseen = _unseen(figure)
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text)
             and text.get_visible() and text.get_text().strip() and text not in unseen]  # fmt: skip
    boxes = [(text.get_bbox_patch() or text).get_window_extent() for text in texts]
    bars = [bar.get_window_extent() for axes in figure.axes for bar in axes.patches]
    page = figure.bbox.padded(1)
    for k, box in enumerate(boxes):
        inside = page.contains(box.x0, box.y0) and page.contains(box.x1, box.y1)
        x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
        cut = any(bar.contains(x, y) and box.width > bar.width + 2 for bar in bars)
        met = (Bbox.intersection(box, other) for other in boxes[:k])
        if not inside or cut or any(both and both.width > 1 and both.height > 2.5 for both in met):
            return False
    return True


def _unseen(figure: Figure) -> set[Text]:
    """Labels of ticks beyond their axes, which matplotlib keeps and does not draw."""
    found: set[Text] = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            if not low - 1e-6 * (high - low) <= tick.get_loc() <= high + 1e-6 * (high - low):
                found |= {tick.label1, tick.label2}
    return found
