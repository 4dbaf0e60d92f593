"""Tiled copies and MMAs of CuTe: their thread-value layouts and the tiles they cover."""

from __future__ import annotations

from typing import Any

from forgekit.arguments import checked
from forgekit.errors import usage_error
from forgekit.viz.layouts.mma import draw_mma
from forgekit.viz.layouts.reading import read_tile
from forgekit.viz.layouts.tv import draw_copy
from forgekit.viz.picture import LayoutPicture


@checked()
def draw_tiled_copy(tiled_copy: Any, tile_mn: Any) -> LayoutPicture:
    """Source and destination of a `cute.TiledCopy`, inside the function that makes it.

    A tile of several times what the copy covers at once (its tiler) repeats the pattern, as CuTe
    does.

    Raises:
        UsageError: no tiled copy, one whose trace has ended, a tile that is no multiple of it.
    """
    made = "cute.make_tiled_copy_tv(atom, thr_layout, val_layout)"
    _require("tiled_copy", tiled_copy, "layout_src_tv_tiled", f"a tiled copy, such as {made}")
    source, target = tiled_copy.layout_src_tv_tiled, tiled_copy.layout_dst_tv_tiled
    return draw_copy(source, target, tile_mn, read_tile(tiled_copy.tiler_mn, 2, "tiler_mn"))


@checked()
def draw_tiled_mma(tiled_mma: Any, tile_mnk: Any) -> LayoutPicture:
    """A, B and C of a `cute.TiledMma`, inside the function that makes it: a row of A and a column
    of B meet in their element of C. Raises as `draw_tiled_copy`.
    """
    made = "cute.make_tiled_mma(op, atom_layout_mnk)"
    _require("tiled_mma", tiled_mma, "tv_layout_C_tiled", f"a tiled MMA, such as {made}")
    layouts = tiled_mma.tv_layout_C_tiled, tiled_mma.tv_layout_A_tiled, tiled_mma.tv_layout_B_tiled
    covers = tuple(int(tiled_mma.get_tile_size(mode)) for mode in range(3))
    return draw_mma(layouts, tile_mnk, covers=covers)


def tidfrg_S(tiled_copy: Any, tile_mn: Any) -> Any:  # noqa: N802 - cute-viz's name, as CUTLASS's
    """A tensor from (thread, value) of a tiled copy's source to coordinates of the tile.

    For a @cute.jit body. Raises UsageError if it is not a tiled copy or its trace has ended.
    """
    _require("tiled_copy", tiled_copy, "layout_src_tv_tiled", "a tiled copy")
    return _coordinates(tiled_copy.layout_src_tv_tiled, tile_mn)


def tidfrg_D(tiled_copy: Any, tile_mn: Any) -> Any:  # noqa: N802
    """As `tidfrg_S`, for the destination."""
    _require("tiled_copy", tiled_copy, "layout_dst_tv_tiled", "a tiled copy")
    return _coordinates(tiled_copy.layout_dst_tv_tiled, tile_mn)


def _coordinates(layout: Any, tile_mn: Any) -> Any:
    from cutlass import cute

    return cute.composition(cute.make_identity_tensor(tile_mn), layout)


def _require(what: str, value: Any, attribute: str, needed: str) -> None:
    """Refuse what is not the CuTe object wanted, or is alive no more: a trace leaves freed memory
    behind, and looking at that would end the process.
    """
    if not hasattr(type(value), attribute):
        remedy = "draw layouts themselves with draw_layout or draw_tv_layout"
        raise usage_error(what, type(value).__name__, needed, remedy)
    handle = getattr(getattr(value, "_trait", None), "value", None)
    if handle is None:
        return
    from cutlass._mlir import ir

    if ir.Context.current is None or handle.context is not ir.Context.current:
        remedy = "draw it inside the @cute.jit function that makes it"
        got = "one whose @cute.jit function has ended (CuTe has freed it)"
        raise usage_error(what, got, "one that is being traced now", remedy)
