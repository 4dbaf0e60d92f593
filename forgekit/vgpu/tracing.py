"""Record who touched which address: every access to global memory, as columns of numbers.

trace = AccessTrace()
with forgekit.vgpu.options(listeners=(trace,)):
    run(x, y)
row, element = trace.touches("mY")             # rows of the trace, elements of that tensor
trace.accesses.thread[row]                     # who did it
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from forgekit.errors import UsageError, got_needed
from forgekit.vgpu.listeners import Access, Listener
from forgekit.vgpu.memory import WINDOW_SHIFT, TensorInfo

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.launching import LaunchRecord
    from forgekit.vgpu.machine import Machine
    from forgekit.vgpu.memory import GlobalMemory
    from forgekit.vgpu.program import Program
    from forgekit.vgpu.ptx import SourceLine

# A load and a store of each of 2 Mi elements; 41 bytes an access are 164 MiB.
LIMIT = 1 << 22

KINDS = ("load", "store", "atomic")
LOAD, STORE, ATOMIC = range(3)
_KIND_OF = {"load": LOAD, "async load": LOAD, "store": STORE, "async store": STORE,
            "atomic": ATOMIC}  # fmt: skip


@dataclass(frozen=True)
class Accesses:
    """Columns of equal length, one row for each thread's access, in the order they happened.

    kind: LOAD, STORE or ATOMIC; launch: number of the launch; block, thread: linear indexes (x
    fastest), in the grid and in the block; address: virtual; width: bytes; pc: the instruction.
    """

    kind: Array
    launch: Array
    block: Array
    thread: Array
    address: Array
    width: Array
    pc: Array

    def __len__(self) -> int:
        return len(self.address)


class Touches(NamedTuple):
    """Elements of one tensor that were touched, in order of time.

    row: the access, a row of the trace; element: row-major number of the tensor's element. An
    access wider than an element has several rows here.
    """

    row: Array
    element: Array


class AccessTrace(Listener):
    """Records accesses to global memory, also those through generic addresses.

    Asynchronous copies count as loads, when they are issued. Recording stops after `limit`
    accesses of one thread each; `total` counts on.

    Attributes:
        total: accesses that happened. launches: what was launched, in order.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.total = 0
        self.launches: list[LaunchRecord] = []
        self._programs: list[Program] = []
        self._memory: GlobalMemory | None = None
        self._chunks: list[tuple[Array, ...]] = []
        self._recorded = 0
        self._accesses: Accesses | None = None

    @property
    def complete(self) -> bool:
        """Whether every access that happened was recorded."""
        return self._recorded == self.total

    @property
    def accesses(self) -> Accesses:
        """All that was recorded."""
        if self._accesses is None:
            self._accesses = _join(self._chunks)
        return self._accesses

    # -- events -----------------------------------------------------------------------------
    def on_batch(self, m: Machine) -> None:
        if not self.launches or self.launches[-1] is not m.record:
            self.launches.append(m.record)
            self._programs.append(m.program)
        self._memory = m.memory

    def on_access(self, m: Machine, access: Access) -> None:
        kind, space, address, mask, width, *_ = access
        if space == "generic":
            here = address >> WINDOW_SHIFT == 0
            mask = here if mask is None else here & mask
        elif space != "global":
            return
        everyone = m.expand(mask)
        count = int(np.count_nonzero(everyone))
        self.total += count
        room = self.limit - self._recorded
        if not room or not count:
            return
        block, thread = (i[:room] for i in np.nonzero(everyone))
        self._recorded += len(block)
        self._accesses = None
        same = (_KIND_OF[kind], len(self.launches) - 1, width, m.pc)
        self._chunks.append((
            *(np.full(1, v, np.int32) for v in same),
            (block + m.blocks.start).astype(np.int32),
            thread.astype(np.int16),
            np.broadcast_to(address, m.shape)[block, thread].astype(np.uint64),
        ))  # fmt: skip

    # -- from addresses to tensors ------------------------------------------------------------
    @property
    def tensors(self) -> dict[str, TensorInfo]:
        """The tensors that the kernels could reach, by name."""
        return {r.info.name: r.info for a in self._allocations() for r in a.regions}

    def touches(self, name: str) -> Touches:
        """Which elements of a tensor were touched, by which rows of the trace.

        Of tensors that share memory each has the touches of the bytes they share.

        Raises:
            UsageError: no tensor of this name.
        """
        for allocation in self._allocations():
            for region in allocation.regions:
                if region.info.name == name:
                    shift = allocation.address - allocation.real_address
                    start = region.start + shift
                    window = start, start + region.size_bytes, region.first + shift
                    return _touches(self.accesses, window, region.info)
        known = ", ".join(self.tensors) or "none: nothing was launched"
        raise UsageError(got_needed("tensor", repr(name), f"one of {known}", "check the name"))

    def source(self, row: int) -> SourceLine | None:
        """The Python line of an access; None where the PTX has no line information."""
        launch, pc = int(self.accesses.launch[row]), int(self.accesses.pc[row])
        return self._programs[launch].instructions[pc].source

    def _allocations(self) -> list:
        return [] if self._memory is None else self._memory.allocations


