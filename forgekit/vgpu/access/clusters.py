"""Compute addresses in the shared memory of all blocks of a cluster.

The upper bits of a `shared::cluster` address identify the block: rank + 1, or 0 for the thread's
own block, so every `shared::cta` address is also a `shared::cluster` address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from forgekit.vgpu.batch import Batch
    from forgekit.vgpu.floats import Array

RANK_SHIFT = 24  # a block's shared memory has less than 16 MiB
_OFFSET = (1 << RANK_SHIFT) - 1


def mapped(address: Array, rank: Array) -> Array:
    """Map an address to the same offset in the shared memory of the block with this rank."""
    kind = address.dtype.type
    whose = (rank.astype(address.dtype) + kind(1)) << kind(RANK_SHIFT)
    above = ~kind((1 << 32) - 1) if address.dtype.itemsize == 8 else kind(0)  # keep the window
    return (address & (above | kind(_OFFSET))) | whose


def split(m: Batch, address: Array) -> tuple[Array, Array]:
    """Return the ranks of the blocks to which `shared::cluster` addresses belong, and the addresses
    within the blocks' shared memory.

    For an address outside the cluster, the cluster has no block with the returned rank.
    """
    kind = address.dtype.type
    whose = ((address & kind(0xFFFFFFFF)) >> kind(RANK_SHIFT)).astype(np.int64)
    rank = np.where(whose == 0, own_rank(m), whose - 1)
    return rank, address & kind(_OFFSET)


def own_rank(m: Batch) -> Array:
    """Return each block's rank in its cluster, of shape (blocks, 1)."""
    return (np.arange(m.n_blocks, dtype=np.int64) % m.cluster_blocks)[:, None]


def row_of(m: Batch, rank: Array) -> Array:
    """Return, for each thread, the index in the batch of the block whose rank in the thread's
    cluster is `rank`."""
    rows = np.arange(m.n_blocks, dtype=np.int64)[:, None]
    return rows - rows % m.cluster_blocks + rank
