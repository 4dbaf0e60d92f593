"""What pictures of single warps have in common: a panel an access, a key of the lanes below."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from forgekit.text import shortened
from forgekit.viz.theme import LETTERS, NOT_TOUCHED, TEXT, WIDTH, Canvas, ink, wrap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forgekit.tracing.warp_access import WarpAccess, WarpAccesses

Array = np.ndarray[Any, np.dtype[Any]]

_MOST_ROWS, _MOST_OF_SEVERAL = 32, 9
_HEAD, _TAIL = 6, 2  # rows before and after those left out

LEFT = 1.2  # inches, what stands before a row
SMALL = 7  # points

R = TypeVar("R")


class Panel(ABC, Generic[R]):
    """One access: its title, its source line, its details, and rows that a subclass draws.

    cost: for the title, which one of several panels has; foldable: whether many rows may be cut.
    """

    row_height: float  # inches
    rows_called: str

    def __init__(
        self, access: WarpAccess, cost: str, details: str, rows: list[R], *, several: bool,
        foldable: bool = True,
    ) -> None:  # fmt: skip
        self.access, self.details = access, details
        self.title = f"{access.place}: {cost}" if several else ""
        self.rows, self._left_out = rows, 0
        if foldable and len(rows) > (_MOST_OF_SEVERAL if several else _MOST_ROWS):
            self._left_out = len(rows) - _HEAD - _TAIL
            self.rows = rows[:_HEAD] + rows[-_TAIL:]

    def draw(self, canvas: Canvas, y: float) -> float:
        """Draw it from y on; returns where the next one begins."""
        for text in wrap(self.title, WIDTH - LEFT - 0.15, LETTERS * 0.83):
            canvas.text(LEFT, y, text, size=10.5, weight="bold", gid="panel title")
            y += 0.2
        y += 0.04
        if self.access.source is not None and self.access.source.text:
            line = shortened(self.access.source.text, 78)
            canvas.text(LEFT, y, line, family="monospace", size=8.5)
            y += 0.2
        y = canvas.lines(LEFT, y, wrap(self.details, WIDTH - 0.6)) + 0.08
        self.draw_header(canvas, y)
        y += 0.2
        for number, row in enumerate(self.rows):
            cut = bool(self._left_out) and number == _HEAD
            if cut:
                text = f"⋮  {self._left_out} more {self.rows_called} in between, not shown"
                canvas.text(LEFT + 0.05, y + 0.03, text, size=8)
                y += 0.2
            else:
                y += self.gap(row)
            self.draw_row(canvas, y, row, below_cut=cut)
            y += self.row_height
        return y + 0.16

    def row_label(self, canvas: Canvas, y: float, text: str, size: float = SMALL) -> None:
        canvas.text(LEFT - 0.08, y + self.row_height / 2, text, size=size, ha="right",
                    va="center_baseline", gid="row label")  # fmt: skip

    @abstractmethod
    def gap(self, row: R) -> float:
        """Inches above a row."""

    @abstractmethod
    def draw_header(self, canvas: Canvas, y: float) -> None: ...

    @abstractmethod
    def draw_row(self, canvas: Canvas, y: float, row: R, *, below_cut: bool) -> None: ...


def draw_panels(
    shown: WarpAccesses,
    panels: Sequence[Panel[Any]],
    right: float,
    draw_key: Callable[[Canvas, float], float],
) -> Figure:
    """The whole picture; right: inches beside the rows; draw_key: what the colours mean."""
    canvas = Canvas()
    y = canvas.heading(shown.headline, shown.notes)
    for panel in panels:
        y = panel.draw(canvas, y)
    if panels:
        active = shown.accesses[0].active if len(panels) == 1 else None
        y = draw_key(canvas, _lane_key(canvas, y, right, active)) + 0.05
    return canvas.finish(canvas.lines(WIDTH / 2, y, shown.more, ha="center") + 0.1)


# -- colours of lanes -----------------------------------------------------------------------------
def lane_colours() -> Array:
    """(32, 4): a colour for each lane, on the scale that threads have in a footprint."""
    import matplotlib

    return np.array(matplotlib.colormaps["viridis"](np.linspace(0.25, 1.0, 32)))


def _lane_key(canvas: Canvas, y: float, right: float, active: Array | None) -> float:
    """The colours of the 32 lanes, of `active` ones alone; returns where the next thing goes."""
    colours, across = lane_colours(), (canvas.width - LEFT - right) / 32
    canvas.text(LEFT - 0.08, y + 0.08, "lane", size=8, ha="right", va="center_baseline")
    for lane in range(32):
        there = active is None or bool(active[lane])
        style = {"facecolor": colours[lane]} if there else NOT_TOUCHED
        canvas.box(LEFT + lane * across, y, across - 0.012, 0.16, gid="lane key", **style)
        colour = ink(colours[lane]) if there else TEXT
        canvas.centred(LEFT + (lane + 0.5) * across, y + 0.08, str(lane), SMALL, color=colour)
    return y + 0.27
