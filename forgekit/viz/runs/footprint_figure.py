"""Draw a Footprint: a panel a tensor, a cell an element (or a few), coloured by who touched it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.viz.cells import cell_steps, paint, reduced, ring, wrapped_width
from forgekit.viz.runs.footprint_legend import CLASH, Colours, draw_legend, keys, often
from forgekit.viz.theme import LINE, RED, TEXT, UNTOUCHED, Canvas, ink, ticks, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forgekit.tracing.footprint import Footprint

Array = np.ndarray[Any, np.dtype[Any]]

_MAX_STRIP = 64  # elements of a 1-D tensor whose cells are labelled
_MAX_SIDE = 16  # rows or columns of a picture with labels
_MAX_LINES = 64  # borders of blocks along an axis

# Inches.
_CELL, _GAP = 0.44, 0.04
_SQUARE = 3.8  # cells of a 2-D tensor
_PAGE, _LEAST, _LEAST_WITH_NOTES = 9.45, 5.2, 6.0  # the figure's width
_LEFT, _RIGHT, _BELOW = 0.7, 0.2, 0.52  # for labels of the axes
_DIGIT = 0.62  # width of a digit by the size of the font
_SMALL = 6  # points, letters that are hard to read


@dataclass(frozen=True)
class _Panel:
    """How a tensor lies in the picture; `beyond`: cells after its end in the last row."""

    name: str
    shape: tuple[int, ...]
    rows: int
    columns: int
    labelled: bool
    x_label: str
    y_label: str
    width: float  # of the cells, inches
    height: float

    @property
    def beyond(self) -> int:
        return self.rows * self.columns - math.prod(self.shape)

    @property
    def slot(self) -> float:
        """Inches across, title included."""
        return max(self.width, 3.0) + _LEFT + _RIGHT

    def spread(self, values: Array, beyond: int) -> Array:
        """A tensor's values as rows and columns."""
        flat = values.reshape(-1)
        if self.beyond:
            rest = np.full(self.beyond, beyond, np.promote_types(values.dtype, np.int16))
            flat = np.concatenate([flat, rest])
        return flat.reshape(self.rows, self.columns)


def draw(fp: Footprint) -> Figure:
    """The figure of a Footprint."""
    panels = [_panel(name, found["count"].shape) for name, found in fp.touched.items()]
    colours = Colours(fp)
    beside = sum(p.slot for p in panels) <= _PAGE and any(p.height > 1 for p in panels)
    width = sum(p.slot for p in panels) if beside else max(p.slot for p in panels)
    width = max(width, _LEAST_WITH_NOTES if fp.notes else _LEAST)
    canvas = Canvas(width)
    start = canvas.heading(fp.headline, fp.notes)
    described = [wrap(fp.describe(p.name), (p.slot if beside else width) - 0.8) for p in panels]
    x, y, ends = _LEFT, start, [start]
    for panel, lines in zip(panels, described, strict=True):
        sizes = " × ".join(f"{n:,}" for n in panel.shape)
        head = f"{panel.name} ({sizes}), {fp.verb(panel.name)}"
        canvas.text(x, y, head, size=10.5, weight="bold")
        canvas.lines(x, y + 0.2, lines)
        top = y + 0.28 + LINE * max(map(len, described if beside else [lines]))
        axes = canvas.panel(x, top, panel.width, panel.height)
        _draw_panel(axes, panel, fp, colours)
        ends.append(top + panel.height + (_BELOW if panel.x_label else 0.1))
        x, y = (x + panel.slot, y) if beside else (x, ends[-1] + 0.06)
    labelled = [fp.touched[p.name] for p in panels if p.labelled]
    return canvas.finish(draw_legend(canvas, max(ends), fp, colours, labelled) + 0.1)


# -- where the elements lie -------------------------------------------------------------------
def _panel(name: str, shape: tuple[int, ...]) -> _Panel:
    rows, columns, x_label, y_label = _rows_and_columns(shape)
    labelled = rows <= _MAX_SIDE and columns <= _MAX_SIDE
    if labelled:
        cell = _CELL if len(shape) < 2 else min(_CELL, _SQUARE / max(rows, columns))
        width, height = cell * columns, cell * rows if math.prod(shape) else 0.1
    else:
        long_side = _SQUARE if len(shape) > 1 else 6.4
        ratio = min(max(rows / columns, 0.16), 2.0)
        width = long_side if ratio <= 1 else long_side / ratio
        height = width * ratio
    return _Panel(name, shape, rows, columns, labelled, x_label, y_label, width, height)


