"""Reduce a batch's access to its distinct warps: address patterns and their frequencies.

Counting is cheap because warps are similar: relative to the address of the first active lane,
nearly all warps of an access have the same addresses. Sectors and wavefronts then depend only on
that lane's position within a sector or a row of banks, so a few residues represent thousands of
warps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from forgekit.vgpu.counters.rules import LANES
from forgekit.vgpu.floats import Array

_TRIES = 6  # maximum number of patterns; the remaining warps are counted individually

# The entry of an inactive lane in a pattern, which exceeds any distance between two lanes.
_IDLE: dict[int, Any] = {4: np.uint32(1 << 31), 8: np.uint64(1 << 63)}


class Alike(NamedTuple):
    """Warps with the same pattern.

    pattern: each lane's distance from the first active lane, with `_IDLE` for inactive lanes, as an
    array of shape (32,); bases: the addresses of the first active lanes, in an array of any shape;
    times: the number of warps that each base represents.
    """

    pattern: Array
    bases: Array
    times: int

    @property
    def active(self) -> Array:
        """Return a mask of the active lanes, with shape (32,)."""
        return self.pattern != _IDLE[self.pattern.itemsize]


class Unlike(NamedTuple):
    """Warps without a common pattern.

    rows: addresses, of shape (n, 32); active: a mask of the active lanes, of that shape; times: the
    number of warps that each row represents.
    """

    rows: Array
    active: Array
    times: int


def warps(address: Array, mask: Array | None, shape: tuple[int, int]) -> Iterator[Alike | Unlike]:
    """Group the warps of an access that have at least one active lane.

    address: unsigned addresses; mask: the active threads. The shapes of both broadcast to `shape`,
    (blocks, threads).
    """
    blocks, threads = shape
    if mask is not None and mask.size == 1:
        if not mask.flat[0]:
            return
        mask = None
    if mask is not None and mask.shape[1] == 1:  # each block is entirely active or inactive
        here = mask[:, 0]
        blocks = int(np.count_nonzero(here))
        if address.shape[0] > 1:
            address = address[here]
        mask = None
    if not blocks:
        return
    if address.shape[1] == 1 and mask is None:  # all lanes have the same address
        pattern = np.zeros(LANES, address.dtype)
        yield Alike(pattern, address, blocks // len(address) * (threads // LANES))
        return
    if mask is None or mask.shape[0] == 1:
        yield from _blocks(address, mask, blocks, threads)
        return
    alike = (mask == mask[0]).all(axis=1)
    rest = ~alike
    several = address.shape[0] > 1
    yield from _blocks(address[alike] if several else address, mask[:1],
                       int(np.count_nonzero(alike)), threads)  # fmt: skip
    if rest.any():
        there = mask[rest]
        spread = np.broadcast_to(address[rest] if several else address, there.shape)
        yield from _rows(spread.reshape(-1, LANES), there.reshape(-1, LANES), 1)


def _blocks(
    address: Array, mask: Array | None, blocks: int, threads: int
) -> Iterator[Alike | Unlike]:
    """Group the warps of `blocks` blocks with the same active threads.

    mask: the active threads, of shape (1, threads).
    """
    times = blocks // len(address)
    if address.shape[1] == 1:
        address = np.broadcast_to(address, (len(address), threads))
    one = 0 if mask is None else int(mask[0].argmax())  # the first active thread
    first = address[:, one : one + 1]
    relative = address - first
    active = None if mask is None else mask.reshape(-1, LANES)
    if len(address) > 1:
        like = relative == relative[0]
        if mask is not None:
            like |= ~mask
        if not like.all():
            rows = address.reshape(-1, LANES)
            if active is not None:
                active = np.tile(active, (len(address), 1))
            yield from _rows(rows, active, times)
            return
    # Relative to its first active thread's address, every block has the first block's addresses.
    rows = relative[0].reshape(-1, LANES)
    for group in _rows(rows, active, times):
        if isinstance(group, Alike):
            yield Alike(group.pattern, group.bases.reshape(-1) + first, times)
        else:
            rows = (group.rows[None] + first[..., None]).reshape(-1, LANES)
            yield Unlike(rows, np.tile(group.active, (len(first), 1)), times)


def _rows(rows: Array, active: Array | None, times: int) -> Iterator[Alike | Unlike]:
    """Group warps by pattern. rows: addresses, of shape (n, 32)."""
    if active is None or active.all():
        bases = rows[:, 0]
        relative = rows - bases[:, None]
    else:
        some = active.any(axis=1)
        if not some.all():
            rows, active = rows[some], active[some]
        bases = rows[np.arange(len(rows)), active.argmax(axis=1)]
        relative = np.where(active, rows - bases[:, None], _IDLE[rows.itemsize])
    for _ in range(_TRIES):
        if not len(relative):
            return
        same = relative == relative[0]
        if same.all():
            yield Alike(relative[0], bases, times)
            return
        alike = same.all(axis=1)
        yield Alike(relative[0], bases[alike], times)
        rest = ~alike
        relative, bases = relative[rest], bases[rest]
    active = relative != _IDLE[rows.itemsize]
    yield Unlike(np.where(active, relative, 0) + bases[:, None], active, times)
