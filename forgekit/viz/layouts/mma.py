"""The picture of a matrix multiply-accumulate: who holds which element of A, B and C."""

from __future__ import annotations

from typing import Any

from forgekit.text import plural
from forgekit.viz.layouts.compose import compose, wrap_layout
from forgekit.viz.layouts.grid import Block, Grid
from forgekit.viz.layouts.reading import ThreadValues, read_thread_values, read_tile
from forgekit.viz.layouts.scene import Item, Label, Scene, text_width
from forgekit.viz.layouts.tv import tile_grid, tv_notes, tv_swatches
from forgekit.viz.layouts.words import thread_values_told, tv_in_words

_SIZE, _LEAST = 11.5, 270.0  # px, letters and width of the layouts' text
_MOST_ACROSS, _MOST_DOWN = 40, 64  # cells of both matrices, drawn one by one


def mma_scene(
    layouts: tuple[Any, Any, Any], tile_mnk: Any, *, covers: tuple[int, int, int] | None = None,
    title: str = "",
) -> Scene:  # fmt: skip
    """B above C, A left of C, so that a row of A and a column of B meet in their element of C.

    Args:
        layouts: thread-value layouts of C (M × N), A (M × K) and B (N × K). tile_mnk: sizes to
            draw. covers: sizes that the layouts cover; the tile may be a multiple.
        title: in place of the tile's sizes.
    """
    m, n, k = read_tile(tile_mnk, 3, "tile_mnk")
    cm, cn, ck = covers or (m, n, k)
    layout_c, layout_a, layout_b = layouts
    c = read_thread_values(layout_c, (m, n), "layout of C", (cm, cn))
    a = read_thread_values(layout_a, (m, k), "layout of A", (cm, ck))
    b = read_thread_values(layout_b, (n, k), "layout of B", (cn, ck))
    cell = _cell(n + k, max(tv.threads for tv in (a, b, c)))
    grids = [
        tile_grid(b, "B", caption="B", note="k down, n across", transposed=True,
                  cell=cell),
        tile_grid(a, "A", caption="A", note="m down, k across", cell=cell),
        tile_grid(c, "C", caption="C", note="m down, n across", cell=cell),
    ]  # fmt: skip
    told = [f"{plural(c.threads, 'thread')}; a thread holds {plural(a.values, 'value')} of A, "
            f"{b.values} of B, {c.values} of C", *_shared(a, b, c)]  # fmt: skip
    name = title or f"C ({m} × {n}) += A ({m} × {k}) · B ({k} × {n})"
    words = ". ".join([name, *told, *(f"{x}: {tv.layout}. {tv_in_words(tv)}"
                                      for x, tv in (("A", a), ("B", b), ("C", c)))])  # fmt: skip
    large = any(g.is_large for g in grids) or n + k > _MOST_ACROSS or m + k > _MOST_DOWN
    rows = _rows(a, b, c, grids, large)
    return compose(name, told, rows, words=words, swatches=tv_swatches([c, a, b]),
                   notes=tv_notes([c, a, b]), aligned=2)  # fmt: skip


def _cell(columns: int, threads: int) -> tuple[float, float]:
    side = 36.0 if columns <= 16 else 32.0 if columns <= 24 else 30.0
    return max(side, len(f"T{threads - 1}") * 7.0 + 6), side


def _rows(
    a: ThreadValues, b: ThreadValues, c: ThreadValues, grids: list[Grid], large: bool
) -> list[list[Block | None]]:
    """B above C, A left of C; corners of large ones in a row of their own."""
    side = min(min(g.dot()) for g in grids)
    drawn = [g.overview((side, side)) if large else g.block() for g in grids]
    of_b, of_a, of_c = drawn
    named = (("A", a), ("B", b), ("C", c))
    rows: list[list[Block | None]] = [[_layouts_block(of_a.width, named), of_b], [of_a, of_c]]
    return [*rows, [grids[i].corner().block() for i in (1, 0, 2)]] if large else rows


def _shared(*tvs: ThreadValues) -> list[str]:
    lines = []
    for name, tv in zip("ABC", tvs, strict=True):
        told = thread_values_told(tv)[1:]
        lines += [f"{name}: {'; '.join(told)}"] if told else []
    return lines


def _layouts_block(width: float, named: tuple[tuple[str, ThreadValues], ...]) -> Block:
    """The thread-value layouts, where the arrangement leaves a corner free."""
    width = max(width, _LEAST)
    letters = int((width - 24) / text_width("0", _SIZE, mono=True))
    items: list[Item] = [Label(0, 8, "Thread-value layouts", 13, "ink", bold=True)]
    y = 30.0
    for name, tv in named:
        items.append(Label(0, y, name, _SIZE, "ink", bold=True, mono=True))
        for line in wrap_layout(tv.layout, letters):
            items.append(Label(18, y, line, _SIZE, "dim", mono=True))
            y += 16
        y += 4
    return Block("layouts", width, y, tuple(items))
