"""Read layouts, thread-value layouts, tilers and tiles into NumPy tables for drawing.

Inputs are CuTe's own objects (while a @cute.jit function is traced), forgekit's objects, or plain
tuples, all of which `forgekit.layouts.of` accepts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from forgekit.arguments import integer_or_none
from forgekit.errors import brief, usage_error
from forgekit.layouts import Basis, ComposedLayout, Layout, read
from forgekit.layouts.layout import flat_modes
from forgekit.layouts.tuples import flat, has_dynamic, text
from forgekit.viz.scene import Array

MOST_CELLS = 65_536  # 256 × 256; a larger overview takes seconds without showing more


def read_layout(value: Any, what: str = "layout") -> Layout | ComposedLayout:
    """Return the value as a layout. Raise UsageError if it is not a layout or has dynamic modes."""
    layout = read(value).layout
    if not layout.is_static:
        remedy = "draw it for a fixed size: forgekit.layouts.Layout((64, 32), (32, 1)), for example"
        raise usage_error(what, f"{layout} with ? in it", "numbers only", remedy)
    return layout


def _require_drawable(what: str, size: int, most: int = MOST_CELLS) -> None:
    if size > most:
        remedy = "draw part of it: the first tile, or the same layout with smaller modes"
        raise usage_error(what, f"{size:,} cells", f"at most {most:,}", remedy)


def read_table(value: Any, what: str = "layout") -> tuple[Layout | ComposedLayout, Array]:
    """Return a layout and the offset of each linear index. The offsets of a coordinate tensor are
    relative to its first coordinate.
    """
    layout = read_layout(value, what)
    offsets, origin = offsets_of(layout), read(value).origin
    if has_dynamic(origin):
        remedy = "draw the tile of one block: a tensor that begins at (0,0)"
        raise usage_error(what, f"a tensor that begins at {text(origin)}", "numbers only", remedy)
    if origin is not None and offsets.ndim == 2:
        start = flat(origin)
        offsets = _widened(offsets, max(offsets.shape[1], len(start)))
        offsets[:, : len(start)] += start
    return layout, offsets


def offsets_of(layout: Layout | ComposedLayout) -> Array:
    """Return the offset of each linear index (the leftmost mode varies fastest), with shape (size,)
    or, for a layout whose offsets are coordinates, (size, rank of the coordinates).
    """
    size = layout.size()
    _require_drawable(f"layout {layout}", size)
    if isinstance(layout, ComposedLayout):
        return np.array([layout(i) for i in range(size)], np.int64)
    leaves = flat_modes(layout)
    modes = [d.mode for _, d in leaves if isinstance(d, Basis)]
    if any(len(mode) > 1 for mode in modes):
        rows = [flat(layout(i)) for i in range(size)]
        return _widened(rows, max(map(len, rows)))
    if 0 < len(modes) < len(leaves):
        layout(size - 1)  # raises an error if coordinates and integers are mixed
    table = np.zeros((size, 1 + max((mode[0] for mode in modes), default=0)), np.int64)
    index = np.arange(size)
    for extent, stride in leaves:
        column, step = (stride.mode[0], stride.value) if isinstance(stride, Basis) else (0, stride)
        table[:, column] += index % extent * step
        index //= extent
    return table[:, 0] if table.shape[1] == 1 else table


def _widened(rows: Any, width: int) -> Array:
    """Return rows of numbers, padded on the right with zeros to `width` numbers."""
    out = np.zeros((len(rows), width), np.int64)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def read_tile(tile: Any, rank: int, what: str) -> tuple[int, ...]:
    """Return a tile's sizes as integers; a mode may be an integer, a tuple or a layout."""
    modes = tile if isinstance(tile, tuple | list) else ()
    try:
        sizes = tuple(_size_of(mode, what) for mode in modes)
    except ValueError:
        sizes = ()
    if len(sizes) != rank:
        got = f"({', '.join(map(str, modes))})" if modes else brief(tile)
        remedy = f"pass {rank} sizes, such as {'(16, 8, 16)' if rank == 3 else '(8, 8)'}"
        raise usage_error(what, got, f"{rank} positive integers", remedy)
    _require_drawable(f"{what} {sizes}", math.prod(sizes), MOST_CELLS * (64 if rank == 3 else 1))
    return sizes


def _size_of(mode: Any, what: str) -> int:
    if isinstance(mode, tuple | list):
        return math.prod(_size_of(m, what) for m in mode)
    size = read_layout(mode, what).size() if hasattr(mode, "stride") else integer_or_none(mode)
    if size is None or size < 1:
        raise ValueError
    return size


