"""Pictures of thread-value layouts: which thread holds which element, and as its which value."""

from __future__ import annotations

from typing import Any

from forgekit.errors import usage_error
from forgekit.text import plural
from forgekit.viz.layouts.compose import Swatch, blocks_of, compose
from forgekit.viz.layouts.grid import Axis, Content, Grid, nested_axis, plain_axis
from forgekit.viz.layouts.palette import NOTHING, thread_colour
from forgekit.viz.layouts.plain import cell_size
from forgekit.viz.layouts.reading import ThreadValues, read_thread_values, read_tile
from forgekit.viz.layouts.scene import Scene
from forgekit.viz.layouts.words import thread_values_told, tv_in_words

_WARP = 32
_MOST_THREADS, _MOST_VALUES = 32, 16  # of the table


def tv_scene(value: Any, tile_mn: Any, *, both: bool = False) -> Scene:
    """The scene of a thread-value layout; see `forgekit.viz.draw_tv_layout`."""
    tile = _tile_mn(tile_mn)
    tv = read_thread_values(value, tile, "TV layout")
    told = thread_values_told(tv)
    grids = [tile_grid(tv, "tile", caption="Element" if both else "",
                       note="who holds it" if both else "")]  # fmt: skip
    if both:
        grids.append(_table_grid(tv))
    words = ". ".join([f"Thread-value layout {tv.layout}", *told, tv_in_words(tv)])
    return compose(tv.layout, told, blocks_of(grids), words=words, swatches=tv_swatches([tv]),
                   notes=tv_notes([tv]))  # fmt: skip


def copy_scene(source: ThreadValues, target: ThreadValues) -> Scene:
    """Source and destination of a copy side by side."""
    cell = cell_size(2 * source.tile[1], len(f"T{source.threads - 1}"), lines=2)
    grids = [tile_grid(source, "source", caption="Source", cell=cell),
             tile_grid(target, "destination", caption="Destination", cell=cell)]  # fmt: skip
    lines = {"source": thread_values_told(source), "destination": thread_values_told(target)}
    told = [line for line in lines["source"] if line in lines["destination"]]
    for name, own in lines.items():
        if rest := [line for line in own if line not in told]:
            told.append(f"{name}: {'; '.join(rest)}")
    if source.layout == target.layout:
        title, told = source.layout, [*told, "each thread writes where it read"]
    else:
        title = f"{source.layout} → {target.layout}"
    words = ". ".join(["Copy", f"source {source.layout}", f"destination {target.layout}", *told,
                       "Source: " + tv_in_words(source),
                       "Destination: " + tv_in_words(target)])  # fmt: skip
    both = [source, target]
    return compose(title, told, blocks_of(grids), words=words, swatches=tv_swatches(both),
                   notes=tv_notes(both))  # fmt: skip


def _tile_mn(tile_mn: Any) -> tuple[int, int]:
    rows, columns = read_tile(tile_mn, 2, "tile_mn")
    return rows, columns


def tv_swatches(tvs: list[ThreadValues]) -> list[Swatch]:
    threads = max(tv.threads for tv in tvs)
    shown = tuple(thread_colour(t) for t in range(min(threads, _WARP)))
    text = f"thread 0 to {threads - 1}" if threads > 1 else "thread 0"
    if threads > _WARP:
        text = f"lane 0 to {_WARP - 1} of each of {-(-threads // _WARP)} warps"
    swatches = [Swatch(shown, text)]
    if any(tv.uncovered for tv in tvs):
        swatches.append(Swatch((NOTHING,), "no thread"))
    return swatches


def tv_notes(tvs: list[ThreadValues]) -> list[str]:
    """What the letters and lines in the cells mean."""
    note = "T: thread, V: its value"
    if any(tv.most_holders > 1 for tv in tvs):
        note += "; +n: held n times more, the first is named"
    if max(tv.threads for tv in tvs) > _WARP:
        note += "; heavy lines: between warps"
    return [note]


