"""The explorer's steps: a tensor, zipped_divide, one tile, composition with a TV layout, a slice.

Texts hold `{tile}`, `{start}`, `{thread}`, `{first}` where the page puts the choice of the moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forgekit.errors import brief, usage_error
from forgekit.layouts import (
    ComposedLayout,
    Layout,
    composition,
    make_identity_layout,
    of,
    slice_and_offset,
    zipped_divide,
)
from forgekit.layouts.swizzle import outer_of
from forgekit.layouts.tuples import flat, parts, text
from forgekit.text import plural
from forgekit.viz.layouts.reading import offsets_of

_MOST = 16_384  # elements of all tiles, with those beyond the layout

_MOST_THREADS, _MOST_PAIRS = 1024, 8192
Parts = tuple[list[dict[str, Any]], dict[str, Any] | None, dict[str, Any] | None]


def tile_and_threads(layout: Any, tile: Any, tv: Any) -> Parts:
    """The steps; what cells the tiles have; what elements of a tile the threads have."""
    if _is_pair(tv):
        tiler, tv = tv
        if tile is not None and tuple(parts(tile)) != tuple(parts(tiler)):
            remedy = "give the tiler once: leave tile out"
            raise usage_error("tile", brief(tile), f"{tiler}, as tv has", remedy)
        tile = tiler
    steps, block, tile_data = [_first(layout)], layout, None
    if tile is not None:
        block, tile_data, more = _divided(layout, tile)
        steps += more
    if tv is None:
        return steps, tile_data, None
    if tile_data is None:
        tile_data = {"shape": layout.shape, "rest": (), "size": layout.size(), "count": 1,
                     "cells": list(range(layout.size())), "starts": [0]}  # fmt: skip
    tv_data, more = _composed(block, tile_data, of(tv), "mA" if tile is None else "blkA")
    return [*steps, *more], tile_data, tv_data


def _is_pair(tv: Any) -> bool:
    """Whether it is what make_layout_tv returns: (tiler_mn, layout_tv)."""
    pair = isinstance(tv, tuple) and len(tv) == 2
    return pair and not isinstance(tv[1], tuple | list | int) and isinstance(tv[0], tuple)


def _first(layout: Layout | ComposedLayout) -> dict[str, Any]:
    words = "A layout is a function: it takes a coordinate and gives an offset into memory."
    if isinstance(layout, Layout) and layout.rank == 2 and layout.depth == 1:
        rows, columns = layout.stride
        words = words[:-1] + f", here (i,j) the offset i×{rows} + j×{columns}."
    modes = "(row,column)" if layout.rank == 2 else "(index)"
    return {"kind": "layout", "name": "the tensor", "code": "mA", "result": str(layout),
            "modes": modes, "words": words, "show": "offset"}  # fmt: skip


def _divided(layout: Any, tile: Any) -> tuple[Any, dict[str, Any], list[dict[str, Any]]]:
    """The tile's layout, where all tiles lie, and the two steps that lead to it."""
    tiler = (tile,) if isinstance(tile, int) and layout.rank == 1 else tile
    tiler = tuple(tiler) if isinstance(tiler, list) else tiler
    divided = zipped_divide(layout, tiler)
    if divided.size() > _MOST:
        got, needed = f"{divided.size():,} elements", f"at most {_MOST:,}"
        raise usage_error(f"tile {brief(tile)}", got, needed, "take a smaller tile")
    inner, rest = divided.mode(0), divided.mode(1)
    size, count = inner.size(), rest.size()
    shape = outer_of(layout).shape
    cells = _numbers(zipped_divide(make_identity_layout(shape), tiler), shape)
    kept = _all_of(inner.shape)
    starts = [_slice(divided, (kept, t))[1] for t in range(count)]
    data = {"shape": inner.shape, "rest": rest.shape, "size": size, "count": count,
            "cells": cells, "starts": starts}  # fmt: skip
    block, _ = _slice(divided, (kept, 0))
    outside = sum(cell < 0 for cell in cells)
    tiles = "1 tile" if count == 1 else f"{_by(rest)} tiles"
    words = (f"Cut into {tiles} of {_by(inner)}: mode 0 walks inside a tile, mode 1 from "
             "tile to tile.")  # fmt: skip
    if outside:
        words += f" Tiles reach beyond the tensor ({outside} elements): a kernel needs a predicate."
    spelt = str(tiler).replace(" ", "")
    names = _modes(inner, "Tile"), _modes(rest, "Rest")
    steps = [
        {"kind": "divide", "name": "zipped_divide", "show": "tile", "words": words,
         "code": f"gA = zipped_divide(mA, {spelt})",
         "result": str(divided), "modes": f"({names[0]},{names[1]})"},
        {"kind": "tile", "name": "one tile", "code": f"blkA = gA[({text(kept)},{{tile}})]",
         "result": str(block), "modes": names[0], "show": "tile",
         "words": "A block takes one tile: it keeps mode 0 and fixes mode 1, so every tile has "
                  "this layout and only begins elsewhere, here at offset {start}."},
    ]  # fmt: skip
    return block, data, steps


