"""Encode and decode tensor maps: 128 bytes that describe a tensor and its boxes for tensor copies
(TMA).

The encoding matches the hardware's, because CuTe DSL's host code writes tensor maps directly. The
positions of fields come from ptxas's code for `tensormap.replace` on sm_90a and sm_100a. The
requirements match those of the CUDA driver's `cuTensorMapEncodeTiled`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.memory.swizzles import SPANS

BYTES = 128
ALIGN = 64
# The low four bits of the word at byte 8, in `.tile` maps from CuTe DSL and from the CUDA driver.
_TILED, _OF_THE_DRIVER = 2, 0
_TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16")
_ITEM_BYTES = (1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2)
_UNIT = 16  # unit of strides and alignment of addresses, in bytes
_NAN = {2: 0x7FF7, 4: 0x7FF77FF7, 8: 0x7FF77FF77FF77FF7}  # an H200's NaNs by element size


@dataclass(frozen=True)
class TensorMap:
    """A description of a tensor and of its boxes, with the contiguous mode first.

    address: the virtual or real address of the first element; dtype: the element type's name in
    PTX; strides: in bytes; box: the number of elements that a box spans along each mode; steps: the
    distance in elements between copied elements along each mode; swizzle: the span in bytes, or 0;
    fill: the bits that replace an element outside the tensor.
    """

    address: int
    dtype: str
    itemsize: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    swizzle: int
    fill: int

    @functools.cached_property
    def counts(self) -> tuple[int, ...]:
        """Return the number of elements that a copy moves along each mode."""
        return tuple(-(-b // s) for b, s in zip(self.box, self.steps, strict=True))

    @functools.cached_property
    def box_bytes(self) -> int:
        """Return the number of bytes that a copy moves and reports to its mbarrier."""
        return math.prod(self.counts) * self.itemsize

    @functools.cached_property
    def row_bytes(self) -> int:
        """Return the size of a box along the contiguous mode, in bytes."""
        return self.counts[0] * self.itemsize

    @functools.cached_property
    def tile_bytes(self) -> int:
        """Return the number of bytes of shared memory from the start of a box to the end of its
        last row. With a swizzle, each row occupies a whole span, even if the row is shorter
        (measured on an H200)."""
        return self.box_bytes // self.row_bytes * (self.swizzle or self.row_bytes)

    def wrong_corner(self, coordinates: tuple[int, ...], *, stores: bool) -> str:
        """Return the reason why an H200 reports an illegal instruction for a box at these
        coordinates; empty if it reports none. `tests/vgpu/test_tensor_copies.py`
        demonstrates both reasons on an H200; CUDA's programming guide describes only the second.
        """
        at = coordinates[0] * self.itemsize
        if at % _UNIT:
            return f"begins {at} bytes into the contiguous mode, not at a multiple of {_UNIT}"
        if stores and min(coordinates) < 0:
            return "begins before the tensor, where only a load may begin"
        return ""

    def clip(self, coordinates: tuple[int, ...], *, stores: bool = False) -> Clipped:
        """Return the part of the box at these coordinates that is inside the tensor.

        stores: return the part that a store writes, which consists of whole 16-byte pieces along
        the contiguous mode (measured on an H200).
        """
        inside, extents, strides, offset = [], [], [], 0
        for at, size, count, step, stride in zip(
            coordinates, self.sizes, self.counts, self.steps, self.strides, strict=True
        ):
            first = min(max(0, -(at // step)), count)
            last = min(max(first, -((at - size) // step)), count)
            inside.append(slice(first, last))
            extents.append(last - first)
            strides.append(stride * step)
            offset += (at + first * step) * stride
        if stores and extents[0]:
            piece = _UNIT // self.itemsize
            extents[0] = -(-extents[0] // piece) * piece
            inside[0] = slice(inside[0].start, inside[0].start + extents[0])
        return Clipped(
            self.counts[::-1], tuple(inside[::-1]), tuple(extents[::-1]), tuple(strides[::-1]),
            offset,
        )  # fmt: skip


class Clipped(NamedTuple):
    """The part of a box that is inside its tensor, with the outermost mode first.

    counts: the number of elements of the box along each mode; inside: the slices of the box that
    select the part; extents, strides: the part's sizes in elements and its strides in bytes;
    offset: the distance in bytes from the tensor's first element to the part's first element.
    """

    counts: tuple[int, ...]
    inside: tuple[slice, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @property
    def span_bytes(self) -> int:
        """Return the distance in bytes from the part's first element to its last element."""
        return sum((n - 1) * s for n, s in zip(self.extents, self.strides, strict=True))

    @property
    def empty(self) -> bool:
        return 0 in self.extents

    def offsets(self) -> Array:
        """Return the byte offset of each element from the part's first element, as an array of the
        part's shape."""
        return _offsets(self.extents, self.strides)


