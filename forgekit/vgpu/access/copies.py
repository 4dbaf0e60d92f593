"""Represent asynchronous copies (bulk copies, tensor copies and `st.async`), and their sources and
targets."""

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
    """Contiguous bytes of an allocation that operations access: operation `of[k]` accesses
    `size[k]` bytes from byte `start[k]`. `of` is in ascending order."""

    allocation: Allocation
    of: Array
    start: Array
    size: Array

    def target(self) -> tuple[Target, int]:
        """Return the accessed bytes as a target, and its number of bytes per row, at most 16."""
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
    """The sources or the targets of operations. The bytes of operation i begin at byte `start[i]`
    of the batch's shared memory, or of the global allocation `allocations[i]`."""

    start: Array
    allocations: Sequence[Allocation] | None = None  # None for shared memory

    def runs(self, size: Array) -> Iterator[Run]:
        """Yield the global memory that operations of these sizes access."""
        for allocation in {id(a): a for a in self.allocations or ()}.values():
            of = np.flatnonzero([a is allocation for a in self.allocations or ()])
            rows = self._rows(of, size)
            if len(rows[0]):
                yield Run(allocation, *rows)

    def _rows(self, of: Array, size: Array) -> tuple[Array, Array, Array]:
        """Return the contiguous bytes that the operations `of` access, as arrays of operations,
        starts and lengths."""
        return of, self.start[of], size[of]

    def places(self, i: int, size: int) -> Array:
        """Return the offset of each byte of operation i, in the order of the copy; -1 for bytes
        outside the tensor."""
        return int(self.start[i]) + np.arange(size)

    def take(self, i: int, size: int, shared: Array) -> Array:
        start = int(self.start[i])
        memory = shared if self.allocations is None else self.allocations[i].data
        return memory[start : start + size]

    def put(self, i: int, found: Array, shared: Array, update: Update | None = None) -> None:
        """Write the bytes of operation i.

        update: maps (old elements, new elements) to the elements to store; None stores the new
        elements.
        """
        assert update is None
        self.take(i, len(found), shared)[:] = found

    def part(self, keep: Array) -> Self:
        """Return the sources or targets of the operations in the mask `keep`."""
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
    """The asynchronous operations that an instruction has started. Operation i belongs to thread
    `who[i]`; `who` is in ascending order.

    source: None if the copied bytes are in `values`, of shape (n, size). words: the index of the
    mbarrier that each operation signals, or NO_MBARRIER if threads wait for its `group`, which is 0
    until it is committed. update: the function of a reduction, as in `End.put`. left: a mask of the
    operations that have not completed.
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
    held: dict[int, Array] = field(default_factory=dict)  # bytes that were read before the write
    moved: bool = False  # True if an adversarial schedule has moved the data early
    token: object = None  # for use by a listener

    def __post_init__(self) -> None:
        self.left = np.ones(len(self.who), bool)
        self.group = np.zeros(len(self.who), np.int64)

    def runs(self) -> Iterator[tuple[str, Run]]:
        """Yield the accesses to global memory, each with its kind as in `Access`."""
        ends = ((self.source, "async load"), (self.target, "atomic" if self.update else "store"))
        for end, kind in ends:
            for run in [] if end is None else end.runs(self.size):
                yield kind, run

    @property
    def signals(self) -> bool:
        """Return True if the operations signal an mbarrier; otherwise, threads wait for their
        group."""
        return bool(self.words[0] != NO_MBARRIER)