def _slice(layout: Any, coord: Any) -> tuple[Any, Any]:
    """A slice, and where it begins (before a swizzle)."""
    if isinstance(layout, ComposedLayout):
        sliced, start = slice_and_offset(layout.outer, coord)
        return ComposedLayout(layout.inner, layout.offset, sliced), start
    return slice_and_offset(layout, coord)


def _numbers(coordinates: Layout, shape: Any) -> list[int]:
    """The number of the element at each coordinate of a shape; -1 outside it."""
    sizes = np.array(flat(shape))
    found = offsets_of(coordinates).reshape(coordinates.size(), -1)
    places = np.zeros((len(found), len(sizes)), np.int64)
    places[:, : found.shape[1]] = found
    inside = ((places >= 0) & (places < sizes)).all(axis=1)
    numbers = places @ np.cumprod([1, *sizes[:-1]])
    return [int(n) for n in np.where(inside, numbers, -1)]


def _composed(
    block: Any, tile: dict[str, Any], tv: Layout | ComposedLayout, name: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Which element each (thread, value) is, and the two steps that lead to one thread's."""
    threads, values, indices = _thread_values(tv, tile)
    composed = composition(block, tv)
    expected = [block(i) for i in indices]
    if [composed(i) for i in range(len(indices))] != expected:
        remedy = "choose a TV layout whose strides divide the tile's modes; make_layout_tv does"
        got = f"{composed}, which is another function"
        needed = "sizes and strides that divide one another"
        raise usage_error(f"composition of {block} with {tv}", got, needed, remedy)
    each = [[indices[v * threads + t] for v in range(values)] for t in range(threads)]
    kept = _all_of(composed.shape[1])
    piece, _ = _slice(composed, (0, kept))
    steps = [
        {"kind": "compose", "name": "composition", "code": f"tidA = composition({name}, {tv})",
         "result": str(composed), "modes": "(thread,value)", "show": "thread",
         "words": "Put the TV layout in front: (thread, value) becomes a place in the tile, the "
                  "tile's layout makes it an offset. "
                  f"{threads} threads with {plural(values, 'value')} each."},
        {"kind": "slice", "name": "one thread", "code": f"thrA = tidA[({{thread}},{text(kept)})]",
         "result": str(piece), "modes": "(value)", "show": "thread",
         "words": "A thread fixes mode 0 and keeps its values: thread {thread} begins at offset "
                  "{first}, and steps like all the others."},
    ]  # fmt: skip
    shape = {"shape": [tv.shape[0], tv.shape[1]], "threads": threads, "values": values}
    return {**shape, "layout": str(tv), "elements": each}, steps


def _thread_values(tv: Any, tile: dict[str, Any]) -> tuple[int, int, list[int]]:
    if tv.rank != 2:
        got, needed = f"{tv} of rank {tv.rank}", "a thread and a value mode"
        remedy = "give ((threads…),(values…)), such as what make_layout_tv returns"
        raise usage_error("tv", got, needed, remedy)
    threads, values = tv.size(0), tv.size(1)
    if threads > _MOST_THREADS or threads * values > _MOST_PAIRS:
        got = f"{threads:,} threads with {values:,} values"
        needed = f"at most {_MOST_THREADS:,} threads and {_MOST_PAIRS:,} values in all"
        raise usage_error(f"tv {tv}", got, needed, "explore one warp of it")
    found = offsets_of(tv)
    if found.ndim != 1:
        remedy = "give strides that number the tile's elements, rows fastest"
        got = f"{tv}, whose values are coordinates"
        raise usage_error("tv", got, "indices of the tile", remedy)
    indices = [int(i) for i in found]
    worst = max(indices) if min(indices) >= 0 else min(indices)
    if not 0 <= worst < tile["size"]:
        remedy = "give the tile that this TV layout covers (make_layout_tv returns it too)"
        needed = f"elements 0 to {tile['size'] - 1} of the tile {text(tile['shape'])}"
        raise usage_error(f"tv {tv}", f"element {worst}", needed, remedy)
    return threads, values, indices


def _all_of(shape: Any) -> Any:
    """The coordinate that keeps a mode whole: `(_,_)` for one of two entries."""
    return tuple(None for _ in shape) if isinstance(shape, tuple) else None


def _modes(mode: Any, name: str) -> str:
    """`(TileM,TileN)` for two entries."""
    count = len(parts(mode.shape))
    letters = "MNKL"[:count] if count <= 4 else [str(i) for i in range(count)]
    return "(" + ",".join(f"{name}{letter}" for letter in letters) + ")"


def _by(mode: Any) -> str:
    return " × ".join(str(part.size()) for part in mode)