def _join(chunks: list[tuple[Array, ...]]) -> Accesses:
    lengths = [len(c[-1]) for c in chunks]
    order = ("kind", "launch", "width", "pc", "block", "thread", "address")
    types = (np.uint8, np.int32, np.int32, np.int32, np.int32, np.int16, np.uint64)
    columns = {}
    for i, (name, dtype) in enumerate(zip(order, types, strict=True)):
        parts = [c[i] for c in chunks]
        joined = np.concatenate(parts) if parts else np.zeros(0)
        columns[name] = (np.repeat(joined, lengths) if i < 4 else joined).astype(dtype)
    return Accesses(**{f.name: columns[f.name] for f in fields(Accesses)})


def _touches(accesses: Accesses, window: tuple[int, int, int], info: TensorInfo) -> Touches:
    """window: virtual addresses of the tensor's lowest byte, its end, its first element."""
    start, end, first = window
    address = accesses.address.view(np.int64)
    near = np.flatnonzero((address < end) & (address + accesses.width > start))
    rows, offsets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for width in np.unique(accesses.width[near]):
        these = near[accesses.width[near] == width]
        steps = np.arange(0, width, min(int(width), info.itemsize))
        rows.append(np.repeat(these, len(steps)))
        offsets.append(((address[these, None] + steps - first) // info.itemsize).reshape(-1))
    row, offset = np.concatenate(rows), np.concatenate(offsets)
    if len(rows) > 2:  # accesses of several widths
        by_time = np.argsort(row, kind="stable")
        row, offset = row[by_time], offset[by_time]
    element = element_numbers(info, offset)
    known = element >= 0
    return Touches(row[known], element[known])


def element_offsets(info: TensorInfo) -> Array:
    """Distance of each element from the first, in elements; in row-major order."""
    offsets = np.zeros((1,) * len(info.shape), np.int64)
    for mode, (size, stride) in enumerate(zip(info.shape, info.strides, strict=True)):
        along = [1] * len(info.shape)
        along[mode] = size
        offsets = offsets + (np.arange(size, dtype=np.int64) * stride).reshape(along)
    return np.broadcast_to(offsets, info.shape).reshape(-1)


def element_numbers(info: TensorInfo, offset: Array) -> Array:
    """Row-major numbers of the elements at these distances (in elements) from the first one.

    -1 in the gaps of a strided tensor. Where elements share memory (stride 0): the first of them.
    """
    offsets = element_offsets(info)
    if not len(offsets):
        return np.full(offset.shape, -1)
    if np.array_equal(offsets, np.arange(len(offsets))):
        return np.where((offset >= 0) & (offset < len(offsets)), offset, -1)
    order = np.argsort(offsets, kind="stable")
    ordered = offsets[order]
    at = np.minimum(np.searchsorted(ordered, offset), len(ordered) - 1)
    return np.where(ordered[at] == offset, order[at], -1)
