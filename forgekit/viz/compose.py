"""Lay out a card: a title, a description, rows of grids, a legend and notes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forgekit.viz.grid import Block, Grid
from forgekit.viz.scene import Item, Label, Panel, Rect, Scene, Swatch, text_width, wrap

_PAD, _GAP = 20.0, 30.0
_TITLE, _TEXT, _LINE = 14.5, 12.0, 18.0
_LEAST, _PAGE = 340.0, 1040.0  # minimum and maximum width of the content in px


def blocks_of(grids: Sequence[Grid]) -> list[list[Block]]:
    """Arrange grids side by side. If one of them is large, draw overviews in a first row and
    enlarged corners in a second row.
    """
    if not any(g.is_large for g in grids):
        return _wrapped([g.block() for g in grids])
    overviews = [g.overview() if g.is_large else g.block() for g in grids]
    corners = [g.corner().block() for g in grids if g.is_large]
    if len(grids) == 1 and overviews[0].width + corners[0].width + _GAP <= _PAGE:
        return [[overviews[0], corners[0]]]
    return _wrapped(overviews) + _wrapped(corners)


def _wrapped(blocks: Sequence[Block]) -> list[list[Block]]:
    """Arrange blocks in as few rows as possible, each no wider than a page."""
    rows: list[list[Block]] = [[]]
    for block in blocks:
        if rows[-1] and sum(b.width + _GAP for b in rows[-1]) + block.width > _PAGE:
            rows.append([])
        rows[-1].append(block)
    return rows


def compose(
    title: str,
    lines: Sequence[str],
    rows: Sequence[Sequence[Block | None]],
    *,
    words: str,
    swatches: Sequence[Swatch] = (),
    notes: Sequence[str] = (),
    aligned: int = 0,
    plain: bool = False,
    alarms: Sequence[str] = (),
) -> Scene:
    """Compose the whole picture.

    title: a layout in CuTe's notation or, if `plain`, text; lines: lines of text below the title;
    rows: the grids, where None leaves a position empty; words: a text equivalent of the picture;
    swatches, notes: the legend at the bottom; aligned: the number of rows, from the top, in which
    the cells of the blocks in a column begin at the same x; alarms: error messages.
    """
    places, body_width, body_height = _place(rows, aligned)
    legend_width = max((_swatch_width(s) for s in swatches), default=0.0)
    title_width = min(text_width(title, _TITLE, mono=not plain), 640.0)
    content = max(body_width, _LEAST, title_width, legend_width)
    y = _PAD
    head: list[Item] = []
    letters = max(int(content / text_width("0", _TITLE, mono=True)), 24)
    for line in wrap(title, content, _TITLE * 1.08) if plain else wrap_layout(title, letters):
        head.append(
            Label(_PAD, y + 9, line, _TITLE, "ink", bold=True, mono=not plain, sort="title")
        )
        y += _LINE + 3
    below = [*((text, "dim") for text in lines), *((text, "alarm") for text in alarms)]
    for text, role in below:
        for line in wrap(text, content, _TEXT):
            head.append(Label(_PAD, y + 8, line, _TEXT, role, sort="note"))
            y += _LINE
    y += 12
    body = (_PAD - 4, y - 4, body_width + 8, body_height + 8)
    panels = [Panel(b.name, tuple(b.at(_PAD + bx, y + by))) for b, bx, by in places]
    foot, y = _legend(swatches, y + body_height + 4, content)
    for line in (part for text in notes for part in wrap(text, content, _TEXT)):
        y += _LINE
        foot.append(Label(_PAD, y, line, _TEXT, sort="note"))
    width, height = content + 2 * _PAD, y + (10 if foot else 0) + _PAD - 4
    card = Rect(0.5, 0.5, width - 1, height - 1, "card", "rim", 1, 8)
    panels.insert(0, Panel("heading", (card, *head)))
    if foot:
        panels.append(Panel("legend", tuple(foot)))
    return Scene(width, height, title, words, body, plain, below, swatches, notes, panels)


def _place(
    rows: Sequence[Sequence[Block | None]], aligned: int
) -> tuple[list[tuple[Block, float, float]], float, float]:
    columns = max((len(row) for row in rows[:aligned]), default=0)
    present = [[b for b in (row[i] if i < len(row) else None for row in rows[:aligned]) if b]
               for i in range(columns)]  # fmt: skip
    lefts = [max((b.left for b in column), default=0) for column in present]
    widths = [left + max((b.width - b.left for b in column), default=0)
              for left, column in zip(lefts, present, strict=True)]  # fmt: skip
    places: list[tuple[Block, float, float]] = []
    y = across = 0.0
    for number, row in enumerate(rows):
        top = max((b.top for b in row if b), default=0)
        x = below = 0.0
        for i, block in enumerate(row):
            if block is not None:
                shift = lefts[i] - block.left if number < aligned else 0.0
                places.append((block, x + shift, y + top - block.top))
                below = max(below, block.height - block.top)
                across = max(across, x + shift + block.width)
            x += _GAP + (widths[i] if number < aligned or block is None else block.width)
        y += top + below + _GAP * 0.7
    return places, across, y - _GAP * 0.7


def _legend(swatches: Sequence[Swatch], y: float, width: float) -> tuple[list[Item], float]:
    items: list[Item] = []
    x, down = 0.0, y + 20
    for swatch in swatches:
        needed = _swatch_width(swatch) + 22
        if x and x + needed > width + 22:
            x, down = 0.0, down + 22
        items += swatch.items(_PAD + x, down - 7)
        at = _PAD + x + swatch.width + 8 * bool(swatch.width)
        items.append(Label(at, down, swatch.text, _TEXT, sort="legend"))
        x += needed
    return items, (down + 4 if swatches else y)


def _swatch_width(swatch: Swatch) -> float:
    return swatch.width + 8 + text_width(swatch.text, _TEXT)


def wrap_layout(text: str, letters: int) -> list[str]:
    """Split a layout's text into lines that end after a colon, a comma or `o`."""
    lines = [""]
    for piece in re.findall(r"[^:,o ]*(?:[:,]| o |[o ])?", text):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > letters:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]
