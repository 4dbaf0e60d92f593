"""Who is ordered after whom within a team (a block, or a cluster): vector clocks of warps.

Each warp counts epochs; a barrier that it reaches starts a new one. `vectors[t, w, v]` is the
number of epochs of warp v that are over for everything warp w does from now on, because a barrier
lay in between (Fidge 1988, Mattern 1988). Where a kernel starts asynchronous operations, those of
warp v are counted too, as a warp of their own with the number n + v of n warps: they are over for
those who learn of their arrival only, which the warp itself is not by starting them.

Arrays are replaced, never changed, so that a reference to them is a snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from forgekit.vgpu.machine import WARP
from forgekit.vgpu.sanitizer.lanes import PartSync, lanes_ordered

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.sanitizer.shadow import Touch


_EVERYONE = -1  # the number of a barrier that the program has not


class Snapshot(NamedTuple):
    """epoch: (teams, counted); vectors: (teams, warps, counted), or None where nobody knows any.

    counted: the warps, and behind them their asynchronous operations if there are any; part_syncs:
    of parts of warps, so far.
    """

    epoch: Array
    vectors: Array | None
    part_syncs: Sequence[PartSync] = ()


class WarpClocks:
    """The clocks of a batch of blocks, `team` of which belong together."""

    def __init__(self, n_blocks: int, n_warps: int, team: int = 1, engines: bool = False) -> None:
        self.team_warps = team * n_warps
        self._split = (n_blocks // team, team, n_warps)
        counted = self.team_warps * (2 if engines else 1)
        self._start = Snapshot(np.zeros((n_blocks // team, counted), np.int32), None)
        self.now = self._start
        self._part_syncs: list[PartSync] = []
        self._arrived: dict[int, Array] = {}  # barrier -> what those that have arrived know

    def restart(self) -> None:
        """Everybody has met: nothing before needs to be known any more."""
        self.now = self._start
        self._part_syncs = []
        self._arrived.clear()

    def everyone(self, warps: Array) -> None:
        """Everybody has met, and what was before is still remembered somewhere."""
        self.arrive(_EVERYONE, warps)
        self.open(_EVERYONE, warps)

    def all_known(self) -> bool:
        """Whether somebody in each team knows of all its asynchronous operations."""
        epoch, vectors, _ = self.now
        started = epoch[:, self.team_warps :]
        if vectors is None:
            return not started.any()
        return bool((vectors[:, :, self.team_warps :].max(axis=1) >= started).all())

    # -- what a warp can tell, what it learns ---------------------------------------------------
    def vectors(self) -> Array:
        epoch, vectors, _ = self.now
        if vectors is not None:
            return vectors
        return np.zeros((len(epoch), self.team_warps, epoch.shape[1]), np.int32)

    def own(self) -> Array:
        """(teams, warps, counted): what is over for those whom each warp tells now."""
        own = self.vectors().copy()
        every = np.arange(self.team_warps)
        own[:, every, every] = self.now.epoch[:, : self.team_warps] + 1
        return own

    def tick(self, warps: Array) -> None:
        """A new epoch of these warps, booleans: they have told of the one before."""
        epoch = self.now.epoch.copy()
        epoch[:, : self.team_warps] += warps.reshape(len(epoch), -1)
        self.now = self.now._replace(epoch=epoch)

    def replace(self, vectors: Array) -> None:
        """What the warps know from now on."""
        self.now = self.now._replace(vectors=vectors)

    def start_async(self, team: Array, warp: Array) -> Array:
        """Asynchronous operations of these warps of these teams start; their epochs."""
        epoch = self.now.epoch.copy()
        number = epoch[team, self.team_warps + warp]
        epoch[team, self.team_warps + warp] = number + 1
        self.now = self.now._replace(epoch=epoch)
        return number

    # -- barriers of a warp and of a block ------------------------------------------------------
    def warp_sync(self, warps: Array, met: Array | None = None) -> None:
        """The lanes of these warps, booleans (blocks, warps), have met; in parts: see PartSync."""
        if met is not None:
            self._part_syncs.append(PartSync(self.now.epoch, met))
            self.now = self.now._replace(part_syncs=self._part_syncs)
        self.tick(warps)

    def arrive(self, number: int, warps: Array) -> None:
        """These warps have arrived at a barrier: what they did so far is over for who passes it."""
        own, vectors = self.own(), self.vectors()
        some = warps.reshape(len(own), -1)
        told = np.where(some[:, :, None], own, 0)
        brought = told.reshape(*self._split, -1).max(axis=2)  # (teams, blocks of a team, counted)
        if number in self._arrived:
            brought = np.maximum(self._arrived[number], brought)
        self._arrived[number] = brought
        self.tick(warps)
        self.replace(vectors)

    def open(self, number: int, warps: Array) -> None:
        """A barrier has opened for these warps."""
        brought = self._arrived.get(number)
        vectors = self.now.vectors
        if brought is None or vectors is None:
            return
        some = warps.reshape(len(vectors), -1)
        news = np.repeat(brought, self._split[2], axis=1)
        self.replace(np.where(some[:, :, None], np.maximum(vectors, news), vectors))
        blocks = np.asarray(warps.reshape(self._split).any(axis=2))
        self._arrived[number] = np.where(blocks[:, :, None], 0, brought)


def in_block_order(
    earlier: Touch, first: Array, later: Touch, second: Array, n_warps: int, engine: Array
) -> Array:
    """Whether an access of thread `first` is over before one of thread `second`.

    Threads are numbered over the batch; each pair belongs to one team of `n_warps`. engine: whether
    the first is that of an asynchronous operation of the thread.
    """
    (team, place), mine = np.divmod(first // WARP, n_warps), second // WARP % n_warps
    same = (place == mine) & ~engine
    began = earlier.clock.epoch[team, place + n_warps * engine]
    now = later.clock.epoch[team, mine]
    result = same & (now > began)
    if later.clock.part_syncs and result.any():
        threads = first[result], second[result]
        result[result] = lanes_ordered(
            later.clock.part_syncs, threads, began[result], now[result], n_warps
        )
    if later.clock.vectors is not None:
        result |= ~same & (later.clock.vectors[team, mine, place + n_warps * engine] > began)
    return np.asarray(result)
