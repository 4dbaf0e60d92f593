"""Order through memory: atomic, volatile, acquire and release accesses, with which locks, flags and
counters are made.

What a warp did, or knows through a barrier to be done, is over for every warp that makes such an
access after it makes one itself, and for those that learn of that through a barrier. Which address
they meet at is not compared, so that a correct protocol is never reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from forgekit.vgpu.sanitizer.shadow import ATOMIC

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.sanitizer.clocks import Snapshot
    from forgekit.vgpu.sanitizer.shadow import Touch

_NEVER = -1


class _SyncAccess(NamedTuple):
    """Warps that make such an access at once. They are served in order of their numbers."""

    time: int
    warps: frozenset[int]  # numbered over the grid
    first_team: int  # of the batch
    clock: Snapshot


class SyncHistory:
    """The accesses of a launch that order others.

    time: counts the launch's accesses; warps_a_team: warps of a block, or of a cluster.
    """

    def __init__(self, warps_a_team: int) -> None:
        self.time = 0
        self.warps_a_team = warps_a_team
        self._of_team: dict[int, list[_SyncAccess]] = {}
        self._new: list[_SyncAccess] = []

    def add(self, warps: Array, first_team: int, clock: Snapshot) -> None:
        """These warps, of a batch that begins with team `first_team`, make such an access."""
        self._new.append(_SyncAccess(self.time, frozenset(warps.tolist()), first_team, clock))

    def ordered(
        self, first: Array, earlier: Touch, second: Array, later: Touch, engine: Array
    ) -> Array:
        """Whether the earlier touch by warps `first` is over for the later one by `second`.

        engine: whether it is the touch of an asynchronous operation of the warp.
        """
        result = np.zeros(len(first), bool)
        for access in self._new:
            for team in {w // self.warps_a_team for w in access.warps}:
                self._of_team.setdefault(team, []).append(access)
        self._new = []
        if not self._of_team or not len(first):
            return result
        pairs, which = np.unique(np.stack([first, second, engine]), axis=1, return_inverse=True)
        for i, (a, b, flying) in enumerate(pairs.T.tolist()):
            released = self._released(a, earlier, bool(flying))
            if released is not None and released < self._acquired(b, later):
                result |= which.reshape(-1) == i
        return result

    def _released(self, warp: int, touch: Touch, engine: bool) -> tuple[int, int] | None:
        """When the touch of a warp was first made known: (time, place in the order served)."""
        team, mine = divmod(warp, self.warps_a_team)
        for access in self._of_team.get(team, []):
            # An atomic access is itself what makes it known.
            if access.time < touch.time + (touch.what != ATOMIC):
                continue
            local = team - access.first_team
            place = mine + self.warps_a_team * engine
            began = touch.clock.epoch[local, place]
            for w in sorted(access.warps):
                if w // self.warps_a_team != team:
                    continue
                vectors = access.clock.vectors
                other = w % self.warps_a_team
                mine_too = w == warp and not engine
                if mine_too or (vectors is not None and vectors[local, other, place] > began):
                    return access.time, w
        return None

    def _acquired(self, warp: int, touch: Touch) -> tuple[int, int]:
        """When the touching warp has last learnt of others: (time, place in the order served)."""
        team, mine = divmod(warp, self.warps_a_team)
        for access in reversed(self._of_team.get(team, [])):
            if access.time >= touch.time:
                continue
            local = team - access.first_team
            for w in sorted(access.warps, reverse=True):
                if w // self.warps_a_team != team:
                    continue
                vectors, other = touch.clock.vectors, w % self.warps_a_team
                if w == warp or (
                    vectors is not None
                    and vectors[local, mine, other] > access.clock.epoch[local, other]
                ):
                    return access.time, w
        return _NEVER, _NEVER
