"""Asynchronous copies: bulk copies, tensor copies and `st.async`, and where they begin and end."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np

from forgekit.vgpu.access.addressing import Target
from forgekit.vgpu.floats import Array
from forgekit.vgpu.memory import Allocation, element_view

NO_MBARRIER = -1
Update = Callable[[Array, Array], Array]


class Run(NamedTuple):
    """Contiguous bytes of an allocation that operations reach: `size[k]` bytes from `start[k]` on
    by operation `of[k]`, ascending."""

    allocation: Allocation
    of: Array
    start: Array
    size: Array

    def target(self) -> tuple[Target, int]:
        """The pieces that are reached, and bytes of a piece, at most 16."""
        skipped = -self.allocation.address % 16
        width = int(np.gcd.reduce(np.concatenate([[16], self.start - skipped, self.size])))
        first, count = (self.start - skipped) // width, self.size // width
        step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        elem = min(width, 4)
        rows = element_view(self.allocation.data[skipped:], elem, width // elem)
        places = np.repeat(first, count) + step
        return Target(rows, places, None, "global", self.allocation, skipped), width


@dataclass
class End:
    """Where operations begin or end: byte `start[i]` of shared memory (of the whole batch), or of
    a global allocation, one for each."""

    start: Array
    allocations: Sequence[Allocation] | None = None  # None: shared memory

    def runs(self, size: Array) -> Iterator[Run]:
        """The bytes of tensors that operations of these sizes reach."""
        for allocation in {id(a): a for a in self.allocations or ()}.values():
            of = np.flatnonzero([a is allocation for a in self.allocations or ()])
            rows = self._rows(of, size)
            if len(rows[0]):
                yield Run(allocation, *rows)

    def _rows(self, of: Array, size: Array) -> tuple[Array, Array, Array]:
        """Contiguous bytes that the operations `of` reach: whose, where they begin, how many."""
        return of, self.start[of], size[of]

    def places(self, i: int, size: int) -> Array:
        """Where each of the bytes lies, in the order in which they are moved; -1: nowhere."""
        return int(self.start[i]) + np.arange(size)

    def take(self, i: int, size: int, shared: Array) -> Array:
        start = int(self.start[i])
        memory = shared if self.allocations is None else self.allocations[i].data
        return memory[start : start + size]

    def put(self, i: int, found: Array, shared: Array, update: Update | None = None) -> None:
        """Write them. update: (old elements, new ones) -> what stays, where it is not the new."""
        assert update is None
        self.take(i, len(found), shared)[:] = found

    def part(self, keep: Array) -> Self:
        """Of some operations only."""
        if keep.all():
            return self
        some: dict[str, Any] = {f.name: _some(getattr(self, f.name), keep) for f in fields(self)}
        return replace(self, **some)


def _some(of_each: Array | Sequence | None, keep: Array) -> Array | Sequence | None:
    if isinstance(of_each, np.ndarray):
        return of_each[keep]
    return None if of_each is None else list(itertools.compress(of_each, keep))


@dataclass
class AsyncOperation:
    """What one instruction has started: operation i is that of thread `who[i]`, ascending.

    source: None where the bytes are `values`, (n, size). words: the mbarrier that is signalled, or
    NO_MBARRIER where the thread waits for the `group` (0: not committed). update: what a reduction
    does to elements of its target. left: not yet arrived.
    """

    pc: int
    who: Array
    size: Array
    target: End
    source: End | None
    words: Array
    values: Array | None = None
    update: Update | None = None
    left: Array = field(init=False)
    group: Array = field(init=False)
    held: dict[int, Array] = field(default_factory=dict)  # bytes that have been read already
    moved: bool = False  # arrived early, which no code may rely on
    token: object = None  # a listener's own

    def __post_init__(self) -> None:
        self.left = np.ones(len(self.who), bool)
        self.group = np.zeros(len(self.who), np.int64)

    def runs(self) -> Iterator[tuple[str, Run]]:
        """What it reaches of tensors, with the kind of access as listeners know it."""
        ends = ((self.source, "async load"), (self.target, "atomic" if self.update else "store"))
        for end, kind in ends:
            for run in [] if end is None else end.runs(self.size):
                yield kind, run

    @property
    def signals(self) -> bool:
        """Whether it signals an mbarrier, rather than being waited for by group."""
        return bool(self.words[0] != NO_MBARRIER)
