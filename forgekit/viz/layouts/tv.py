"""Draw thread-value layouts: the thread that holds each element, and the value's number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from forgekit.arguments import checked
from forgekit.errors import usage_error
from forgekit.text import plural
from forgekit.viz.compose import blocks_of, compose
from forgekit.viz.grid import Axis, Content, Grid, cell_size, nested_axis, plain_axis
from forgekit.viz.layouts.reading import ThreadValues, read_thread_values, read_tile
from forgekit.viz.palette import NOTHING, thread_colour
from forgekit.viz.picture import LayoutPicture
from forgekit.viz.scene import Swatch

_WARP = 32
_MOST_THREADS, _MOST_VALUES = 32, 16  # maximum rows and columns of the drawn table
_MOST_SPELT = 64  # maximum number of values that a description lists


@checked()
def draw_tv_layout(layout: Any, tile_mn: Any, *, both: bool = False) -> LayoutPicture:
    """Draw a tile; each cell names the thread that holds the element, and the value's index.

    Args:
        layout: maps ((threads),(values)) to linear indices of the tile (the row index varies
            fastest) or, like tidfrg_S, to coordinates.
        tile_mn: the tile's rows and columns, as in the result of make_layout_tv.
        both: True also shows the reverse mapping, from (thread, value) to coordinates.

    Raises:
        UsageError: the layout does not have rank 2 or has dynamic modes, a value is outside the
            tile, or there are too many cells.
    """
    tv = read_thread_values(layout, read_tile(tile_mn, 2, "tile_mn"), "TV layout")
    lines = describe(tv)
    grids = [tile_grid(tv, "tile", caption="Element" if both else "",
                       note="its holder" if both else "")]  # fmt: skip
    if both:
        grids.append(_table_grid(tv))
    words = ". ".join([f"Thread-value layout {tv.layout}", *lines, spell_out(tv)])
    return LayoutPicture(
        compose(tv.layout, lines, blocks_of(grids), words=words, swatches=tv_swatches([tv]),
                notes=tv_notes([tv]))
    )  # fmt: skip


@checked()
def draw_copy_layout(layout_s: Any, layout_d: Any, tile_mn: Any) -> LayoutPicture:
    """Draw the source and destination of a copy side by side. The arguments are as for
    `draw_tv_layout`."""
    return draw_copy(layout_s, layout_d, tile_mn)


def draw_copy(
    source: Any, target: Any, tile_mn: Any, pattern: tuple[int, ...] | None = None
) -> LayoutPicture:
    """Draw a copy whose layouts may cover a pattern that the tile repeats."""
    tile = read_tile(tile_mn, 2, "tile_mn")
    s = read_thread_values(source, tile, "source layout", pattern)
    d = read_thread_values(target, tile, "destination layout", pattern)
    if s.threads != d.threads:
        got = f"{s.threads} threads in the source, {d.threads} in the destination"
        remedy = "pass layouts with the same thread mode, such as those of one tiled copy"
        raise usage_error("copy", got, "equal numbers", remedy)
    cell = cell_size(2 * tile[1], len(f"T{s.threads - 1}"), lines=2)
    grids = [tile_grid(s, "source", caption="Source", cell=cell),
             tile_grid(d, "destination", caption="Destination", cell=cell)]  # fmt: skip
    own = {"source": describe(s), "destination": describe(d)}
    lines = [line for line in own["source"] if line in own["destination"]]
    for name, of_one in own.items():
        if rest := [line for line in of_one if line not in lines]:
            lines.append(f"{name}: {'; '.join(rest)}")
    if s.layout == d.layout:
        title, lines = s.layout, [*lines, "each thread writes the elements that it read"]
    else:
        title = f"{s.layout} → {d.layout}"
    words = ". ".join(["Copy", f"source {s.layout}", f"destination {d.layout}", *lines,
                       "Source: " + spell_out(s), "Destination: " + spell_out(d)])  # fmt: skip
    return LayoutPicture(
        compose(title, lines, blocks_of(grids), words=words, swatches=tv_swatches([s, d]),
                notes=tv_notes([s, d]))
    )  # fmt: skip


# -- words --------------------------------------------------------------------------------------
def describe(tv: ThreadValues) -> list[str]:
    """Return lines that describe the threads, the values and the tile, and elements that several
    threads or no thread holds.
    """
    rows, columns = tv.tile
    lines = [f"{plural(tv.threads, 'thread')} × {plural(tv.values, 'value')} "
             f"over a tile of {rows} × {columns}"]  # fmt: skip
    if tv.repeats != (1, 1):
        across = " × ".join(str(n) for n in tv.repeats)
        lines.append(f"the pattern covers {tv.pattern[0]} × {tv.pattern[1]}; the tile repeats it "
                     f"{across} times")  # fmt: skip
    if tv.meant is not None:
        lines.append(f"made for a tile of {tv.meant[0]} × {tv.meant[1]}; drawn in the same order "
        "over a different shape")  # fmt: skip
    if tv.most_holders > 1:
        shared = sum(len(pairs) > 1 for pairs in tv.holders.values())
        lines.append(f"{plural(shared, 'element')} held more than once, up to {tv.most_holders} "
                     "times")  # fmt: skip
    if tv.uncovered:
        lines.append(f"{plural(tv.uncovered, 'element')} held by no thread")
    return lines


def spell_out(tv: ThreadValues) -> str:
    """Return text that lists the elements that the first threads hold."""
    shown = min(tv.threads, max(_MOST_SPELT // max(tv.values, 1), 1))
    parts = []
    for thread in range(shown):
        places = ", ".join(f"({r},{c})" for r, c in tv.coords[thread, :16].tolist())
        more = ", …" if tv.values > 16 else ""
        parts.append(f"thread {thread} holds {places}{more}")
    more = "; and so on" if shown < tv.threads else ""
    return "(row, column) of the values in order: " + "; ".join(parts) + more + "."


def tv_swatches(tvs: list[ThreadValues]) -> list[Swatch]:
    threads = max(tv.threads for tv in tvs)
    lanes = min(threads, _WARP)
    shown = tuple(thread_colour(t, lanes) for t in range(lanes))
    text = f"threads 0 to {threads - 1}" if threads > 1 else "thread 0"
    if threads > _WARP:
        text = f"lanes 0 to {_WARP - 1} of each of {-(-threads // _WARP)} warps"
    swatches = [Swatch(shown, text)]
    if any(tv.uncovered for tv in tvs):
        swatches.append(Swatch((NOTHING,), "no thread"))
    return swatches


def tv_notes(tvs: list[ThreadValues]) -> list[str]:
    note = "T: thread, V: its value"
    if any(tv.most_holders > 1 for tv in tvs):
        note += "; +n: n more copies of the element; the cell names its first holder"
    if max(tv.threads for tv in tvs) > _WARP:
        note += "; heavy lines: between warps"
    return [note]


# -- grids --------------------------------------------------------------------------------------
def tile_grid(
    tv: ThreadValues, name: str, *, caption: str = "", note: str = "",
    cell: tuple[float, float] | None = None,
) -> Grid:  # fmt: skip
    rows, columns = tv.tile
    lanes = min(tv.threads, _WARP)

    def content(row: int, column: int) -> Content:
        holders = tv.at(row, column)
        data = [("coord", f"({row},{column})")]
        if not holders:
            return Content(NOTHING, hatched=True, data=tuple(data))
        thread, value = holders[0]
        data += [("thread", str(thread)), ("value", str(value))]
        if len(holders) > 1:
            data.append(("holders", " ".join(f"T{t}V{v}" for t, v in holders)))
        corner = f"+{len(holders) - 1}" if len(holders) > 1 else ""
        return Content(thread_colour(thread, lanes), (f"T{thread}", f"V{value}"), corner,
                       data=tuple(data))  # fmt: skip

    def group(row: int, column: int) -> tuple[Any, Any]:
        holders = tv.at(row, column)
        part = row // tv.pattern[0], column // tv.pattern[1]
        thread = holders[0][0] if holders else -1
        return (part, thread // _WARP), thread

    longest = len(f"T{tv.threads - 1}")
    return Grid(name, rows, columns, content, plain_axis(rows), plain_axis(columns), group,
                caption, note, cell or cell_size(columns, longest, lines=2))  # fmt: skip


def _table_grid(tv: ThreadValues) -> Grid:
    """Return a table of coordinates with one row per thread and one column per value. A table below
    a wide tile is transposed.
    """
    threads, values = min(tv.threads, _MOST_THREADS), min(tv.values, _MOST_VALUES)
    whole = (threads, values) == (tv.threads, tv.values)

    def content(thread: int, value: int) -> Content:
        m, n = tv.coords[thread, value].tolist()
        data = (("thread", str(thread)), ("value", str(value)), ("coord", f"({m},{n})"))
        return Content(thread_colour(thread, min(tv.threads, _WARP)), (f"{m},{n}",), data=data)

    note = "its coordinate (row,column)"
    if not whole:
        note += f"; {plural(threads, 'thread')} of {tv.threads}, values {values} of {tv.values}"
    longest = len(f"{tv.tile[0] - 1},{tv.tile[1] - 1}")
    rows = _axis("T", threads, tv.thread_shape if whole else threads)
    columns = _axis("V", values, tv.value_shape if whole else values)
    cell = (max(34.0, longest * 7.4 + 8), 24.0 if threads > 8 else 30.0)
    grid = Grid("table", threads, values, content, rows, columns, lambda thread, _: (0, thread),
                "Thread, value", note, cell)  # fmt: skip
    if threads > 8 and tv.tile[1] > 16 and values <= 8:
        return replace(grid.transposed(), cell=(max(30.0, longest * 5.4 + 4), 26.0))
    return grid


def _axis(letter: str, size: int, shape: Any) -> Axis:
    """Return an axis with numbers next to the cells, and lines between the groups of a nested
    mode."""
    numbers = tuple((i, i + 1, f"{letter}{i}") for i in range(size))
    return Axis((numbers,), nested_axis(shape).borders)
