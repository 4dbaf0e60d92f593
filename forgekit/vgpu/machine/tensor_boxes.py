"""Represent the sources and targets of tensor copies (TMA): boxes of tensors, and swizzled tiles of
shared memory."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forgekit.vgpu.access.copies import End
from forgekit.vgpu.memory.swizzles import PIECE, swizzled
from forgekit.vgpu.memory.tensor_maps import Clipped, TensorMap

if TYPE_CHECKING:
    from forgekit.vgpu.access.copies import Update
    from forgekit.vgpu.floats import Array

_LINE = 128  # bytes; no swizzle moves a byte out of its 128-byte line


@dataclass
class Boxes(End):
    """The boxes of tensors that copies access; the tensor of box i begins at byte `start[i]` of its
    allocation.

    maps: the tensor map of each box; clipped: the part of each box that is inside its tensor.
    """

    maps: Sequence[TensorMap] = ()
    clipped: Sequence[Clipped] = field(default=(), repr=False)

    def _inside(self, i: int) -> Array:
        """Return the elements of box i that are inside its tensor, as an array that shares the
        tensor's memory."""
        part, dtype = self.clipped[i], f"u{self.maps[i].itemsize}"
        assert self.allocations is not None
        if part.empty:
            return np.zeros(part.extents, dtype)
        start = int(self.start[i]) + part.offset
        return np.ndarray(part.extents, dtype, self.allocations[i].data, start, part.strides)

    def take(self, i: int, size: int, shared: Array) -> Array:
        part, tensor_map = self.clipped[i], self.maps[i]
        dense = np.full(part.counts, tensor_map.fill, f"u{tensor_map.itemsize}")
        dense[part.inside] = self._inside(i)
        return dense.reshape(-1).view(np.uint8)

    def put(self, i: int, found: Array, shared: Array, update: Update | None = None) -> None:
        part, inside = self.clipped[i], self._inside(i)
        dense = np.ascontiguousarray(found).view(inside.dtype).reshape(part.counts)[part.inside]
        inside[...] = dense if update is None else update(inside, dense)

    def places(self, i: int, size: int) -> Array:
        part = self.clipped[i]
        first = np.full(part.counts, -1, np.int64)
        first[part.inside] = int(self.start[i]) + part.offset + part.offsets()
        each = np.arange(self.maps[i].itemsize)
        return np.where(first[..., None] < 0, -1, first[..., None] + each).reshape(-1)

    def _rows(self, of: Array, size: Array) -> tuple[Array, Array, Array]:
        starts = []
        for i in of.tolist():
            part = self.clipped[i]
            firsts = part._replace(extents=(*part.extents[:-1], min(part.extents[-1], 1))).offsets()
            starts.append(firsts.reshape(-1) + int(self.start[i]) + part.offset)
        counts = [len(rows) for rows in starts]
        widths = [self.clipped[i].extents[-1] * self.maps[i].itemsize for i in of.tolist()]
        return np.repeat(of, counts), np.concatenate(starts), np.repeat(widths, counts)


@dataclass
class Tiles(End):
    """The swizzled tiles of shared memory that copies access.

    within: each tile's byte offset in its block's shared memory; maps: the tensor map of each tile.
    """

    within: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    maps: Sequence[TensorMap] = ()

    def _order(self, i: int, size: int) -> Array:
        found = self.maps[i]
        return _order(int(self.within[i]) % 1024, size, found.swizzle, found.row_bytes)

    def _pieces(self, i: int, size: int, shared: Array) -> tuple[Array, Array]:
        """Return the 16-byte pieces of shared memory from the start of tile i, and the order in
        which a copy moves them."""
        start = int(self.start[i])
        lines = shared[start : start + -(-self.maps[i].tile_bytes // _LINE) * _LINE]
        return lines.reshape(-1, PIECE), self._order(i, size)

    def take(self, i: int, size: int, shared: Array) -> Array:
        pieces, order = self._pieces(i, size, shared)
        return pieces[order].reshape(-1)

    def put(self, i: int, found: Array, shared: Array, update: Update | None = None) -> None:
        assert update is None
        pieces, order = self._pieces(i, len(found), shared)
        pieces[order] = found.reshape(-1, PIECE)

    def places(self, i: int, size: int) -> Array:
        order = self._order(i, size)
        return (int(self.start[i]) + order[:, None] * PIECE + np.arange(PIECE)).reshape(-1)


@functools.lru_cache(maxsize=256)
def _order(within: int, size: int, span: int, row: int) -> Array:
    """Return the indices of a tile's 16-byte pieces, relative to its start, in the order of its
    elements.

    With a swizzle, each row of `row` bytes begins a new span.
    """
    moved = np.arange(0, size, PIECE)
    placed = moved // row * (span or row) + moved % row
    return (swizzled(within + placed, span) - within) // PIECE
