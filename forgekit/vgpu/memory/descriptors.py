"""Shared-memory descriptors of matrices: from their 64 bits to where each 16 bytes of a tile lie.

Fields: PTX ISA, "Matrix descriptor". Layouts: CUTLASS, include/cute/arch/mma_sm90_desc.hpp.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.memory.swizzles import PIECE, swizzled

DEPTH = 2 * PIECE  # bytes of K that an instruction multiplies, whatever the type
_SPANS = (0, 128, 64, 32)  # bytes of a swizzled row, by mode; 0: no swizzle


class Descriptor(NamedTuple):
    """start, leading, stride: bytes; span: bytes of a swizzled row, or 0; base: the base offset."""

    start: int
    leading: int
    stride: int
    base: int
    span: int


def decode(word: int) -> Descriptor:
    start, leading, stride = ((word >> at & 0x3FFF) * PIECE for at in (0, 16, 32))
    return Descriptor(start, leading, stride, word >> 49 & 7, _SPANS[word >> 62 & 3])


@functools.lru_cache(maxsize=1 << 14)
def pieces(word: int, rows: int, across: bool) -> Array:
    """Addresses of a tile's pieces of 16 bytes.

    across: neighbours in memory are neighbours along the rows (elements of 16 bits): shape
    (rows / 8, 16 of K); else along K: (rows, 2).
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
