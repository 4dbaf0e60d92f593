"""Order within a warp whose lanes sync in parts: `sync_warp(mask)` orders the lanes of its mask.

Elsewhere a new epoch of a warp orders all its lanes. Only a sync of fewer lanes is written down,
and asked about when two lanes of one warp touch the same memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import WARP, Machine, pack_lanes

_BITS = np.arange(WARP, dtype=np.uint32)


def names_everyone(members: Array | None) -> bool:
    """Whether a member mask is the constant -1."""
    return members is None or bool(members.size == 1 and members.flat[0] == 0xFFFFFFFF)


class PartSync(NamedTuple):
    """Some lanes of some warps have met.

    epoch: (teams, counted), those that end with it; met: (warps of the batch, 32), with which lanes
    each lane has met, as bits; 0: it was not there.
    """

    epoch: Array
    met: Array


def meeting(m: Machine, members: Array | None) -> Array | None:
    """`met` of a PartSync for the lanes that run; None if all living lanes of their warps meet."""
    if members is None or names_everyone(members):
        return None
    lanes = m.lanes(m.mask)
    named = np.broadcast_to(members, m.shape).reshape(lanes.shape)
    met = np.where(lanes, named & pack_lanes(lanes)[:, None], np.uint32(0))
    everyone = pack_lanes(m.lanes(m.alive))[:, None]
    return met if (lanes & (met != everyone)).any() else None


def lanes_ordered(
    syncs: Sequence[PartSync], threads: tuple[Array, Array], began: Array, now: Array, team: int
) -> Array:
    """Whether what the first thread did in epoch `began` is over for the second, of the same warp,
    in the later epoch `now`.

    threads: numbers in the batch; team: warps of a team.
    """
    first, asked = np.unique(threads[0], return_inverse=True)
    asked = asked.reshape(-1)
    begin, end = np.zeros(len(first), now.dtype), np.zeros(len(first), now.dtype)
    begin[asked], end[asked] = began, now  # the same for all that ask of one thread
    warp = first // WARP
    at = np.divmod(warp, team)
    joined = np.uint32(1) << (first % WARP).astype(np.uint32)  # the lanes for which it is over
    parts = np.zeros(len(first), now.dtype)
    for sync in _since(syncs, at, begin):
        epoch, met = sync.epoch[at], sync.met[warp]
        here = (begin <= epoch) & (epoch < end) & met.any(axis=1)
        parts += here
        released = np.where(joined[:, None] >> _BITS & np.uint32(1), met, np.uint32(0))
        joined |= np.where(here, np.bitwise_or.reduce(released, axis=1), np.uint32(0))
    by_all = parts < end - begin  # an epoch between ended for the whole warp
    lane = (threads[1] % WARP).astype(np.uint32)
    return np.asarray(by_all[asked] | (joined[asked] >> lane & np.uint32(1)).astype(bool))


def _since(syncs: Sequence[PartSync], at: tuple[Array, Array], begin: Array) -> list[PartSync]:
    """The syncs from the first that may count, in their order."""
    first = len(syncs)
    while first and (syncs[first - 1].epoch[at] >= begin).any():
        first -= 1
    return list(syncs[first:])
