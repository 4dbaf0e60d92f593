"""Shared-memory banks of offsets, and the conflicts of a warp that reads along a layout.

32 banks of 4 bytes: the byte address over 4, modulo 32. Lanes that need different words of one bank
are served one after another; lanes that need the same word, together. Loads wider than 4 bytes are
served in groups of lanes that need 128 bytes together. (CUDA C++ Programming Guide, shared memory.)
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from forgekit.errors import brief, usage_error
from forgekit.viz.layouts.reading import Array

BANKS, BANK_BITS = 32, 32
_WARP, _SERVED_BITS = 32, 1024
_WIDTHS = (4, 8, 16, 32, 64, 128)


def element_width(element_bits: Any, dtype: str | None) -> int:
    """The element's width: as given, else a tensor's own, else 32 bits."""
    if element_bits is None:
        digits = "".join(c for c in (dtype or "f32").partition("E")[0] if c.isdigit())
        element_bits = int(digits) if digits and int(digits) in _WIDTHS else 32
    if element_bits not in _WIDTHS or isinstance(element_bits, bool):
        remedy = "16 for Float16 and BFloat16, 32 for Float32"
        needed = "one of " + ", ".join(map(str, _WIDTHS))
        raise usage_error("element_bits", brief(element_bits), needed, remedy)
    return int(element_bits)


def bank_of(offset: int, element_bits: int) -> int:
    """The bank of an element's first byte."""
    return offset * element_bits // BANK_BITS % BANKS


def conflict_ways(offsets: Array, element_bits: int) -> int:
    """The most words of one bank that a group of lanes needs, lane i reading element i; 1 is best.

    More than 32 elements are read by a warp after another.
    """
    lanes = max(min(_WARP, _SERVED_BITS // element_bits), 1)
    each = max(element_bits // BANK_BITS, 1)  # words of an element
    worst = 1
    for warp in range(0, len(offsets), _WARP):
        of_warp = offsets[warp : warp + _WARP]
        for start in range(0, len(of_warp), lanes):
            first = of_warp[start : start + lanes] * element_bits // BANK_BITS
            words = np.unique((first[:, None] + np.arange(each)).reshape(-1))
            worst = max(worst, *Counter((words % BANKS).tolist()).values())
    return worst


def worst_ways(table: Array, element_bits: int) -> tuple[int, int]:
    """The most `conflict_ways` of a warp that reads a row of the table, and a column."""
    row, column = (max(conflict_ways(line, element_bits) for line in t) for t in (table, table.T))
    return row, column


def describe_ways(ways: int) -> str:
    return "no conflict" if ways == 1 else f"{ways}-way conflict"
