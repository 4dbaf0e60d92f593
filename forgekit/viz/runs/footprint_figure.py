"""Draw a Footprint, with one panel per tensor and one cell per element or per group of elements,
coloured by block, warp, thread or count.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from forgekit.tracing.footprint import Footprint
from forgekit.viz.cells import cell_items, cell_steps, panel, reduced, rings, wrapped_width
from forgekit.viz.compose import compose
from forgekit.viz.grid import Block, ticks
from forgekit.viz.palette import INK, WRONG
from forgekit.viz.runs.footprint_colours import Colours, keys, meaning, often
from forgekit.viz.scene import Array, Cell, Item, Label, Line, Rect, Scene, text_width, wrap

_MAX_STRIP = 64  # cells of a 1-D tensor have labels if it has at most this many elements
_MAX_SIDE = 16  # cells have labels if there are at most this many rows and columns

# In pixels:
_CELL = 42.0
_SQUARE, _STRIP = 316.0, 640.0  # width of the cells of a 2-D tensor, and of a long 1-D tensor
_PAGE, _TEXT = 760.0, 12.0
_SMALL, _LARGEST = 8.0, 13.0  # limits of the font size in cells
_LEAST = 6.0  # minimum distance between block borders


@dataclass(frozen=True)
class _Panel:
    """The layout of a tensor's cells in the picture. beyond: the number of cells in the last row
    after the tensor's end.
    """

    name: str
    shape: tuple[int, ...]
    rows: int
    columns: int
    labelled: bool
    x_label: str
    y_label: str
    width: float  # width of the grid of cells in px
    height: float

    @property
    def beyond(self) -> int:
        return self.rows * self.columns - math.prod(self.shape)

    @property
    def cell(self) -> tuple[float, float]:
        return self.width / self.columns, self.height / self.rows

    def spread(self, values: Array, beyond: int) -> Array:
        flat = values.reshape(-1)
        if self.beyond:
            rest = np.full(self.beyond, beyond, np.promote_types(values.dtype, np.int16))
            flat = np.concatenate([flat, rest])
        return flat.reshape(self.rows, self.columns)


def draw(fp: Footprint) -> Scene:
    panels = [_panel(name, found["count"].shape) for name, found in fp.touched.items()]
    colours = Colours(fp)
    beside = len(panels) > 1 and sum(p.width + 62 for p in panels) <= _PAGE
    across = (_PAGE - 30 * (len(panels) - 1)) / len(panels) - 45 if beside else _PAGE - 45
    heads = [_heads(fp, p, across) for p in panels]
    if beside:  # align the tops of the cells
        most = max(map(len, heads))
        heads = [[*h, *[Label(0, 0, "", _TEXT)] * (most - len(h))] for h in heads]
    blocks = [_block(p, fp, colours, h) for p, h in zip(panels, heads, strict=True)]
    labelled = [fp.touched[p.name] for p in panels if p.labelled]
    swatches, note = colours.legend(fp, labelled)
    if any(getattr(item, "sort", "") == "number" for b in blocks for item in b.items):
        note = f"numbers in the picture: {meaning(fp)}"
    return compose(
        fp.headline, [], [blocks] if beside else [[b] for b in blocks], words=fp.alt, plain=True,
        swatches=swatches, notes=[note] if note else [], alarms=fp.notes,
    )  # fmt: skip


def _heads(fp: Footprint, p: _Panel, across: float) -> list[Label]:
    sizes = " × ".join(f"{n:,}" for n in p.shape)
    head = f"{p.name} ({sizes}), {fp.verb(p.name)}"
    lines = wrap(fp.describe(p.name), max(across, p.width), _TEXT)
    return [Label(0, 0, head, 13, "ink", bold=True), *(Label(0, 0, text, _TEXT) for text in lines)]


# -- positions of elements -------------------------------------------------------------------
def _panel(name: str, shape: tuple[int, ...]) -> _Panel:
    rows, columns, x_label, y_label = _rows_and_columns(shape)
    labelled = rows <= _MAX_SIDE and columns <= _MAX_SIDE
    if labelled:
        cell = _CELL if len(shape) < 2 else min(_CELL, _SQUARE / max(rows, columns))
        width, height = cell * columns, cell * rows if math.prod(shape) else 10.0
    else:
        long_side = _SQUARE if len(shape) > 1 else _STRIP
        ratio = min(max(rows / columns, 0.16), 2.0)
        width = long_side if ratio <= 1 else long_side / ratio
        height = width * ratio
    return _Panel(name, shape, rows, columns, labelled, x_label, y_label, width, height)


def _rows_and_columns(shape: tuple[int, ...]) -> tuple[int, int, str, str]:
    total = math.prod(shape)
    if not total:
        return 1, 1, "", ""
    if len(shape) > 1:
        # There is no room for another label.
        labels = {2: ("column", "row"), 3: ("column k; in row i, j", "")}
        merged = "column", "row (leading modes merged)"
        return total // shape[-1], shape[-1], *labels.get(len(shape), merged)
    if total <= _MAX_SIDE:
        return 1, total, "element" if shape else "", ""
    width = wrapped_width(total) if total > _MAX_STRIP else _MAX_SIDE
    return -(-total // width), width, f"element, {width:,} in a row", ""


def _ticks(p: _Panel) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
    """Return the positions, in elements, and the labels of the ticks on both axes."""
    across = range(p.columns) if p.labelled else ticks(p.columns)
    x = [(n + 0.5, f"{n:,}") for n in across] if math.prod(p.shape) and p.shape else []
    if p.rows == 1:
        return x, []
    if len(p.shape) == 1:  # label a wrapped row with its first element
        starts = ticks(p.rows, max(1, min(8, int(p.height / 20))))
        return x, [(s + 0.5, f"{s * p.columns:,}") for s in starts]
    if len(p.shape) == 3:
        each = 1 if p.labelled else p.shape[1]
        rows = range(0, p.rows, each * max(1, -(-p.rows // each // 16)))
        return x, [(r + 0.5, f"{r // p.shape[1]}, {r % p.shape[1]}") for r in rows]
    return x, [(n + 0.5, f"{n:,}") for n in (range(p.rows) if p.labelled else ticks(p.rows))]


# -- one panel --------------------------------------------------------------------------------
def _block(p: _Panel, fp: Footprint, colours: Colours, heads: list[Label]) -> Block:
    items = _labelled_cells(p, fp, colours) if p.labelled else _map(p, fp, colours)
    if len(p.shape) == 3 and p.shape[0] <= _MAX_SIDE:
        each = max(p.shape[1], 1)
        items += [Line(-5, r * p.cell[1], p.width + 5, r * p.cell[1], "ink", 1.4, sort="matrix")
                  for r in range(each, p.rows, each)]  # fmt: skip
    x, y = _ticks(p)
    return panel(p.name, heads, items, (p.width, p.height), (p.x_label, x), (p.y_label, y), p.cell)


def _map(p: _Panel, fp: Footprint, colours: Colours) -> list[Item]:
    of_cells = p.spread(keys(fp, p.name), -2)
    steps = cell_steps(p.rows, p.columns)
    cells = reduced(np.maximum, of_cells, steps)
    touched = reduced(np.add, of_cells, steps, lambda strip: strip >= 0)
    there = reduced(np.add, of_cells, steps, lambda strip: strip > -2)
    share = touched / np.maximum(there, 1)
    items = cell_items(colours.numbers(cells, share), colours.all, steps, p.cell)
    items += rings((share < 1) & (cells > -2), steps, p.cell)
    if fp.by == "warp" or (fp.many_blocks and fp.by != "count"):
        same = cells
        if fp.by == "thread":
            same = reduced(np.maximum, p.spread(fp.touched[p.name]["block"], -2), steps)
        items += _groups(p, same, steps, numbered=fp.by != "thread")
    return items


def _groups(p: _Panel, cells: Array, steps: tuple[int, int], *, numbered: bool) -> list[Item]:
    """Return the borders between the elements of different blocks if these borders are straight,
    and the blocks' numbers if there is room.
    """
    wide, high = p.cell[0] * steps[1], p.cell[1] * steps[0]
    rows = (np.flatnonzero((cells[1:] != cells[:-1]).mean(axis=1) > 0.5) + 1).tolist()
    columns = (np.flatnonzero((cells[:, 1:] != cells[:, :-1]).mean(axis=0) > 0.5) + 1).tolist()
    right, bottom = cells.shape[1] * wide, cells.shape[0] * high
    items: list[Item] = []
    if len(rows) * _LEAST < bottom:
        items += [Line(0, r * high, right, r * high, INK, 0.6, sort="border") for r in rows]
    if len(columns) * _LEAST < right:
        items += [Line(c * wide, 0, c * wide, bottom, INK, 0.6, sort="border") for c in columns]
    if not numbered:
        return items
    across = [*itertools.pairwise([0, *columns, cells.shape[1]])]
    for top, end in itertools.pairwise([0, *rows, cells.shape[0]]):
        for left, stop in across if (end - top) * high > _SMALL else ():
            part = cells[top:end, left:stop]
            number = int(part[0, 0])
            text, room = str(number), (stop - left) * wide - 2
            size = min(_LARGEST, (end - top) * high, _SMALL * room / text_width(text, _SMALL))
            if number >= 0 and size >= _SMALL and (part == number).mean() > 0.5:
                items.append(Label((left + stop) / 2 * wide, (top + end) / 2 * high, text, size,
                                   INK, "middle", sort="number"))  # fmt: skip
    return items


def _labelled_cells(p: _Panel, fp: Footprint, colours: Colours) -> list[Item]:
    """Return the cells, each with the first thread that touched it, the number of touches if there
    were several, and a frame if it was written more than once.
    """
    found = fp.touched[p.name]
    thread, block = (p.spread(found[c], -2) for c in ("thread", "block"))
    fills = colours.numbers(p.spread(keys(fp, p.name), -2))
    times, clash = p.spread(often(found), 0), p.spread(found["stores"] > 1, 0)
    texts = {}
    for y, x in np.argwhere(thread >= 0).tolist():
        who = f"{block[y, x]},{thread[y, x]}" if fp.many_blocks else f"{thread[y, x]}"
        texts[y, x] = (who, *([f"×{times[y, x]:,}"] if times[y, x] > 1 else ()))
    size = _letters([*texts.values()], p.cell)
    if size < _SMALL:  # put the block's number above the thread's number
        texts = {at: (*who.split(","), *more) for at, (who, *more) in texts.items()}
        size = _letters([*texts.values()], p.cell)
    wide, high = p.cell
    items: list[Item] = []
    for y, x in np.argwhere(thread > -2).tolist():
        fill = colours.all[fills[y, x]]
        place = ("row", str(y)), ("column", str(x))
        items.append(Cell(x * wide + 1, y * high + 1, wide - 1, high - 1, str(fill),
                          texts.get((y, x), ()), size, data=place))  # fmt: skip
        if clash[y, x]:
            items.append(Rect(x * wide + 2, y * high + 2, wide - 4, high - 4, None, WRONG, 2.4,
                              sort="clash"))  # fmt: skip
    return items


def _letters(texts: list[tuple[str, ...]], cell: tuple[float, float]) -> float:
    widest = max((len(line) for text in texts for line in text), default=1)
    most = max(map(len, texts), default=1)
    return min(_LARGEST, 0.92 * cell[0] / (0.62 * widest), 0.88 * cell[1] / (1.22 * most))
