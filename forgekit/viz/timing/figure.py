"""Draw a lesson's plot in the style and colours of the course's other pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes

from forgekit.arguments import checked
from forgekit.errors import brief, usage_error
from forgekit.viz.timing.chart import page, tidy
from forgekit.viz.timing.style import STYLE, WIDTH, TimingPicture

__all__ = ["figure"]


@checked(height=(0.5, 12), panels=(1, 4), width=(3, 12))
def figure(
    title: str,
    alt: str,
    *,
    height: float = 2.6,
    panels: int = 1,
    note: str = "",
    width: float = WIDTH,
) -> Any:
    """Return a context manager that provides matplotlib axes, and then shows the plot in the page's
    colours.

        with fk.figure("Errors grow with n", "A line from 1 at n = 2 to 30 at 1,024.") as axes:
            axes.loglog(lengths, errors)

    title, note: the text above and below the axes; alt: a description for readers who cannot see
    the picture; height: the height of the axes in inches; panels: the number of axes side by side,
    which the block receives as a list if there are several; width: the width of the picture in
    inches (a phone shows 4.2 inches without scrolling). If the block raises an exception, nothing
    is shown.

    Raises UsageError if `alt` is empty or a number is outside its limits.
    """
    if not alt.strip():
        raise usage_error("alt", brief(alt), "text", "describe what the picture shows")
    return _figure(title, alt, height, panels, note, width)


@contextmanager
def _figure(
    title: str, alt: str, height: float, panels: int, note: str, width: float
) -> Iterator[Any]:
    from IPython.display import display

    with matplotlib.rc_context(STYLE):
        drawn = page(title, [note] if note else [], height, width)
        axes: list[Axes] = list(drawn.subplots(1, panels, squeeze=False)[0])
        for each in axes:
            tidy(each)
        yield axes[0] if panels == 1 else axes
        display(TimingPicture(drawn, f"{title}. {alt}"))
