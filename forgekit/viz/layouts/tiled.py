"""Draw CuTe's tiled copies and MMAs: which threads hold each element of their tiles."""

from __future__ import annotations

from typing import Any

from forgekit.arguments import checked
from forgekit.errors import usage_error
from forgekit.layouts.convert import has_ended
from forgekit.text import plural
from forgekit.viz.compose import compose, wrap_layout
from forgekit.viz.grid import Block, Grid
from forgekit.viz.layouts.reading import ThreadValues, read_thread_values, read_tile
from forgekit.viz.layouts.tv import describe, draw_copy, spell_out, tile_grid, tv_notes, tv_swatches
from forgekit.viz.picture import LayoutPicture
from forgekit.viz.scene import Item, Label, text_width

_SIZE, _LEAST = 11.5, 270.0  # font size and minimum width of the layouts' text in px
_MOST_ACROSS, _MOST_DOWN = 40, 64  # maximum cells, across and down, to draw individually


@checked()
def draw_tiled_copy(tiled_copy: Any, tile_mn: Any) -> LayoutPicture:
    """Draw the source and destination of a `cute.TiledCopy`. Call this function inside the
    @cute.jit function that creates the copy.

    A tile that is a multiple of the copy's tiler repeats the copy's pattern, as in CuTe.

    Raises:
        UsageError: the argument is not a tiled copy, its trace has ended, or the tile is not a
            multiple of its tiler.
    """
    made = "cute.make_tiled_copy_tv(atom, thr_layout, val_layout)"
    _require("tiled_copy", tiled_copy, "layout_src_tv_tiled", f"a tiled copy, such as {made}")
    source, target = tiled_copy.layout_src_tv_tiled, tiled_copy.layout_dst_tv_tiled
    return draw_copy(source, target, tile_mn, read_tile(tiled_copy.tiler_mn, 2, "tiler_mn"))


@checked()
def draw_tiled_mma(tiled_mma: Any, tile_mnk: Any) -> LayoutPicture:
    """Draw A, B and C of a `cute.TiledMma`. Call this function inside the @cute.jit function that
    creates the MMA. A row of A and a column of B meet at their element of C. Raises the same errors
    as `draw_tiled_copy`.
    """
    made = "cute.make_tiled_mma(op, atom_layout_mnk)"
    _require("tiled_mma", tiled_mma, "tv_layout_C_tiled", f"a tiled MMA, such as {made}")
    layouts = tiled_mma.tv_layout_C_tiled, tiled_mma.tv_layout_A_tiled, tiled_mma.tv_layout_B_tiled
    covers = tuple(int(tiled_mma.get_tile_size(mode)) for mode in range(3))
    return _draw_mma(layouts, tile_mnk, covers)


def tidfrg_S(tiled_copy: Any, tile_mn: Any) -> Any:  # noqa: N802 - cute-viz's name, as CUTLASS's
    """Return a tensor that maps (thread, value) in a tiled copy's source to coordinates in the
    tile.

    Call this function in the body of a @cute.jit function. Raises UsageError if the argument is not
    a tiled copy, or if its trace has ended.
    """
    _require("tiled_copy", tiled_copy, "layout_src_tv_tiled", "a tiled copy")
    return _coordinates(tiled_copy.layout_src_tv_tiled, tile_mn)


def tidfrg_D(tiled_copy: Any, tile_mn: Any) -> Any:  # noqa: N802
    """Return the corresponding tensor for the destination; see `tidfrg_S`."""
    _require("tiled_copy", tiled_copy, "layout_dst_tv_tiled", "a tiled copy")
    return _coordinates(tiled_copy.layout_dst_tv_tiled, tile_mn)


def _coordinates(layout: Any, tile_mn: Any) -> Any:
    from cutlass import cute

    return cute.composition(cute.make_identity_tensor(tile_mn), layout)


def _require(what: str, value: Any, attribute: str, needed: str) -> None:
    """Raise UsageError if an object is not the expected CuTe object, or if its trace has ended. At
    the end of a trace, CuTe frees the object's memory, so reading the object would crash the
    process.
    """
    if not hasattr(type(value), attribute):
        remedy = "draw layouts themselves with draw_layout or draw_tv_layout"
        raise usage_error(what, type(value).__name__, needed, remedy)
    handle = getattr(getattr(value, "_trait", None), "value", None)
    if handle is not None and has_ended(handle):
        remedy = "draw it inside the @cute.jit function that creates it"
        got = "an object whose @cute.jit function has ended (CuTe has freed it)"
        raise usage_error(what, got, "an object that is being traced", remedy)


