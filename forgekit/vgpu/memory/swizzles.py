"""Compute the swizzles of tensor maps and matrix descriptors, which permute 16-byte pieces of
shared memory.

A swizzle with a span of 32, 64 or 128 bytes permutes the 2, 4 or 8 pieces of each span, depending
on the index of their 128-byte line (PTX ISA, "Swizzling modes"), like CuTe's Swizzle<1, 4, 3>,
Swizzle<2, 4, 3> and Swizzle<3, 4, 3> on byte addresses. The fields of descriptors follow PTX ISA,
"Matrix descriptor"; the layouts follow CUTLASS, include/cute/arch/mma_sm90_desc.hpp.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.floats import Array

PIECE = 16  # bytes; a swizzle moves whole pieces
SPANS = (0, 32, 64, 128)  # bytes; 0 means no swizzle


def swizzled(address: Array, span: int) -> Array:
    """Apply the swizzle with a span of `span` bytes to shared-memory addresses. The swizzle is its
    own inverse.

    address: of any integer type, relative to the start of the block's shared memory.
    """
    if not span:
        return address
    kind = address.dtype.type
    line = (address >> kind(7)) & kind(span // PIECE - 1)
    swapped: Array = address ^ (line << kind(4))
    return swapped


# -- matrix descriptors --------------------------------------------------------------------------
DEPTH = 2 * PIECE  # bytes along K that an instruction reads, whatever the element type
_BY_MODE = (0, 128, 64, 32)  # span in bytes for each swizzle mode; 0 means no swizzle


class Descriptor(NamedTuple):
    """The fields of a matrix descriptor: its start, leading and stride offsets in bytes; its base
    offset; and the span of its swizzle in bytes, or 0."""

    start: int
    leading: int
    stride: int
    base: int
    span: int


def decode(word: int) -> Descriptor:
    start, leading, stride = ((word >> at & 0x3FFF) * PIECE for at in (0, 16, 32))
    return Descriptor(start, leading, stride, word >> 49 & 7, _BY_MODE[word >> 62 & 3])


@functools.lru_cache(maxsize=1 << 14)
def pieces(word: int, rows: int, across: bool) -> Array:
    """Return the addresses of a tile's 16-byte pieces, as an array of shape (rows, 2).

    across: True if the elements along M or N, not along K, are contiguous; elements then have 16
    bits, and the shape is (rows / 8, 16), with K along the second mode.
    """
    d = decode(word)
    span = d.span or PIECE
    wide = span // PIECE
    if across:
        unit, k = np.ogrid[: rows // 8, :16]
        if wide == 1:
            offsets = unit * d.stride + k % 8 * PIECE + k // 8 * d.leading
        else:
            offsets = unit % wide * PIECE + unit // wide * d.leading
            offsets = offsets + k % 8 * span + k // 8 * d.stride
    else:
        row, half = np.ogrid[:rows, :2]
        offsets = row % 8 * span + row // 8 * d.stride
        offsets = offsets + half * (d.leading if wide == 1 else PIECE)
    return swizzled(d.start + offsets, d.span)
