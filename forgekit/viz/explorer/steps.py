"""Build the playground's steps: a tensor, zipped_divide, one tile, composition with a TV layout,
and one thread.

A step applies one of the playground's operations to the previous result, and has a text. In the
text, the page replaces `{tile}` and `{thread}` with the selected tile and thread, and `{begin}`
with the offset at which the tile or the thread begins.
"""

from __future__ import annotations

from typing import Any

from forgekit.errors import brief, usage_error
from forgekit.layouts import ComposedLayout, Layout, composition, of, zipped_divide
from forgekit.layouts.tuples import leaf_map, parts, text
from forgekit.text import plural
from forgekit.viz.layouts.reading import MOST_CELLS, offsets_of
from forgekit.viz.layouts.swizzle import describe_ways, worst_ways

_MOST_THREADS, _MOST_PAIRS = 1024, 8192
Step = dict[str, Any]


def tile_and_threads(layout: Any, tile: Any, tv: Any) -> dict[str, Any]:
    if _is_pair(tv):
        tiler, tv = tv
        if tile is not None and tuple(parts(tile)) != tuple(parts(tiler)):
            remedy = "pass the tiler only once, and omit `tile`"
            raise usage_error("tile", brief(tile), f"{tiler}, the tiler of tv", remedy)
        tile = tiler
    steps, block, first = [_first(layout)], layout, ""
    if tile is not None:
        block, first, more = _divided(layout, tile)
        steps += more
    if tv is not None:
        steps += _composed(block, of(tv), "mA" if tile is None else "blkA")
    return {"steps": steps, "tile": first}


def _is_pair(tv: Any) -> bool:
    """Return True if the value is the pair (tiler_mn, layout_tv) that make_layout_tv returns."""
    pair = isinstance(tv, tuple) and len(tv) == 2
    return pair and not isinstance(tv[1], tuple | list | int) and isinstance(tv[0], tuple)


def _step(name: str, code: str, result: Any, modes: str, words: str, *,
          op: str = "", by: str = "", colour: str = "", begin: Any = 0) -> Step:  # fmt: skip
    """Build a step. code: the step in CuTe; result: the result of the operation; modes: names for
    the result's modes; op, by: the values of the playground's fields for the operation and the
    tiler; begin: the offset of the first tile or of thread 0.
    """
    return {"name": name, "code": code, "result": str(result), "modes": modes, "words": words,
            "op": op, "by": by, "colour": colour, "begin": text(begin)}  # fmt: skip


def _first(layout: Layout | ComposedLayout) -> Step:
    words = "A layout is a function: it maps a coordinate to an offset into memory."
    if isinstance(layout, Layout) and layout.rank == 2 and layout.depth == 1:
        rows, columns = layout.stride
        words = words[:-1] + f", here (i,j) to i×{rows} + j×{columns}."
    modes = {1: "(index)", 2: "(row,column)"}.get(layout.rank, f"{layout.rank} modes")
    return _step("the tensor", "mA", layout, modes, words)


def banks_step(layout: Layout | ComposedLayout, bits: int) -> Step:
    """Return the step that shows banks. Its text states the bank conflicts when a warp reads a
    column or a row.
    """
    words = (
        "Shared memory has 32 banks of 4 bytes; lanes that need different words of one bank wait "
        "for each other: pad the rows or swizzle and watch the banks."
    )
    offsets = offsets_of(layout)
    if offsets.ndim != 1:
        remedy = "omit `memory`, because coordinates have no banks"
        raise usage_error("layout", f"{layout} in smem", "offsets into memory", remedy)
    if layout.rank == 2:
        ways = map(describe_ways, worst_ways(offsets.reshape(-1, layout.size(0)), bits))
        words += " As given: {} when a warp reads a column, {} when it reads a row.".format(*ways)
    modes = "(row,column)" if layout.rank == 2 else "(index)"
    return _step("banks", "sA", layout, modes, words, colour="bank")