@dataclass(frozen=True, eq=False)
class ThreadValues:
    """A thread-value layout within a tile of rows and columns.

    pattern: the rows and columns that the layout covers; the tile repeats this pattern. coords:
    each value's row and column within the pattern, an array of shape (threads, values, 2). holders:
    maps a (row, column) within the pattern to the (thread, value) pairs that hold this element.
    meant: the tile for which the layout was made, if that tile has another shape.
    """

    layout: str
    tile: tuple[int, ...]
    pattern: tuple[int, ...]
    coords: Array
    holders: dict[tuple[int, int], list[tuple[int, int]]]
    thread_shape: Any
    value_shape: Any
    meant: tuple[int, ...] | None = None

    @property
    def threads(self) -> int:
        return int(self.coords.shape[0])

    @property
    def values(self) -> int:
        return int(self.coords.shape[1])

    @property
    def repeats(self) -> tuple[int, int]:
        return self.tile[0] // self.pattern[0], self.tile[1] // self.pattern[1]

    @property
    def most_holders(self) -> int:
        return max((len(pairs) for pairs in self.holders.values()), default=0)

    @property
    def uncovered(self) -> int:
        return self.pattern[0] * self.pattern[1] - len(self.holders)

    def at(self, row: int, column: int) -> list[tuple[int, int]]:
        """Return the (thread, value) pairs that hold an element of the tile, or an empty list."""
        return self.holders.get((row % self.pattern[0], column % self.pattern[1]), [])


def read_thread_values(
    value: Any, tile: tuple[int, ...], what: str, pattern: tuple[int, ...] | None = None
) -> ThreadValues:
    """Read a (thread, value) layout over a tile of (rows, columns).

    The layout's offsets are coordinates, or linear indices of the tile (the row index varies
    fastest). With `pattern`, the tiler of a tiled copy or MMA, they are indices of this pattern,
    which the tile repeats. Raises UsageError if the layout lacks a thread mode or a value mode, or
    if a value is outside the tile.
    """
    layout, offsets = read_table(value, what)
    if layout.rank < 2:
        remedy = "pass ((threads…),(values…)), such as the result of cute.make_layout_tv"
        got = f"{layout} of rank {layout.rank}"
        raise usage_error(what, got, "a thread and a value mode", remedy)
    made_for, pattern = pattern, _pattern(pattern or tile, tile)
    threads, values = layout.size(0), layout.size(1)
    # A third mode selects one part of a larger tensor. Only the first part is drawn.
    offsets = offsets[: threads * values]
    if offsets.ndim == 2:
        coords = offsets[:, :2]
        inside = (offsets >= 0).all(axis=1) & (coords < pattern).all(axis=1)
        inside &= (offsets[:, 2:] == 0).all(axis=1)
    else:
        coords = np.stack([offsets % pattern[0], offsets // pattern[0]], axis=1)
        inside = (offsets >= 0) & (offsets < math.prod(pattern))
    if not inside.all():
        place = ", ".join(map(str, offsets[~inside][0].reshape(-1).tolist()))
        got = f"a value at {f'coordinate ({place})' if offsets.ndim == 2 else f'index {place}'}"
        needed = f"coordinates inside the tile {pattern}, which has {math.prod(pattern)} elements"
        remedy = "pass the tile that this layout covers (make_layout_tv also returns it)"
        raise usage_error(f"{what} {layout}", got, needed, remedy)
    coords = coords.reshape(values, threads, 2).swapaxes(0, 1)
    holders: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for thread in range(threads):
        for number, (row, column) in enumerate(coords[thread].tolist()):
            holders.setdefault((row, column), []).append((thread, number))
    shape = layout.shape
    return ThreadValues(str(layout), tile, pattern, coords, holders, shape[0], shape[1],
                        made_for if made_for != pattern else None)  # fmt: skip


def _pattern(pattern: tuple[int, ...], tile: tuple[int, ...]) -> tuple[int, ...]:
    """Return the part of the tile that the layout covers. As in cute-viz, this is the whole tile if
    it has the same number of elements but a different shape.
    """
    if all(t % p == 0 for t, p in zip(tile, pattern, strict=True)):
        return pattern
    if math.prod(tile) == math.prod(pattern):
        return tile
    needed = f"a multiple of {pattern[0]} rows and of {pattern[1]} columns"
    remedy = f"draw the tile {pattern} that it covers"
    raise usage_error("tile", tile, needed, remedy)