def _rows_and_columns(shape: tuple[int, ...]) -> tuple[int, int, str, str]:
    """Rows, columns and the labels of both axes."""
    total = math.prod(shape)
    if not total:
        return 1, 1, "", ""
    if len(shape) > 1:
        if len(shape) == 3:  # the labels of the rows leave no room for another
            return total // shape[-1], shape[-1], "column k; in row i, j", ""
        y_label = "row" if len(shape) == 2 else "row (leading modes merged)"
        return total // shape[-1], shape[-1], "column", y_label
    if total <= _MAX_SIDE:
        return 1, total, "element" if shape else "", ""
    width = _MAX_SIDE
    if total > _MAX_STRIP:
        width = wrapped_width(total)
    return -(-total // width), width, f"element, {width:,} in a row", ""


# -- one panel --------------------------------------------------------------------------------
def _draw_panel(axes: Axes, panel: _Panel, fp: Footprint, colours: Colours) -> None:
    axes.set_xlim(-0.5, panel.columns - 0.5)
    axes.set_ylim(panel.rows - 0.5, -0.5)
    if panel.labelled:
        _labelled_cells(axes, panel, fp, colours)
    else:
        _coloured_map(axes, panel, fp, colours)
    if len(panel.shape) == 3 and panel.shape[0] <= _MAX_SIDE:
        ends = np.arange(panel.shape[1], panel.rows, max(panel.shape[1], 1)) - 0.5
        axes.hlines(ends, -0.75, panel.columns - 0.25, colors=TEXT, linewidths=1.2, zorder=4,
                    clip_on=False)  # fmt: skip
    _axis(axes, panel)


def _coloured_map(axes: Axes, panel: _Panel, fp: Footprint, colours: Colours) -> None:
    whole = panel.rows - (panel.beyond > 0)
    _box(axes, 0, 0, panel.columns, whole, **UNTOUCHED)
    if panel.beyond:
        _box(axes, 0, whole, panel.columns - panel.beyond, 1, **UNTOUCHED)
    of_cells = panel.spread(keys(fp, panel.name), -2)
    steps = cell_steps(panel.rows, panel.columns)
    cells, share = _in_cells(of_cells, steps)
    image = colours.rgba(cells)
    # A cell of which only a part was touched lets the hatching shine through.
    image[..., 3] = np.where(share == 1, 1.0, np.where(share > 0, 0.2 + 0.5 * share, 0.0))
    paint(axes, image, (panel.rows, panel.columns), steps, zorder=2)
    gaps = (share < 1) & (cells > -2)
    ring(axes, gaps, steps, s=90, edgecolors=RED, linewidths=1.5, zorder=4)
    if fp.many_blocks and fp.by != "count":
        blocks = reduced(np.maximum, panel.spread(fp.touched[panel.name]["block"], -2), steps)
        _block_borders(axes, panel, blocks, steps)


def _box(axes: Axes, x: int, y: int, width: float, height: float, *, inset: float = 0.0,
         **style: Any) -> None:  # fmt: skip
    """A rectangle of `width` x `height` cells, its first cell at column x of row y."""
    from matplotlib.patches import Rectangle

    corner = (x - 0.5 + inset, y - 0.5 + inset)
    axes.add_patch(Rectangle(corner, width - 2 * inset, height - 2 * inset, zorder=1, **style))


def _in_cells(keys: Array, steps: tuple[int, int]) -> tuple[Array, Array]:
    """Each cell's key (-2 beyond the end), and the share of its elements that were touched."""
    touched = reduced(np.add, keys, steps, lambda strip: strip >= 0)
    there = reduced(np.add, keys, steps, lambda strip: strip > -2)
    return reduced(np.maximum, keys, steps), touched / np.maximum(there, 1)


def _labelled_cells(axes: Axes, panel: _Panel, fp: Footprint, colours: Colours) -> None:
    """Who touched each cell, how often if more than once, and a frame round repeated writes."""
    found = fp.touched[panel.name]
    thread, block = (panel.spread(found[c], -2) for c in ("thread", "block"))
    rgba = colours.rgba(panel.spread(keys(fp, panel.name), -2))
    times, clash = panel.spread(often(found), 0), panel.spread(found["stores"] > 1, 0)
    texts = {}
    for y, x in np.argwhere(thread > -2).tolist():
        if thread[y, x] < 0:
            _box(axes, x, y, 1, 1, inset=_GAP, **UNTOUCHED)
            continue
        _box(axes, x, y, 1, 1, inset=_GAP, facecolor=rgba[y, x], linewidth=0)
        if clash[y, x]:
            _box(axes, x, y, 1, 1, inset=0.06, **CLASH)
        who = f"{block[y, x]},{thread[y, x]}" if fp.many_blocks else f"{thread[y, x]}"
        texts[y, x] = who + (f"\n×{times[y, x]:,}" if times[y, x] > 1 else "")
    points = 72 * panel.width / panel.columns
    size = _letter_size(texts.values(), points)
    if size < _SMALL:
        texts = {at: text.replace(",", ",\n") for at, text in texts.items()}
        size = _letter_size(texts.values(), points)
    for (y, x), text in texts.items():
        axes.text(x, y, text, ha="center", va="center", fontsize=size, color=ink(rgba[y, x]),
                  linespacing=1.0)  # fmt: skip


def _letter_size(texts: Iterable[str], points: float) -> float:
    """The size of letters with which all texts fit into a cell of so many points."""
    lines = [text.split("\n") for text in texts]
    widest = max((len(line) for text in lines for line in text), default=1)
    most = max((len(text) for text in lines), default=1)
    return min(10.0, 0.88 * points / (_DIGIT * widest), 0.84 * points / (1.2 * most))


def _block_borders(axes: Axes, panel: _Panel, cells: Array, steps: tuple[int, int]) -> None:
    """Lines where one block's elements end and another's begin, if they do so along a line."""
    style: dict[str, Any] = {"colors": "white", "linewidths": 0.7, "alpha": 0.7, "zorder": 3}
    rows = np.flatnonzero((cells[1:] != cells[:-1]).mean(axis=1) > 0.5) + 1
    columns = np.flatnonzero((cells[:, 1:] != cells[:, :-1]).mean(axis=0) > 0.5) + 1
    if len(rows) < _MAX_LINES:
        axes.hlines(rows * steps[0] - 0.5, -0.5, panel.columns - 0.5, **style)
    if len(columns) < _MAX_LINES:
        axes.vlines(columns * steps[1] - 0.5, -0.5, panel.rows - 0.5, **style)


def _axis(axes: Axes, panel: _Panel) -> None:
    axes.set_xlabel(panel.x_label, color=TEXT, fontsize=9)
    axes.set_ylabel(panel.y_label, color=TEXT, fontsize=9)
    axes.tick_params(colors=TEXT, labelsize=8, length=0 if panel.labelled else 3)
    for side in axes.spines.values():
        side.set_visible(False)
    if not math.prod(panel.shape) or not panel.shape:
        axes.set_xticks([])
    elif panel.labelled:
        axes.set_xticks(range(panel.columns))
    else:
        axes.set_xticks(ticks(panel.columns))
    if panel.rows == 1:
        axes.set_yticks([])
    elif len(panel.shape) == 1:  # a wrapped row is named by its first element
        starts = ticks(panel.rows, max(1, min(8, int(panel.height / 0.2))))
        axes.set_yticks(starts, [f"{s * panel.columns:,}" for s in starts])
    elif len(panel.shape) == 3:
        each = 1 if panel.labelled else panel.shape[1]
        rows = [*range(0, panel.rows, each * max(1, -(-panel.rows // each // 16)))]
        axes.set_yticks(rows, [f"{r // panel.shape[1]}, {r % panel.shape[1]}" for r in rows])
    else:
        axes.set_yticks(range(panel.rows) if panel.labelled else ticks(panel.rows))
