"""Compute the cost of a warp's access, in 32-byte sectors of global memory or in wavefronts of
shared memory.

The rules are those of an NVIDIA H200, derived from 399 kernels measured with Nsight Compute
(tests/profiling/golden). Each function receives the addresses of the lanes of n warps, as
nonnegative int64 of shape (n, 32); `active`, a mask of the active lanes, of the same shape; and
`width`, the bytes per lane, a divisor of the addresses. It returns the units and the minimum number
of units of each warp. The functions apply the rules to every lane. They are fast enough only
because they are called for only a few distinct warps (see `warps.py`).
"""

from __future__ import annotations

import numpy as np

from forgekit.vgpu.floats import Array

LANES = 32
SECTOR_BYTES = 32  # the unit of L1's requests to L2
BANKS, BANK_BYTES = 32, 4
ROW_BYTES = BANKS * BANK_BYTES  # one word from each bank; also the size of a cache line

Cost = tuple[Array, Array]

_NOBODY = np.int64(-1)  # less than every address


# -- global memory ----------------------------------------------------------------------------
def sectors(rows: Array, active: Array, width: int) -> Cost:
    """Count, for loads and stores, the distinct 32-byte sectors that the active lanes access.

    The ideal is the minimum number of sectors that can contain the distinct requested bytes.
    """
    return _distinct(np.where(active, rows // SECTOR_BYTES, _NOBODY)), _least(rows, active, width)


def atomic_sectors(rows: Array, active: Array, width: int) -> Cost:
    """Count sectors for atomics. Each sector counts once per lane that requests the sector's most
    requested address."""
    n = len(rows)
    ordered = np.sort(np.where(active, rows, _NOBODY), axis=1)
    place = np.arange(LANES)
    starts = np.ones((n, LANES), bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    nth = place - np.maximum.accumulate(np.where(starts, place, 0), axis=1) + 1
    nth[ordered == _NOBODY] = 0
    sector = ordered // SECTOR_BYTES
    starts[:, 1:] = sector[:, 1:] != sector[:, :-1]
    most = np.maximum.reduceat(nth.reshape(-1), np.flatnonzero(starts))
    row = np.repeat(np.arange(n), np.count_nonzero(starts, axis=1))
    passes = np.bincount(row, weights=most, minlength=n).astype(np.int64)
    return passes, _least(rows, active, width)


def _least(rows: Array, active: Array, width: int) -> Array:
    return -(-_distinct(np.where(active, rows, _NOBODY)) * width // SECTOR_BYTES)


# -- shared memory ----------------------------------------------------------------------------
def wavefronts(rows: Array, active: Array, width: int, kind: str = "load") -> Cost:
    """Return the cost of a load, store or atomic, according to `kind`."""
    rule = {"load": load_wavefronts, "store": store_wavefronts, "atomic": atomic_wavefronts}
    return rule[kind](rows, active, width)


def load_parts(rows: Array, active: Array, width: int) -> Array:
    """Return the number of equal parts of each warp that are served one after the other in a load.

    64-bit loads are served by half-warps, 128-bit loads by quarter-warps. The parts are twice as
    large (whole warps or half-warps) if, for every active lane i, lane i^1 is inactive or has the
    same address, or if this is true of lane i^2.
    """
    parts = max(width // BANK_BYTES, 1)
    if parts == 1:
        return np.ones(len(rows), np.int64)
    merges = np.zeros(len(rows), bool)
    for step in (1, 2):
        other = np.arange(LANES) ^ step
        equal = (rows == rows[:, other]) | ~active | ~active[:, other]
        merges |= equal.all(axis=1)
    return np.where(merges, parts // 2, parts)


def load_wavefronts(rows: Array, active: Array, width: int) -> Cost:
    """Count the wavefronts of loads, as for stores, but with the parts from `load_parts`."""
    split = store_wavefronts(rows, active, width)
    most = max(width // BANK_BYTES, 1)
    merges = load_parts(rows, active, width) < most
    if not merges.any():
        return split
    merged = _served(rows, active, width, most // 2)
    return np.where(merges, merged[0], split[0]), np.where(merges, merged[1], split[1])


def store_wavefronts(rows: Array, active: Array, width: int) -> Cost:
    """Count the wavefronts of stores. A wavefront serves one word from each of the 32 banks, for
    all lanes that request that word. 64-bit requests are served by half-warps, 128-bit requests by
    quarter-warps.

    The ideal is one wavefront per part with an active lane; ncu counts bank conflicts relative to
    this number.
    """
    return _served(rows, active, width, max(width // BANK_BYTES, 1))


def atomic_wavefronts(rows: Array, active: Array, width: int) -> Cost:
    """Count the wavefronts of atomics. A wavefront serves one lane per bank."""
    return _served(rows, active, width, max(width // BANK_BYTES, 1), words_shared=False)


def _served(
    rows: Array, active: Array, width: int, parts: int, *, words_shared: bool = True
) -> Cost:
    """Count wavefronts if `parts` equal parts of each warp are served one after the other."""
    units = np.zeros(len(rows), np.int64)
    ideal = np.zeros(len(rows), np.int64)
    for lanes in np.split(np.arange(LANES), parts):
        there = active[:, lanes]
        units += fullest_bank(rows[:, lanes], there, width, words_shared=words_shared)
        ideal += there.any(axis=1)
    return units, ideal


def fullest_bank(rows: Array, active: Array, width: int, *, words_shared: bool = True) -> Array:
    """Return each warp's maximum number of words per bank.

    words_shared: count a word once even if several lanes request it.
    """
    count = max(width // BANK_BYTES, 1)
    words = (rows[..., None] // BANK_BYTES + np.arange(count)).reshape(len(rows), -1)
    words = np.where(np.repeat(active, count, axis=1), words, _NOBODY)
    wanted = words != _NOBODY
    if words_shared:
        words = np.sort(words, axis=1)
        wanted = words != _NOBODY
        wanted[:, 1:] &= words[:, 1:] != words[:, :-1]
    place = np.arange(len(rows))[:, None] * BANKS + words % BANKS
    return np.bincount(place[wanted], minlength=len(rows) * BANKS).reshape(-1, BANKS).max(axis=1)


# -- cp.async -----------------------------------------------------------------------------------
def through_l1(source: Array, target: Array, active: Array, width: int) -> tuple[Cost, Cost]:
    """Return the costs of `cp.async.ca` in global and in shared memory. Sectors are counted as for
    a load. A warp is served in parts that copy 128 bytes, one after the other. A wavefront serves
    one lane per bank of the source and the target.

    The number of wavefronts is a minimum. An H200 needs exactly this number for all regular
    patterns, and up to two thirds more if both source and target are randomly scattered.
    """
    units = np.zeros(len(source), np.int64)
    ideal = np.zeros(len(source), np.int64)
    for lanes in np.split(np.arange(LANES), max(width // BANK_BYTES, 1)):
        there = active[:, lanes]
        sides = [
            fullest_bank(side[:, lanes], there, width, words_shared=False)
            for side in (source, target)
        ]
        units += np.maximum(*sides)
        ideal += there.any(axis=1)
    return sectors(source, active, width), (units, ideal)


def past_l1(source: Array, target: Array, active: Array, width: int) -> tuple[Cost, Cost]:
    """Return the costs of `cp.async.cg`, with 16 bytes per lane, in global and in shared memory.

    A sector is fetched once per aligned 32 bytes of its destination in shared memory, and twice if
    its halves are swapped or only one of them is copied. A wavefront carries data from one 128-byte
    line to one row of banks: whole sectors in any arrangement, but half sectors only if their
    distances from source to destination are equal.
    """
    half, shift = source // width % 2, (source ^ target) // width % 2
    sector, chunk = source // SECTOR_BYTES, target // SECTOR_BYTES
    same = _equal(active, sector, chunk, shift)
    halves = [(same & (half == h)[:, None, :]).any(axis=2) for h in (0, 1)]
    whole = halves[0] & halves[1]
    by_parts = [np.where(whole, 0, f) for f in (chunk - sector, shift, halves[0])]
    together = _equal(active, source // ROW_BYTES, target // ROW_BYTES, whole, *by_parts)
    lanes = np.count_nonzero(active, axis=1)
    return (
        (_firsts(same, active), _least(source, active, width)),
        (_firsts(together, active), -(-lanes * width // ROW_BYTES)),
    )


def _equal(active: Array, *fields: Array) -> Array:
    """Return a mask, of shape (n, 32, 32), of the pairs of a warp's active lanes whose fields are
    all equal."""
    result = active[:, :, None] & active[:, None, :]
    for field in fields:
        result &= field[:, :, None] == field[:, None, :]
    return result


def _firsts(same: Array, active: Array) -> Array:
    """Return each warp's number of distinct lanes: those that differ from all lanes before them."""
    before = np.tril(np.ones((LANES, LANES), bool), -1)
    return np.count_nonzero(active & ~(same & before).any(axis=2), axis=1)


def _distinct(values: Array) -> Array:
    """Return the number of distinct values in each row, excluding `_NOBODY`."""
    ordered = np.sort(values, axis=1)
    changes = np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
    return changes + 1 - (ordered[:, 0] == _NOBODY)
