"""Draw where two tensors differ: one cell an element, or a block of them, coloured by what is wrong
there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.arguments import checked
from forgekit.checking.check_report import CheckReport
from forgekit.checking.compare import compare, tile_sizes
from forgekit.errors import UsageError, got_needed
from forgekit.viz.cells import cell_steps, paint, reduced, ring, wrapped_width
from forgekit.viz.theme import TEXT, ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = np.ndarray[Any, np.dtype[Any]]

# Okabe-Ito's colour-blind-safe colours over a neutral grey.
_EQUAL_COLOUR = "#C9C9C9"
_COLOURS = ("#D55E00", "#F0E442", "#0072B2")
_LABELS = ("wrong value", "0 or never written", "NaN")
_MAX_GRID = 32  # up to this many cells along an axis a line is drawn between them
_MAX_TILE_LINES = 64
_MAX_FRAMES, _LEAST_FRAME = 256, 0.012  # of the picture's side
_BEYOND = -1  # code of a cell after the end of a wrapped 1-D tensor


@checked()
def mismatch_map(
    report_or_actual: CheckReport | object,
    expected: object = None,
    tile: int | tuple[int, ...] | None = None,
) -> Figure:
    """A picture of the elements in which `actual` and `expected` differ.

    A 2-D tensor is drawn as it is, a 1-D one in rows (whose width the axis states), leading
    dimensions of others are merged. Where a cell stands for a block of elements, it has the colour
    of the worst of them.

    Args:
        report_or_actual: a CheckReport, or the actual values, compared as `check` does.
        expected: the expected values, if no report is given.
        tile: draw the borders of tiles of this size (rows, columns); None takes the report's tile.

    Raises:
        UsageError: no expected values, or the two cannot be compared.
    """
    if isinstance(report_or_actual, CheckReport):
        report = report_or_actual
    elif expected is None:
        remedy = "give a CheckReport, or both tensors"
        raise UsageError(got_needed("mismatch_map", "one tensor", "actual and expected", remedy))
    else:
        report = compare(report_or_actual, expected)
    borders = report.tile if tile is None else tile_sizes(tile)
    return _draw(report, borders)


def _draw(report: CheckReport, tile: tuple[int, ...] | None) -> Figure:
    from matplotlib.figure import Figure

    grid, x_label, y_label = _as_grid(report.codes, tile)
    step_y, step_x = cell_steps(*grid.shape)
    blocks = reduced(np.maximum, grid, (step_y, step_x))  # the worst of each cell
    width, height = _size(grid.shape)
    figure = Figure(figsize=(width + 1.1, height + 1.25), layout="constrained")
    figure.patch.set_alpha(0.0)
    axes = figure.add_subplot()
    _paint(axes, blocks, grid.shape, (step_y, step_x))
    if max(grid.shape) <= _MAX_GRID:
        _grid(axes, *grid.shape)
    tiles = _Tiles(report.codes, tile) if tile is not None and report.codes.size else None
    if tiles is not None:
        tiles.draw(axes)
    title = _title(report) + (f", in {tiles.counted}" if tiles is not None else "")
    axes.set_title(title, color=TEXT, fontsize=10, wrap=True)
    if step_x > 1 or step_y > 1:
        x_label += f"; one cell is {step_y} x {step_x} elements"
    axes.set_xlabel(x_label, color=TEXT, fontsize=9)
    axes.set_ylabel(y_label, color=TEXT, fontsize=9)
    axes.tick_params(colors=TEXT, labelsize=8)
    for side in axes.spines.values():
        side.set_color(TEXT)
    _legend(figure, blocks, tiles)
    return figure


def _title(report: CheckReport) -> str:
    name = f"{report.name}: " if report.name else ""
    verb = "differs" if report.wrong == 1 else "differ"
    return f"{name}{report.wrong:,} of {report.total:,} elements {verb}"


class _Tiles:
    """The kernel's tiles: where their borders lie in the picture, and which of them are wrong."""

    def __init__(self, codes: Array, tile: tuple[int, ...]) -> None:
        self.size = tile[-codes.ndim :] if codes.ndim else (1,)
        rows = codes.reshape(-1, codes.shape[-1]) if codes.ndim > 1 else codes.reshape(1, -1)
        high = tile[-2] if len(tile) > 1 and codes.ndim > 1 else 0
        each = codes.shape[-2] if codes.ndim > 1 else 1  # rows of a matrix: tiles end with it
        starts = range(0, len(rows), max(each, 1))
        self.tops = [s + k for s in starts for k in range(0, each, high or max(each, 1))]
        self.lefts = list(range(0, rows.shape[1], max(tile[-1], 1)))
        self.shape, self.flat = rows.shape, codes.ndim < 2
        wrong = np.add.reduceat(np.add.reduceat(rows > 0, self.tops, axis=0, dtype=np.int64),
                                self.lefts, axis=1)  # fmt: skip
        self.wrong = wrong > 0

    @property
    def counted(self) -> str:
        """`2 of 8 tiles`"""
        return f"{int(self.wrong.sum()):,} of {self.wrong.size:,} tiles"

    @property
    def named(self) -> str:
        return f"{' × '.join(f'{n:,}' for n in self.size)} tile with mismatches"

    def draw(self, axes: Axes) -> None:
        """Thin borders of all tiles, and a frame round those with mismatches."""
        from matplotlib.patches import Rectangle

        if self.flat:  # a row of the picture is a tile already, or has few of them
            return
        rows, columns = self.shape
        down, across = (self.tops, axes.hlines, columns), (self.lefts, axes.vlines, rows)
        for edges, draw, end in (down, across):
            if len(edges) <= _MAX_TILE_LINES:
                thin = 0.9 if len(edges) <= 16 else 0.45
                draw(np.array(edges[1:]) - 0.5, -0.5, end - 0.5, colors="black", linewidths=thin)
        hit = np.argwhere(self.wrong)
        if len(hit) > _MAX_FRAMES or max(len(self.tops), len(self.lefts)) > _MAX_TILE_LINES:
            return
        bottoms, rights = [*self.tops[1:], rows], [*self.lefts[1:], columns]
        for i, k in hit.tolist():
            corner = (self.lefts[k] - 0.5, self.tops[i] - 0.5)
            size = rights[k] - self.lefts[k], bottoms[i] - self.tops[i]
            if min(size[0] / columns, size[1] / rows) < _LEAST_FRAME:
                continue  # a frame would hide what is in it
            axes.add_patch(Rectangle(corner, *size, fill=False, linewidth=2.0, zorder=3,
                                     gid="wrong tile"))  # fmt: skip