def _divided(layout: Any, tile: Any) -> tuple[Any, str, list[Step]]:
    tiler = (tile,) if isinstance(tile, int) and layout.rank == 1 else tile
    tiler = tuple(tiler) if isinstance(tiler, list) else tiler
    divided = zipped_divide(layout, tiler)
    if divided.size() > MOST_CELLS:
        got, needed = f"{divided.size():,} elements", f"at most {MOST_CELLS:,}"
        raise usage_error(f"tile {brief(tile)}", got, needed, "choose a smaller tile")
    inner, rest = divided.mode(0), divided.mode(1)
    kept = _all_of(inner.shape)
    block = divided((kept, 0))
    outside = divided.size() - layout.size()
    tiles = "1 tile" if rest.size() == 1 else f"{_by(rest)} tiles"
    words = (f"Cut into {tiles} of {_by(inner)}: mode 0 moves inside a tile, mode 1 from tile to "
    "tile.")  # fmt: skip
    if outside:
        words += (
            f" Tiles extend beyond the tensor ({outside} elements): a kernel needs a predicate."
        )
    spelt = str(tiler).replace(" ", "")
    ours = leaf_map(lambda x: x if x is None or isinstance(x, int) else of(x), tiler)
    within, over = _modes(inner, "Tile"), _modes(rest, "Rest")
    by = f"({text(kept)},{{tile}})"
    steps = [
        _step("zipped_divide", f"gA = zipped_divide(mA, {spelt})", divided, f"({within},{over})",
              words, op="zipped_divide", by=text(ours)),
        _step("one tile", f"blkA = gA[{by}]", block, within,
              "A block works on one tile: it keeps mode 0 and fixes mode 1, so every tile has this "
              "layout but a different start, here offset {begin}.", op="slice", by=by,
              begin=block(0)),
    ]  # fmt: skip
    return block, text(leaf_map(lambda _: 0, rest.shape)), steps


def _composed(block: Any, tv: Layout | ComposedLayout, name: str) -> list[Step]:
    threads, values, indices = _thread_values(tv, block)
    composed = composition(block, tv)
    if [composed(i) for i in range(len(indices))] != [block(i) for i in indices]:
        remedy = "choose strides that divide the tile's modes, such as those from make_layout_tv"
        got = f"{composed}, which is another function"
        needed = "sizes and strides that divide one another"
        raise usage_error(f"composition of {block} with {tv}", got, needed, remedy)
    kept = _all_of(composed.shape[1])
    by = f"({{thread}},{text(kept)})"
    return [
        _step("composition", f"tidA = composition({name}, {tv})", composed, "(thread,value)",
              "Apply the TV layout first: it maps (thread, value) to an index in the tile, which "
              f"the tile's layout maps to an offset. {threads} threads with "
              f"{plural(values, 'value')} each.",
              op="composition", by=str(tv)),
        _step("one thread", f"thrA = tidA[{by}]", composed((0, kept)), "(value)",
              "A thread fixes mode 0 and keeps its values: thread {thread} begins at offset "
              "{begin} and has the same strides as all others.", op="slice", by=by,
              begin=composed(0)),
    ]  # fmt: skip


def _thread_values(tv: Any, block: Any) -> tuple[int, int, list[int]]:
    if tv.rank != 2:
        got, needed = f"{tv} of rank {tv.rank}", "a thread and a value mode"
        remedy = "pass ((threads…),(values…)), such as the result of make_layout_tv"
        raise usage_error("tv", got, needed, remedy)
    threads, values = tv.size(0), tv.size(1)
    if threads > _MOST_THREADS or threads * values > _MOST_PAIRS:
        got = f"{threads:,} threads with {values:,} values"
        needed = f"at most {_MOST_THREADS:,} threads and {_MOST_PAIRS:,} values in total"
        raise usage_error(f"tv {tv}", got, needed, "explore one warp of it")
    found = offsets_of(tv)
    if found.ndim != 1:
        remedy = "use integer strides; indices count down each column first"
        got = f"{tv}, whose values are coordinates"
        raise usage_error("tv", got, "indices of the tile", remedy)
    indices = [int(i) for i in found]
    worst = max(indices) if min(indices) >= 0 else min(indices)
    if not 0 <= worst < block.size():
        remedy = "pass the tile that this TV layout covers (make_layout_tv also returns it)"
        needed = f"elements 0 to {block.size() - 1} of the tile {text(block.shape)}"
        raise usage_error(f"tv {tv}", f"element {worst}", needed, remedy)
    return threads, values, indices


def _all_of(shape: Any) -> Any:
    """Return the coordinate that keeps a whole mode, such as `(_,_)` for a mode with two
    entries."""
    return tuple(None for _ in shape) if isinstance(shape, tuple) else None


def _modes(mode: Any, name: str) -> str:
    """Return names for a mode's entries, such as `(TileM,TileN)` for two entries."""
    count = len(parts(mode.shape))
    letters = "MNKL"[:count] if count <= 4 else [str(i) for i in range(count)]
    return "(" + ",".join(f"{name}{letter}" for letter in letters) + ")"


def _by(mode: Any) -> str:
    return " × ".join(str(part.size()) for part in mode)
