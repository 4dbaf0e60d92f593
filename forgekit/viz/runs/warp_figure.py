"""What pictures of single warps have in common: a panel an access, a key of the lanes below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.text import shortened
from forgekit.viz.compose import compose
from forgekit.viz.grid import Block
from forgekit.viz.palette import INK, thread_colour
from forgekit.viz.scene import Item, Label, Rect, Scene, Swatch, fitting, moved, wrap

if TYPE_CHECKING:
    from forgekit.tracing.warp_access import WarpAccess, WarpAccesses

Array = np.ndarray[Any, np.dtype[Any]]

_MOST_ROWS, _MOST_OF_SEVERAL = 32, 9
_HEAD, _TAIL = 6, 2  # rows before and after those left out

WIDTH, LEFT, HIGH = 760.0, 112.0, 17.0  # px, of a panel, what stands before a row, a row
SMALL, _LEAST = 9.5, 8.0  # px, letters


@dataclass(frozen=True)
class Row:
    """A row of an access: its name, what it shows (as if it stood at the top), the space above it,
    and what stands at its right if the row above is drawn.
    """

    label: str
    items: list[Item]
    gap: float = 0.0
    after: str = ""


def panel(
    access: WarpAccess, title: str, details: str, head: list[Item], rows: list[Row], called: str,
    *, several: bool, foldable: bool = True,
) -> Block:  # fmt: skip
    """One access: its title where there are several, its source line, details, and its rows.

    head: above the rows, as if it stood at the top; called: the rows; foldable: many may be cut.
    """
    out: list[Item] = []
    y = 0.0
    for text in wrap(title, WIDTH, 14) if several else ():
        out.append(Label(0, y + 8, text, 13, "ink", bold=True, sort="panel title"))
        y += 19
    if access.source is not None and access.source.text:
        line = shortened(access.source.text, 92)
        out.append(Label(0, y + 8, line, 12, "ink", mono=True))
        y += 20
    for text in wrap(details, WIDTH):
        out.append(Label(0, y + 8, text, 12))
        y += 18
    out += [moved(item, 0, y + 8) for item in head]
    y += 26
    left_out = 0
    if foldable and len(rows) > (_MOST_OF_SEVERAL if several else _MOST_ROWS):
        left_out = len(rows) - _HEAD - _TAIL
        rows = rows[:_HEAD] + rows[-_TAIL:]
    for number, row in enumerate(rows):
        cut = bool(left_out) and number == _HEAD
        if cut:
            text = f"⋮  {left_out} more {called} in between, not shown"
            out.append(Label(LEFT + 4, y + 10, text, 11))
        y += 20 if cut else row.gap
        out.append(side_label(row.label, y + HIGH / 2, sort="row label"))
        out += [moved(item, 0, y) for item in row.items]
        if row.after and not cut:
            out.append(Label(WIDTH, y + HIGH / 2, row.after, SMALL, anchor="end"))
        y += HIGH
    return Block(title if several else "access", WIDTH, y + 4, tuple(out))


def side_label(text: str, y: float, size: float = SMALL, sort: str = "") -> Label:
    """What stands before a row."""
    return Label(LEFT - 8, y, text, size, anchor="end", sort=sort)


def lane_label(x: float, width: float, choices: Sequence[str]) -> Label:
    """The first of several names of a cell that fits, in its middle."""
    text, size = fitting_size(choices, width)
    return Label(x + width / 2, HIGH / 2, text, size, INK, "middle", sort="lane")


def fitting_size(choices: Sequence[str], width: float) -> tuple[str, float]:
    """The text of `fitting`, in usual small letters if they do, else in smaller ones."""
    for size in (SMALL, _LEAST):
        if text := fitting(choices, width, size):
            break
    return text, size


def scene(
    shown: WarpAccesses, panels: Sequence[Block], right: float, *,
    swatches: Sequence[Swatch] = (), notes: Sequence[str] = (),
) -> Scene:  # fmt: skip
    """The whole picture; right: pixels beside the rows; swatches, notes: what colours mean."""
    rows = [[block] for block in panels]
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
    items: list[Item] = [side_label("lane", 8, 11)]
    for lane in range(32):
        there = active is None or bool(active[lane])
        fill, stroke, ink = (thread_colour(lane), None, INK) if there else (None, "rule", "dim")
        x = LEFT + lane * across
        items.append(Rect(x, 0, across - 1.2, 16, fill, stroke, sort="lane key"))
        items.append(Label(x + across / 2, 8, str(lane), SMALL, ink, "middle"))
    return Block("lanes", WIDTH, 17, tuple(items))
