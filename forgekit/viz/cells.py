"""Draw a tensor's elements as cells. Long 1-D tensors are wrapped, a cell may cover several
elements, and circles mark isolated cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from forgekit.viz.grid import Block
from forgekit.viz.palette import WRONG
from forgekit.viz.scene import Array, Item, Label, Pixels, Rect, moved, text_width

# A tick's position, in elements from the edge of the first element, and its label.
Ticks = Sequence[tuple[float, str]]

_MOST = 256  # maximum cells along an axis; on longer axes, a cell covers several elements
# On an axis of at least this number of cells, a few cells are easily overlooked. The maximum number
# of circles.
_LARGE, _MOST_RINGS = 64, 12
_RING = 7.0  # in px
_TICK = 10.5  # font size in px


def wrapped_width(size: int) -> int:
    """Return the number of elements per row in the picture of a 1-D tensor: a power of two for
    which the picture is wider than high.
    """
    width = 32
    while width * width < 4 * size:
        width *= 2
    return width


def cell_steps(rows: int, columns: int) -> tuple[int, int]:
    """Return the numbers of rows and of columns that share a cell."""
    return -(-rows // _MOST), -(-columns // _MOST)


def reduced(
    how: np.ufunc,
    values: Array,
    steps: tuple[int, int],
    of: Callable[[Array], Array] = lambda strip: strip,
) -> Array:
    """Return one number per cell, computed one strip at a time, because there may be millions of
    values.
    """
    rows = []
    for start in range(0, len(values), steps[0]):
        strip = of(values[start : start + steps[0]])
        across = how.reduce(strip, axis=0, dtype=np.int64)
        rows.append(how.reduceat(across, np.arange(0, len(across), steps[1])))
    return np.array(rows)


def cell_items(
    numbers: Array, colours: Sequence[str | None], steps: tuple[int, int],
    cell: tuple[float, float],
) -> list[Item]:  # fmt: skip
    """Return the cells, whose colours `numbers` selects from `colours`, in a frame. cell: the width
    and height of an element in px.
    """
    high, wide = numbers.shape[0] * steps[0] * cell[1], numbers.shape[1] * steps[1] * cell[0]
    return [Pixels(0, 0, wide, high, numbers, colours), Rect(0, 0, wide, high, None, "rule")]


def rings(cells: Array, steps: tuple[int, int], cell: tuple[float, float]) -> list[Item]:
    """Return circles around the cells that are True, if these are few and easily overlooked."""
    hit = np.argwhere(cells)
    if max(cells.shape) < _LARGE or not 0 < len(hit) <= _MOST_RINGS:
        return []
    places = (hit + 0.5) * steps * cell[::-1]
    return [Rect(x - _RING, y - _RING, 2 * _RING, 2 * _RING, None, WRONG, 1.6, _RING, sort="ring")
            for y, x in places.tolist()]  # fmt: skip


def panel(
    name: str, heads: Sequence[Label], items: Sequence[Item], size: tuple[float, float],
    x: tuple[str, Ticks], y: tuple[str, Ticks], cell: tuple[float, float],
) -> Block:  # fmt: skip
    """Return a block of cells with text above them and labelled axes.

    heads: lines of text, with x relative to the left edge of the cells; items: the cells, relative
    to their upper-left corner; size: the width and height of the grid of cells in px; x, y: the
    name of each axis, and its ticks; cell: the width and height of an element in px.
    """
    longest = max((text_width(text, _TICK) for _, text in y[1]), default=0.0)
    left = longest + 8 if y[1] else 2.0
    left += 17 if y[0] else 0
    top = sum(h.size * 1.45 for h in heads) + 6
    out: list[Item] = []
    at = 0.0
    for head in heads:
        out += [moved(head, left, at + head.size * 0.72)] if head.text else []
        at += head.size * 1.45
    out += [moved(item, left, top) for item in items]
    bottom = top + size[1]
    for place, text in y[1]:
        out.append(Label(left - 6, top + place * cell[1], text, _TICK, anchor="end", sort="tick"))
    for place, text in x[1]:
        out.append(Label(left + place * cell[0], bottom + 9, text, _TICK, anchor="middle",
                         sort="tick"))  # fmt: skip
    if x[1]:
        bottom += 18
    if x[0]:
        out.append(Label(left + size[0] / 2, bottom + 8, x[0], 11, anchor="middle", sort="axis"))
        bottom += 18
    if y[0]:
        out.append(Label(7, top + size[1] / 2, y[0], 11, anchor="middle", upright=True,
                         sort="axis"))  # fmt: skip
    wide = max([size[0], *(text_width(h.text, h.size) for h in heads)])
    return Block(name, left + wide + 4, bottom + 2, tuple(out), left, top)
