"""Track the bytes of device memory that a launch reads and writes, which are its minimum
traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forgekit.vgpu.access import addressing
from forgekit.vgpu.access.addressing import Target
from forgekit.vgpu.floats import Array
from forgekit.vgpu.memory import Allocation

READ, WRITTEN = "read", "written"
_PART = 1 << 16  # the number of a tensor's bytes that are processed together
_WAYS = {
    "load": (READ,), "async load": (READ,), "store": (WRITTEN,), "atomic": (READ, WRITTEN),
}  # fmt: skip


@dataclass(frozen=True)
class TensorTraffic:
    """The number of bytes of a tensor that a launch touched, with each byte counted once.

    size_bytes: the size of the range from the tensor's lowest to its highest byte; read_bytes,
    written_bytes: the number of distinct bytes in this range. A byte that several tensors share
    counts for each of these tensors.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int
    read_bytes: int
    written_bytes: int


class Touched:
    """The touched bytes, per allocation and way (read or written)."""

    def __init__(self) -> None:
        self._bytes: dict[tuple[int, str], Array] = {}  # (allocation address, way) -> byte mask
        # For each key of `_bytes`, a mask of the parts (of _PART bytes) that contain touched bytes.
        self._parts: dict[tuple[int, str], Array] = {}

    def add(self, kind: str, targets: Sequence[Target], width: int) -> None:
        for target in targets:
            if target.allocation is None:
                continue
            (places,) = addressing.compress(target.mask, target.places)
            each = target.inside or width
            for way in _WAYS[kind]:
                touched = self._of(target.allocation, way)[target.skipped :]
                rows = touched[: len(touched) // each * each].view(f"V{each}")
                rows[places] = np.void(b"\1" * each)
                parts = self._parts[target.allocation.address, way]
                for end in (0, each - 1):
                    parts[(places * each + (target.skipped + end)) // _PART] = True

    def tensors(self, allocations: Sequence[Allocation]) -> list[TensorTraffic]:
        """Return the traffic of each tensor, in order of address."""
        result = []
        for allocation in allocations:
            for region in allocation.regions:
                start = region.start - allocation.real_address
                part = slice(start, start + region.size_bytes)
                read, written = (
                    self._count(allocation.address, way, part) for way in (READ, WRITTEN)
                )
                info = region.info
                result.append(TensorTraffic(info.name, info.dtype, info.shape, region.size_bytes,
                                            read, written))  # fmt: skip
        return result

    def distinct(self, way: str, size: int = 1, only: Allocation | None = None) -> int:
        """Return the number of distinct pieces of `size` bytes that were touched in this way.

        size: 1, or a power of two of at least 8; the first piece begins at an allocation's first
        byte. only: the allocation to count; None for all allocations.
        """
        return sum(self._count(address, w, None, size) for address, w in self._bytes
                   if w == way and (only is None or address == only.address))  # fmt: skip

    def _count(self, address: int, way: str, part: slice | None = None, size: int = 1) -> int:
        """Return the number of touched bytes (or pieces of `size` bytes) in a part of an
        allocation."""
        touched = self._bytes.get((address, way))
        if touched is None:
            return 0
        there = np.flatnonzero(self._parts[address, way])
        found = 0
        for k in there:
            piece = touched[k * _PART : (k + 1) * _PART]
            if size > 1:
                words = np.pad(piece, (0, -len(piece) % size)).view(np.uint64)
                piece = np.any(words.reshape(-1, size // 8), axis=1, keepdims=True)
            elif part is not None:
                first = k * _PART
                piece = piece[max(part.start - first, 0) : max(part.stop - first, 0)]
            found += int(np.count_nonzero(piece))
        return found

    def merged(self, other: Touched) -> Touched:
        """Return the union of the touched bytes."""
        both = Touched()
        for touched in (self, other):
            for key, array in touched._bytes.items():
                if key not in both._bytes:
                    both._bytes[key] = np.zeros(len(array), bool)
                    both._parts[key] = np.zeros(len(touched._parts[key]), bool)
                both._parts[key] |= touched._parts[key]
                for k in np.flatnonzero(touched._parts[key]):
                    part = slice(k * _PART, (k + 1) * _PART)
                    both._bytes[key][part] |= array[part]
        return both

    def _of(self, allocation: Allocation, way: str) -> Array:
        key = allocation.address, way
        if key not in self._bytes:
            self._bytes[key] = np.zeros(allocation.size_bytes, bool)
            self._parts[key] = np.zeros(-(-allocation.size_bytes // _PART), bool)
        return self._bytes[key]