def tile_grid(
    tv: ThreadValues, name: str, *, caption: str = "", note: str = "", transposed: bool = False,
    cell: tuple[float, float] | None = None,
) -> Grid:  # fmt: skip
    """The tile with the holder of each element; `transposed` draws its rows across."""
    rows, columns = tv.tile if not transposed else tv.tile[::-1]

    def where(row: int, column: int) -> tuple[int, int]:
        return (column, row) if transposed else (row, column)

    def content(row: int, column: int) -> Content:
        place = where(row, column)
        holders = tv.at(*place)
        data = [("coord", f"({place[0]},{place[1]})")]
        if not holders:
            return Content(NOTHING, hatched=True, data=tuple(data))
        thread, value = holders[0]
        data += [("thread", str(thread)), ("value", str(value))]
        if len(holders) > 1:
            data.append(("holders", " ".join(f"T{t}V{v}" for t, v in holders)))
        corner = f"+{len(holders) - 1}" if len(holders) > 1 else ""
        return Content(thread_colour(thread), (f"T{thread}", f"V{value}"), corner,
                       data=tuple(data))  # fmt: skip

    def group(row: int, column: int) -> tuple[Any, Any]:
        place = where(row, column)
        holders = tv.at(*place)
        part = place[0] // tv.pattern[0], place[1] // tv.pattern[1]
        thread = holders[0][0] if holders else -1
        return (part, thread // _WARP), thread

    longest = len(f"T{tv.threads - 1}")
    return Grid(name, rows, columns, content, plain_axis(rows), plain_axis(columns), group,
                caption, note, cell or cell_size(columns, longest, lines=2))  # fmt: skip


def _table_grid(tv: ThreadValues) -> Grid:
    """The other direction: a row a thread, a column a value, in each cell the coordinate. Below a
    wide tile threads run across.
    """
    threads, values = min(tv.threads, _MOST_THREADS), min(tv.values, _MOST_VALUES)
    whole = (threads, values) == (tv.threads, tv.values)
    turned = threads > 8 and tv.tile[1] > 16 and values <= 8

    def content(row: int, column: int) -> Content:
        thread, value = (column, row) if turned else (row, column)
        m, n = tv.coords[thread, value].tolist()
        data = (("thread", str(thread)), ("value", str(value)), ("coord", f"({m},{n})"))
        return Content(thread_colour(thread), (f"{m},{n}",), data=data)

    def group(row: int, column: int) -> tuple[Any, Any]:
        return 0, column if turned else row

    note = "its coordinate (row,column)"
    if not whole:
        note += f"; {plural(threads, 'thread')} of {tv.threads}, values {values} of {tv.values}"
    longest = len(f"{tv.tile[0] - 1},{tv.tile[1] - 1}")
    rows = _axis_of(tv.thread_shape, threads, "T") if whole else _lettered(threads, "T")
    columns = _axis_of(tv.value_shape, values, "V") if whole else _lettered(values, "V")
    if turned:
        cell = (max(30.0, longest * 5.4 + 4), 26.0)
        return Grid("table", values, threads, content, columns, rows, group, "Thread, value", note,
                    cell)  # fmt: skip
    cell = (max(34.0, longest * 7.4 + 8), 24.0 if threads > 8 else 30.0)
    return Grid(
        "table", threads, values, content, rows, columns, group, "Thread, value", note, cell
    )


def _lettered(size: int, letter: str) -> Axis:
    return Axis((tuple((i, i + 1, f"{letter}{i}") for i in range(size)),))


def _axis_of(shape: Any, size: int, letter: str) -> Axis:
    """Numbers beside the cells, and lines where groups of a nested mode meet."""
    return Axis(_lettered(size, letter).levels, nested_axis(shape).borders)


def copy_layouts(source: Any, target: Any, tile_mn: Any, pattern: Any = None) -> Scene:
    """The scene of two thread-value layouts over one tile."""
    tile = _tile_mn(tile_mn)
    both = [
        read_thread_values(layout, tile, f"{what} layout", pattern)
        for layout, what in ((source, "source"), (target, "destination"))
    ]
    if both[0].threads != both[1].threads:
        got = f"{both[0].threads} threads in the source, {both[1].threads} in the destination"
        remedy = "both layouts must have the same thread mode, as those of one tiled copy have"
        raise usage_error("copy", got, "equal numbers", remedy)
    return copy_scene(*both)
