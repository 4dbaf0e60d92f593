"""Measure how much data blocks share: count the sectors of global memory that some blocks touch,
individually and together.

    sharing = recording.read(Sharing)
    sharing.launches[0].loads.of_each

The L1 cache serves a block's repeated reads, the L2 cache serves reads that concurrent blocks
share, and device memory serves all other reads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.counters.rules import SECTOR_BYTES
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Access, Listener
from forgekit.vgpu.memory import WINDOW_SHIFT
from forgekit.vgpu.sampling import NEIGHBOURS

_SPREAD = 16  # number of blocks to observe if all run
_PENDING = 1 << 21  # number of sectors to collect before equal sectors are merged
_ROW, _WARP = 40, 5  # widths of a sector's and of a warp's number, in bits
_WAYS = {"load": "loads", "async load": "loads", "store": "stores", "atomic": "atomics"}


@dataclass
class Sectors:
    """The sectors that accesses of one kind touch.

    of_each: the number of distinct sectors that each observed block touches, summed over these
    blocks; together: the number of distinct sectors that these blocks touch in total. near_each,
    near_together: the same numbers for neighbouring blocks.
    """

    of_each: int = 0
    together: int = 0
    near_each: int = 0
    near_together: int = 0


@dataclass
class Shared:
    """The counts of a launch.

    blocks: the number of observed blocks, of the launch's n_blocks; instructions: warp instructions
    of each observed block. warp_loads: the number of distinct sectors that a warp loads, summed
    over all warps.
    """

    n_blocks: int
    blocks: int = 0
    instructions: list[float] = field(default_factory=list)
    warp_loads: int = 0
    loads: Sectors = field(default_factory=Sectors)
    stores: Sectors = field(default_factory=Sectors)
    atomics: Sectors = field(default_factory=Sectors)


class Sharing(Listener):
    """Observes some blocks of each launch: the sample's blocks or, if all blocks run, a few of
    them."""

    def __init__(self) -> None:
        self._done: list[_Launch] = []
        self._record: object = None

    @property
    def launches(self) -> list[Shared]:
        """Return the results so far, in the order of the launches."""
        return [launch.result() for launch in self._done]

    def on_batch(self, m: Batch) -> None:
        if self._record is not m.record:
            self._record = m.record
            self._done.append(_Launch(math.prod(m.record.grid)))
        self._done[-1].start(m)

    def on_run(self, m: Batch, start: int, stop: int, mask: Array | None) -> None:
        launch = self._done[-1]
        if len(launch.rows):
            launch.instructions += launch.warps(m, mask) * (stop - start)

    def on_access(self, m: Batch, access: Access) -> None:
        launch = self._done[-1]
        way = _WAYS.get(access.kind)
        if way is None or not len(launch.rows) or access.space not in ("global", "generic"):
            return
        address = np.broadcast_to(access.address, m.shape)[launch.rows].astype(np.int64)
        there = None if access.mask is None else m.expand(access.mask)[launch.rows]
        if access.space == "generic":
            of_global = address >> WINDOW_SHIFT == 0
            there = of_global if there is None else there & of_global
        warp = np.arange(m.n_threads) // 32
        row = (np.arange(len(launch.rows))[:, None] << _WARP) | warp
        launch.add(way, row, address // SECTOR_BYTES, there)

    def on_async_start(self, m: Batch, operation: Any) -> None:
        launch = self._done[-1]
        for kind, run in operation.runs():
            block = operation.who[run.of] // m.n_threads
            position = {int(b): k for k, b in enumerate(launch.rows)}
            for b, first, size in zip(block, run.start, run.size, strict=True):
                if int(b) in position and kind in _WAYS:
                    begin = run.allocation.address + int(first)
                    sectors = np.arange(
                        begin // SECTOR_BYTES, -(-(begin + int(size)) // SECTOR_BYTES)
                    )
                    launch.add(_WAYS[kind], np.array([position[int(b)] << _WARP]), sectors)


class _Launch:
    """The counts of a running launch, as pairs of an observed block and a sector that it
    touches."""

    def __init__(self, n_blocks: int) -> None:
        self.n_blocks = n_blocks
        spread = np.linspace(0, n_blocks - 1, min(_SPREAD, n_blocks)).astype(int)
        first = max((n_blocks - NEIGHBOURS) // 2, 0)
        self._wanted = set(spread.tolist()), set(range(first, min(first + NEIGHBOURS, n_blocks)))
        self._pairs: dict[str, list[Array]] = {}  # maps a value of _WAYS to pairs
        self._shared = Shared(n_blocks)
        self._found: dict[tuple[str, str], list[Any]] = {}
        self._groups: dict[str, Array] = {}
        self._warps: dict[int, tuple[Array | None, Array]] = {}  # by the id of a mask of this batch
        self.rows, self.instructions = np.zeros(0, int), np.zeros(0)

    def start(self, m: Batch) -> None:
        """Count the previous batch, and begin this one."""
        self._end()
        if m.part is not None and m.part.name != "all":
            self.rows = np.arange(m.n_blocks)
            spread = np.full(m.n_blocks, m.part.name != "neighbours")
            near = ~spread
        else:
            is_spread, is_near = ([b in w for b in m.blocks] for w in self._wanted)
            self.rows = np.flatnonzero(np.array(is_spread) | np.array(is_near))
            spread, near = np.array(is_spread)[self.rows], np.array(is_near)[self.rows]
        self._groups = {"spread": spread, "near": near}
        self.instructions = np.zeros(len(self.rows))
        self._warps = {}

    def warps(self, m: Batch, mask: Array | None) -> Array:
        """Return the number of warps with a lane in the mask, per observed block. The result is
        cached, because a batch has few distinct masks."""
        found = self._warps.get(id(mask))
        if found is None:
            lanes = m.expand(mask)[self.rows]
            busy = lanes.reshape(len(lanes), -1, 32).any(axis=2).sum(axis=1)
            found = self._warps[id(mask)] = mask, busy  # storing the mask keeps its id unique
        return found[1]

    def add(self, way: str, row: Array, sector: Array, there: Array | None = None) -> None:
        """Record the sectors that warps touch.

        row: a position in `rows` and the number of a warp, packed into one integer; there: a mask
        of the threads that touch their sector.
        """
        pairs = (row << _ROW) | (sector & ((1 << _ROW) - 1))
        pairs = pairs.ravel() if there is None else pairs[there]
        changes = np.flatnonzero(pairs[1:] != pairs[:-1]) + 1  # many are duplicates
        kept = self._pairs.setdefault(way, [])
        kept.append(np.concatenate((pairs[:1], pairs[changes])))
        if len(kept) > 1 and sum(map(len, kept)) > max(_PENDING, 2 * len(kept[0])):
            kept[:] = [np.unique(np.concatenate(kept))]

    def _end(self) -> None:
        """Count the sectors of the batch's blocks."""
        for way, kept in self._pairs.items():
            pairs = np.unique(np.concatenate(kept))
            if way == "loads":
                of_spread = self._groups["spread"][pairs >> (_ROW + _WARP)]
                self._shared.warp_loads += int(of_spread.sum())
            row, sector = pairs >> (_ROW + _WARP), pairs & ((1 << _ROW) - 1)
            pairs = np.unique((row << _ROW) | sector)
            row, sector = pairs >> _ROW, pairs & ((1 << _ROW) - 1)
            for name, mine in self._groups.items():
                there = mine[row]
                count, sets = self._found.setdefault((way, name), [0, []])
                self._found[way, name][0] = count + int(there.sum())
                sets.append(np.unique(sector[there]))
        self._pairs = {}
        if len(self.rows):
            spread = self._groups["spread"]
            self._shared.blocks += int(spread.sum())
            self._shared.instructions += self.instructions[spread].tolist()
        self.rows = np.zeros(0, int)

    def result(self) -> Shared:
        self._end()
        for (way, name), (count, sets) in self._found.items():
            sectors: Sectors = getattr(self._shared, way)
            together = len(np.unique(np.concatenate(sets)))
            if name == "spread":
                sectors.of_each, sectors.together = count, together
            else:
                sectors.near_each, sectors.near_together = count, together
        return self._shared
