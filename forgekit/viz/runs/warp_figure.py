"""What pictures of single warps have in common: a panel an access, a key of the lanes below."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from forgekit.text import shortened
from forgekit.viz.compose import compose
from forgekit.viz.grid import Block
from forgekit.viz.palette import INK, thread_colour
from forgekit.viz.scene import Item, Label, Rect, Scene, Swatch, fitting, wrap

if TYPE_CHECKING:
    from forgekit.tracing.warp_access import WarpAccess, WarpAccesses

Array = np.ndarray[Any, np.dtype[Any]]

_MOST_ROWS, _MOST_OF_SEVERAL = 32, 9
_HEAD, _TAIL = 6, 2  # rows before and after those left out

WIDTH, LEFT = 760.0, 112.0  # px, of a panel, and what stands before a row
SMALL, _LEAST = 9.5, 8.0  # px, letters

R = TypeVar("R")


class Panel(ABC, Generic[R]):
    """One access: its title, its source line, its details, and rows that a subclass draws.

    cost: for the title, which one of several panels has; foldable: whether many rows may be cut.
    """

    row_height: float
    rows_called: str

    def __init__(
        self, access: WarpAccess, cost: str, details: str, rows: list[R], *, several: bool,
        foldable: bool = True,
    ) -> None:  # fmt: skip
        self.access, self.details = access, details
        self.title = f"{access.place}: {cost}" if several else ""
        self.rows, self._left_out = rows, 0
        self.items: list[Item] = []
        if foldable and len(rows) > (_MOST_OF_SEVERAL if several else _MOST_ROWS):
            self._left_out = len(rows) - _HEAD - _TAIL
            self.rows = rows[:_HEAD] + rows[-_TAIL:]

    def block(self) -> Block:
        """The whole panel, as a block of the picture."""
        y = 0.0
        for text in wrap(self.title, WIDTH, 14):
            self.items.append(Label(0, y + 8, text, 13, "ink", bold=True, sort="panel title"))
            y += 19
        if self.access.source is not None and self.access.source.text:
            line = shortened(self.access.source.text, 92)
            self.items.append(Label(0, y + 8, line, 12, "ink", mono=True))
            y += 20
        for text in wrap(self.details, WIDTH):
            self.items.append(Label(0, y + 8, text, 12))
            y += 18
        y += 8
        self.draw_header(y)
        y += 18
        for number, row in enumerate(self.rows):
            cut = bool(self._left_out) and number == _HEAD
            if cut:
                text = f"⋮  {self._left_out} more {self.rows_called} in between, not shown"
                self.items.append(Label(LEFT + 4, y + 10, text, 11))
                y += 20
            else:
                y += self.gap(row)
            self.draw_row(y, row, below_cut=cut)
            y += self.row_height
        return Block(self.title or "access", WIDTH, y + 4, tuple(self.items))

    def label(self, x: float, y: float, text: str, **style: Any) -> None:
        self.items.append(Label(x, y, text, **{"size": SMALL, **style}))

    def row_label(self, y: float, text: str) -> None:
        self.label(LEFT - 8, y + self.row_height / 2, text, anchor="end", sort="row label")

    def named(self, x: float, y: float, width: float, choices: Sequence[str]) -> None:
        """The first of several names of a cell that fits, in its middle."""
        text, size = fitting_size(choices, width)
        self.label(x + width / 2, y + self.row_height / 2, text, size=size, fill=INK,
                   anchor="middle", sort="lane")  # fmt: skip

    @abstractmethod
    def gap(self, row: R) -> float:
        """Pixels above a row."""

    @abstractmethod
    def draw_header(self, y: float) -> None: ...

    @abstractmethod
    def draw_row(self, y: float, row: R, *, below_cut: bool) -> None: ...


def fitting_size(choices: Sequence[str], width: float) -> tuple[str, float]:
    """The text of `fitting`, in usual small letters if they do, else in smaller ones."""
    for size in (SMALL, _LEAST):
        if text := fitting(choices, width, size):
            break
    return text, size


def scene(
    shown: WarpAccesses, panels: Sequence[Panel[Any]], right: float, *,
    swatches: Sequence[Swatch] = (), notes: Sequence[str] = (),
) -> Scene:  # fmt: skip
    """The whole picture; right: pixels beside the rows; swatches, notes: what colours mean."""
    rows = [[panel.block()] for panel in panels]
    if panels:
        active = shown.accesses[0].active if len(panels) == 1 else None
        rows.append([_lane_key(right, active)])
    return compose(
        shown.headline, [], rows, words=shown.alt, plain=True, alarms=shown.notes,
        swatches=swatches if panels else (), notes=[*(notes if panels else ()), *shown.more],
    )  # fmt: skip


def _lane_key(right: float, active: Array | None) -> Block:
    """The colours of the 32 lanes, of `active` ones alone."""
    across = (WIDTH - LEFT - right) / 32
    items: list[Item] = [Label(LEFT - 8, 8, "lane", 11, anchor="end")]
    for lane in range(32):
        there = active is None or bool(active[lane])
        fill, stroke, ink = (thread_colour(lane), None, INK) if there else (None, "rule", "dim")
        x = LEFT + lane * across
        items.append(Rect(x, 0, across - 1.2, 16, fill, stroke, sort="lane key"))
        items.append(Label(x + across / 2, 8, str(lane), SMALL, ink, "middle"))
    return Block("lanes", WIDTH, 17, tuple(items))
