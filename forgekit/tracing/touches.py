"""Record which threads touch which elements of a kernel's tensors.

touches = recorded(kernel, args).read(Touches)
touches.tensors["mY"].column("stores")
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from forgekit.errors import SourceLine
from forgekit.tracing.observe import Array, Launches
from forgekit.tracing.source_lines import LineChoice, is_meant
from forgekit.vgpu import Access, Moment

COLUMNS = {"load": "loads", "async load": "loads", "store": "stores", "atomic": "atomics"}


class TensorTouches:
    """The accesses to a tensor's elements; tensors that share memory share these accesses.

    region: the `Region` of memory that the tensor occupies.
    """

    def __init__(self, region: Any) -> None:
        info = region.info
        self.itemsize, self.size = info.itemsize, region.size_bytes // info.itemsize
        # Maps an element to its position in the tensor's memory, which may have gaps.
        place = np.full((), (region.first - region.start) // info.itemsize)
        for index, stride in zip(np.indices(info.shape, sparse=True), info.strides, strict=True):
            place = place + index * stride
        self._place = place
        self._is_element = np.zeros(self.size, bool)
        self._is_element[place] = True
        self._first = {name: np.full(self.size, -1, np.int32) for name in ("block", "thread")}
        self._counts: dict[str, Array] = {}
        # Maps a launch to a mask (blocks, threads) of the threads that touched the tensor.
        self._seen: dict[int, Array] = {}

    def column(self, name: str) -> Array:
        """Return, for each element, the first `block` or `thread` (linear indices; -1: none), or
        the number of `loads`, `stores` or `atomics`, as int32."""
        found = (self._first | self._counts).get(name)
        return np.broadcast_to(np.int32(0), self._place.shape) if found is None else (
            found[self._place])  # fmt: skip

    @property
    def threads(self) -> int:
        return sum(int(np.count_nonzero(seen)) for seen in self._seen.values())

    def add(
        self, name: str, launch: int, grid: tuple[int, int], who: tuple[Array, Array],
        offset: Array, width: int,
    ) -> None:  # fmt: skip
        """Record that the threads `who` (blocks, threads) of a launch access `width` bytes at
        `offset`."""
        steps = np.arange(0, width, min(width, self.itemsize))
        place = (offset[:, None] + steps) // self.itemsize
        inside = (place >= 0) & (place < self.size)
        inside[inside] = self._is_element[place[inside]]
        place = place[inside]
        if not len(place):
            return
        block, thread = (np.broadcast_to(of[:, None], inside.shape)[inside] for of in who)
        counts = self._counts.setdefault(name, np.zeros(self.size, np.int32))
        np.add.at(counts, place, 1)
        fresh = np.flatnonzero(self._first["block"][place] < 0)[::-1]  # so the first thread remains
        self._first["block"][place[fresh]] = block[fresh]
        self._first["thread"][place[fresh]] = thread[fresh]
        self._seen.setdefault(launch, np.zeros(grid, bool))[block, thread] = True


class Touches(Launches):
    """Records accesses to global memory, including accesses through generic addresses.

    Asynchronous copies count as loads when they are issued. Bulk copies count as accesses of at
    most 16 bytes by the thread that starts them.

    columns: the columns to record, any of `loads`, `stores` and `atomics`. line: the Python line
    whose accesses to record; None for all lines.

    Attributes:
        tensors: maps the names of touched tensors to their touches. sources: the Python lines with
            accesses.
    """

    def __init__(
        self,
        columns: tuple[str, ...] = ("loads", "stores", "atomics"),
        line: LineChoice | None = None,
    ) -> None:
        super().__init__()
        self.columns, self.line = columns, line
        self.tensors: dict[str, TensorTouches] = {}
        self.sources: set[SourceLine | None] = set()

    def on_access(self, m: Moment, access: Access) -> None:
        for target in access.targets:
            if target.allocation is not None:
                who = np.nonzero(m.expand(target.mask))
                place = np.broadcast_to(target.places, m.shape)[who]
                self._add(m, access.kind, target, target.inside or access.width, who, place)

    def on_async_start(self, m: Moment, operation: Any) -> None:
        for kind, run in operation.runs():
            target, width = run.target()
            who = np.divmod(np.repeat(operation.who[run.of], run.size // width), m.n_threads)
            self._add(m, kind, target, width, who, target.places)

    def _add(
        self, m: Moment, kind: str, target: Any, width: int, who: tuple[Array, ...],
        place: Array,
    ) -> None:  # fmt: skip
        """Add accesses. who: the accessing threads, as indices of blocks in the batch and of
        threads; place: the corresponding rows of the target."""
        assert target.allocation is not None
        source = m.program.line_at(m.pc)
        self.sources.add(source)
        if COLUMNS[kind] not in self.columns or not is_meant(self.line, source):
            return
        block, thread = who
        block = m.record.linear_blocks(np.asarray(m.blocks)[block])
        grid = math.prod(m.record.grid), m.n_threads
        for region in target.allocation.regions:
            name = region.info.name
            if name not in self.tensors:
                self.tensors[name] = TensorTouches(region)
            offset = (
                target.skipped + place * width - (region.start - target.allocation.real_address)
            )
            self.tensors[name].add(COLUMNS[kind], len(self.launches), grid, (block, thread),
                                   offset, width)  # fmt: skip
