"""Generate access patterns: one index per thread, -1 for an idle thread."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

Array = np.ndarray
OUT = -1


def random(seed: int, count: int, below: int, *, active: float = 1.0) -> Array:
    """Return random indices, which may repeat; each thread is active with probability `active`."""
    rng = np.random.Generator(np.random.PCG64(seed))
    index = rng.integers(0, below, count)
    return np.where(rng.random(count) < active, index, OUT).astype(np.int32)


def permutation(seed: int, count: int, below: int | None = None) -> Array:
    """Return distinct random indices."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return rng.permutation(below or count)[:count].astype(np.int32)


LANE = np.arange(32, dtype=np.int32)


def only(lanes: Iterable[int], index: Array = LANE) -> Array:
    """Keep `index` for the lanes in `lanes`; the other lanes are idle."""
    return np.where(np.isin(LANE, list(lanes)), index, OUT).astype(np.int32)


_SCALAR = {  # 32 bits: 32 units per row of banks
    "ones": LANE,  # conflict-free
    "stride2": LANE * 2,  # two-way
    "stride3": LANE * 3,  # odd: conflict-free
    "stride32": LANE * 32,  # 32-way
    "stride33": LANE * 33,  # a column of a padded tile
    "broadcast": LANE * 0,
    "pairs": LANE // 2,  # two lanes request each word
    "three_rows": LANE % 3 * 32,  # three words of one bank, each requested by many lanes
    "three_lanes": only((0, 13, 31), LANE * 32),  # one bank, three lanes
}
_HALF = {  # 16 bits: two units per word
    "ones": LANE,
    "stride2": LANE * 2,
    "stride3": LANE * 3,
    "stride64": LANE * 64,  # 32-way
    "one_word": LANE % 2,
    "low_high": LANE // 2 * 64 + LANE % 2,  # 16 words of one bank, each with two halves
}
_BYTE = {"ones": LANE, "stride4": LANE * 4, "stride128": LANE * 128}
_DOUBLE = {  # 64 bits: 16 units per row of banks
    "ones": LANE,
    "reversed": LANE[::-1].copy(),
    "stride2": LANE * 2,  # two-way inside a half-warp
    "stride16": LANE * 16,  # 16-way inside a half-warp
    "stride17": LANE * 17,  # odd: conflict-free
    "broadcast": LANE * 0,
    "equal_halves": LANE % 16,  # both halves read the same 16 units
    "pairs": LANE // 2,  # 16 distinct units, one per pair of neighbours
    "quads": LANE // 4,  # 8 distinct units
    "two_units": LANE // 16 * 16,  # a broadcast inside each half, same banks
    "two_banks": LANE // 16 * 17,  # a broadcast inside each half, other banks
    "mixed_halves": LANE % 2 * 16 + LANE // 2,  # conflicts inside halves, none between good pairs
    "even_lanes": only(range(0, 32, 2)),
    "even_packed": only(range(0, 32, 2), LANE // 2),  # 16 lanes on 16 units, 8 from each half
    "first_half": only(range(16)),
    "three_lanes": only((0, 9, 30)),
    "three_conflicts": only((0, 9, 30), LANE * 16),
    "cross_halves": only((3, 20), LANE * 16),  # one bank, with one lane in each half
}
_QUAD = {  # 128 bits: 8 units per row of banks
    "ones": LANE,
    "reversed": LANE[::-1].copy(),
    "stride2": LANE * 2,  # two-way inside a quarter-warp
    "stride4": LANE * 4,
    "stride5": LANE * 5,  # odd: conflict-free
    "stride8": LANE * 8,  # 8-way inside a quarter-warp
    "broadcast": LANE * 0,
    "quarters": LANE // 8,  # a broadcast inside each quarter, other banks
    "quarter_rows": LANE // 8 * 8,  # a broadcast inside each quarter, same banks
    "equal_quarters": LANE % 8,  # all quarters read the same 8 units
    "equal_halves": LANE % 16,
    "pairs": LANE // 2,
    "quads": LANE // 4,
    "mixed_quarters": LANE % 4 * 8 + LANE // 4,  # conflicts inside quarters
    "mixed_halves": LANE % 2 * 8 + LANE // 2,
    "even_lanes": only(range(0, 32, 2)),
    "odd_lanes": only(range(1, 32, 2)),
    "one_in_four": only(range(0, 32, 4), LANE // 4),  # 8 lanes on 8 units, 2 from each quarter
    "first_half": only(range(16)),
    "one_lane": only((5,)),
    "three_lanes": only((0, 9, 30)),
    "three_conflicts": only((0, 9, 30), LANE * 8),
    "three_in_quarter": only((8, 11, 13), LANE * 8),
    "cross_quarters": only((3, 12), LANE * 8),  # one bank, with one lane in each of two quarters
}

# Shared-memory access patterns of a warp, in units of the access: bits -> name -> index.
OF_WARP = {8: _BYTE, 16: _HALF, 32: _SCALAR, 64: _DOUBLE, 128: _QUAD}