# -- the picture of an MMA ------------------------------------------------------------------------
@checked()
def draw_mma_from_layouts(layoutC: Any, layoutA: Any, layoutB: Any, tile_mnk: Any) -> LayoutPicture:
    """Draw the same picture as `draw_tiled_mma`, from the matrices' thread-value layouts: C has the
    shape (M, N), A (M, K) and B (N, K).
    """
    return _draw_mma((layoutC, layoutA, layoutB), tile_mnk)


def _draw_mma(
    layouts: tuple[Any, Any, Any], tile_mnk: Any, covers: tuple[int, ...] | None = None
) -> LayoutPicture:
    """Draw the matrices. layouts: the layouts of C (M × N), A (M × K) and B (N × K); covers: the
    sizes (M, N, K) of the pattern that the layouts cover and that the tile may repeat."""
    m, n, k = read_tile(tile_mnk, 3, "tile_mnk")
    cm, cn, ck = covers or (m, n, k)
    c = read_thread_values(layouts[0], (m, n), "layout of C", (cm, cn))
    a = read_thread_values(layouts[1], (m, k), "layout of A", (cm, ck))
    b = read_thread_values(layouts[2], (n, k), "layout of B", (cn, ck))
    side = 36.0 if n + k <= 16 else 32.0 if n + k <= 24 else 30.0
    threads = max(tv.threads for tv in (a, b, c))
    cell = max(side, len(f"T{threads - 1}") * 7.0 + 6), side
    grids = [
        tile_grid(b, "B", caption="B", note="k down, n across", cell=cell).transposed(),
        tile_grid(a, "A", caption="A", note="m down, k across", cell=cell),
        tile_grid(c, "C", caption="C", note="m down, n across", cell=cell),
    ]
    named = {"A": a, "B": b, "C": c}
    lines = [f"{plural(c.threads, 'thread')}; a thread holds {plural(a.values, 'value')} of A, "
             f"{b.values} of B, {c.values} of C"]  # fmt: skip
    lines += [f"{x}: {'; '.join(more)}" for x, tv in named.items() if (more := describe(tv)[1:])]
    title = f"C ({m} × {n}) += A ({m} × {k}) · B ({k} × {n})"
    spelt = (f"{x}: {tv.layout}. {spell_out(tv)}" for x, tv in named.items())
    large = any(g.is_large for g in grids) or n + k > _MOST_ACROSS or m + k > _MOST_DOWN
    return LayoutPicture(
        compose(title, lines, _rows(named, grids, large), words=". ".join([title, *lines, *spelt]),
                swatches=tv_swatches([c, a, b]), notes=tv_notes([c, a, b]), aligned=2)
    )  # fmt: skip


def _rows(
    named: dict[str, ThreadValues], grids: list[Grid], large: bool
) -> list[list[Block | None]]:
    side = min(min(g.dot()) for g in grids)
    b, a, c = (g.overview((side, side)) if large else g.block() for g in grids)
    rows: list[list[Block | None]] = [[_layouts_block(a.width, named), b], [a, c]]
    return [*rows, [grids[i].corner().block() for i in (1, 0, 2)]] if large else rows


def _layouts_block(width: float, named: dict[str, ThreadValues]) -> Block:
    """Return a list of the thread-value layouts for the picture's free corner."""
    width = max(width, _LEAST)
    letters = int((width - 24) / text_width("0", _SIZE, mono=True))
    items: list[Item] = [Label(0, 8, "Thread-value layouts", 13, "ink", bold=True)]
    y = 30.0
    for name, tv in named.items():
        items.append(Label(0, y, name, _SIZE, "ink", bold=True, mono=True))
        for line in wrap_layout(tv.layout, letters):
            items.append(Label(18, y, line, _SIZE, "dim", mono=True))
            y += 16
        y += 4
    return Block("layouts", width, y, tuple(items))