def _as_grid(codes: Array, tile: tuple[int, ...] | None) -> tuple[Array, str, str]:
    """The codes as rows and columns, with the labels of both axes."""
    if codes.size == 0:
        return np.full((1, 1), _BEYOND), "no elements", ""
    if codes.ndim >= 2:
        rows = codes.reshape(-1, codes.shape[-1])
        return rows, "column", "row" if codes.ndim == 2 else "row (leading dimensions merged)"
    flat = codes.reshape(-1)
    width = _wrap_width(flat.size, tile)
    rows_needed = -(-flat.size // width)
    padded = np.full(rows_needed * width, _BEYOND, np.int8)
    padded[: flat.size] = flat
    if rows_needed == 1:
        return padded.reshape(1, width), "element", ""
    label = f"1-D tensor in rows of {width:,} elements"
    return padded.reshape(rows_needed, width), label, "row"


def _wrap_width(size: int, tile: tuple[int, ...] | None) -> int:
    """Elements in a row: the tile if one is given, else a power of two from 32 on: a picture wider
    than high.
    """
    if tile is not None and 1 < tile[-1] <= size:
        return int(tile[-1])
    if size <= 64:
        return size
    return wrapped_width(size)


def _size(shape: tuple[int, ...]) -> tuple[float, float]:
    """Width and height of the cells' area in inches, near the tensor's proportions."""
    rows, columns = shape[0], shape[1]
    long_side = min(5.0, max(2.6, 0.28 * max(rows, columns)))
    ratio = min(max(rows / columns, 0.12), 2.0)
    return (
        (long_side, max(long_side * ratio, 0.35)) if ratio <= 1 else (long_side / ratio, long_side)
    )


def _paint(axes: Axes, blocks: Array, shape: tuple[int, ...], steps: tuple[int, int]) -> None:
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([_EQUAL_COLOUR, *_COLOURS])
    cells = np.ma.masked_equal(blocks, _BEYOND)
    paint(axes, cells, shape, steps, cmap=colours, vmin=-0.5, vmax=3.5)
    ring(axes, blocks > 0, steps, s=110, edgecolors="black", linewidths=1.0)
    axes.patch.set_alpha(0.0)
    axes.set_xticks(ticks(shape[1]))
    most = max(2, min(8, int(_size(shape)[1] / 0.22)))
    axes.set_yticks([] if shape[0] == 1 else ticks(shape[0], most))


def _grid(axes: Axes, rows: int, columns: int) -> None:
    """White lines between cells."""
    for size, draw, end in ((rows, axes.hlines, columns), (columns, axes.vlines, rows)):
        width = 0.8 if size <= 16 else 0.4
        draw(np.arange(1, size) - 0.5, -0.5, end - 0.5, colors="white", linewidths=width)


def _legend(figure: Figure, blocks: Array, tiles: _Tiles | None) -> None:
    from matplotlib.patches import Patch

    present = set(np.unique(blocks).tolist())
    entries = [(0, _EQUAL_COLOUR, "equal"), *zip((1, 2, 3), _COLOURS, _LABELS, strict=True)]
    patches = [
        Patch(facecolor=colour, edgecolor=TEXT, linewidth=0.5, label=label)
        for code, colour, label in entries
        if code in present
    ]
    if tiles is not None and not tiles.flat:
        patches.append(Patch(facecolor="none", edgecolor=TEXT, linewidth=1.2, label=tiles.named))
    if patches:
        beside = len(patches) if len(patches) < 4 else 2
        figure.legend(
            handles=patches, loc="outside lower center", ncols=beside, frameon=False, fontsize=9,
            labelcolor=TEXT, handlelength=1.0, handleheight=1.0,
        )  # fmt: skip