@functools.lru_cache(maxsize=256)
def _offsets(extents: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    found = np.zeros(extents, np.int64)
    for mode, (n, stride) in enumerate(zip(extents, strides, strict=True)):
        along = [1] * len(extents)
        along[mode] = n
        found += (np.arange(n) * stride).reshape(along)
    return found


@functools.lru_cache(maxsize=256)
def decode(raw: bytes) -> TensorMap:
    """Decode the 128 bytes of a tensor map.

    Raises:
        ValueError: a field has a value that no tensor copy supports; the message states the
            requirement.
    """
    words = [int(w) for w in np.frombuffer(raw, np.uint32)]
    flags, rank = words[2], (words[2] >> 4 & 7) + 1
    kind = flags >> 7 & 15
    if flags & 15 not in (_TILED, _OF_THE_DRIVER) or rank > 5:
        raise ValueError(
            "something other than a tiled tensor map: pass a map from make_tiled_tma_atom()"
        )
    if kind >= len(_TYPES) or flags >> 16 & 1 or _TYPES[kind] == "f32.ftz":
        raise ValueError(
            "a tensor map whose elements are converted or unpacked during the copy (tf32, f32.ftz, "
            "4 or 6 bits), which the virtual GPU does not support: copy them without conversion"
        )
    if flags >> 15 & 1 and "f" not in _TYPES[kind]:
        raise ValueError(f"a tensor map that fills {_TYPES[kind]} elements with NaN: use zeros")
    if flags >> 11 & 3:
        raise ValueError("an interleaved tensor map, which the virtual GPU does not support")
    if flags >> 19 & 3 or flags >> 22 & 1:
        raise ValueError(
            "a tensor map with a 96-byte swizzle, or with a swizzle of units other than 16 "
            "bytes, which the virtual GPU does not support: use a 32-, 64- or 128-byte swizzle"
        )
    itemsize = _ITEM_BYTES[kind]
    high = words[7]
    strides = [(words[3 + i] | (high >> 4 * i & 15) << 32) * _UNIT for i in range(4)]
    boxes = [words[13] >> 24, *(words[14] >> 8 * i & 255 for i in range(4))]
    steps = (1, *((words[13] >> 3 * i & 7) + 1 for i in range(1, 5)))
    found = TensorMap(
        words[0] | words[1] << 32,
        _TYPES[kind],
        itemsize,
        tuple(words[8 + i] + 1 for i in range(rank)),
        (itemsize, *strides)[:rank],
        tuple(b + 1 for b in boxes[:rank]),
        steps[:rank],
        SPANS[flags >> 13 & 3],
        _NAN.get(itemsize, 0) if flags >> 15 & 1 else 0,
    )
    _check(found)
    return found


def encode(
    dtype: str,
    address: int,
    sizes: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    steps: Sequence[int],
    swizzle: int = 0,
    nan_fill: bool = False,
) -> bytes:
    """Return the 128 bytes of a tensor map. strides: the strides in bytes of all modes except the
    contiguous mode.

    Raises:
        ValueError: `cuTensorMapEncodeTiled` would refuse a value; the message states the
            requirement.
    """
    _in_range("sizes", sizes, 1, 1 << 32)
    _in_range("box edges", box, 1, 256)
    _in_range("element strides", steps, 1, 8)
    _in_range("strides in bytes", strides, 0, (1 << 40) - _UNIT)
    if any(stride % _UNIT for stride in strides):
        raise ValueError(f"strides of {tuple(strides)} bytes, not all multiples of {_UNIT}")
    words = np.zeros(BYTES // 4, np.uint32)
    words[0], words[1] = address & 0xFFFFFFFF, address >> 32
    words[2] = (
        _TILED | len(sizes) - 1 << 4 | _TYPES.index(dtype) << 7
        | SPANS.index(swizzle) << 13 | nan_fill << 15
    )  # fmt: skip
    for i, stride in enumerate(strides):
        words[3 + i] = stride // _UNIT & 0xFFFFFFFF
        words[7] |= stride // _UNIT >> 32 << 4 * i
    words[8 : 8 + len(sizes)] = np.array(sizes, np.uint64) - 1
    words[13] = sum(step - 1 << 3 * i for i, step in enumerate(steps)) | box[0] - 1 << 24
    words[14] = sum(edge - 1 << 8 * i for i, edge in enumerate(box[1:]))
    raw = words.tobytes()
    decode(raw)
    return raw


def _in_range(what: str, values: Sequence[int], least: int, most: int) -> None:
    if not all(least <= value <= most for value in values):
        raise ValueError(f"{what} {tuple(values)}, not all from {least:,} to {most:,}")


def _check(found: TensorMap) -> None:
    inner = found.row_bytes
    if found.address % _UNIT:
        raise ValueError(
            f"a tensor map for address {found.address:#x}, which is not a multiple of {_UNIT}"
        )
    if inner % _UNIT:
        raise ValueError(
            f"a tensor map with boxes of {inner} bytes along the contiguous mode, not a multiple "
            f"of {_UNIT}: use a wider tile"
        )
    if found.swizzle and inner > found.swizzle:
        raise ValueError(
            f"a tensor map with boxes of {inner} bytes along the contiguous mode, more than the "
            f"{found.swizzle} bytes of its swizzle: use a narrower tile or another swizzle"
        )
