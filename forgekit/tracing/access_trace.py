"""Record who touched which address: every access to global memory, as columns of numbers.

trace = AccessTrace()
with forgekit.vgpu.options(listeners=(trace,)):
    run(x, y)
row, element = trace.touches("mY")             # rows of the trace, elements of that tensor
trace.accesses.thread[row]                     # who did it
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from forgekit.errors import UsageError, brief, got_needed
from forgekit.tracing.observe import Launches
from forgekit.vgpu.listeners import Access
from forgekit.vgpu.memory import WINDOW_SHIFT, TensorInfo

if TYPE_CHECKING:
    from forgekit.vgpu.floats import Array
    from forgekit.vgpu.machine import Machine
    from forgekit.vgpu.machine.async_operations import AsyncOperation
    from forgekit.vgpu.memory import GlobalMemory
    from forgekit.vgpu.program import Program
    from forgekit.vgpu.ptx import SourceLocation

# A load and a store of each of 2 Mi elements; 45 bytes an access are 180 MiB.
LIMIT = 1 << 22
_PIECE = 1 << 18  # accesses that are looked at together; a wide one touches 16 elements

KINDS = ("load", "store", "atomic")
LOAD, STORE, ATOMIC = range(3)
_KIND_OF = {"load": LOAD, "async load": LOAD, "store": STORE, "async store": STORE,
            "atomic": ATOMIC}  # fmt: skip


# Of a chunk, in its order.
_COLUMNS = (("kind", np.uint8), ("launch", np.int32), ("width", np.int32), ("pc", np.int32),
            ("block", np.int64), ("thread", np.int16), ("address", np.uint64))  # fmt: skip


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

    def piece(self, start: int, stop: int) -> Accesses:
        """The rows from `start` to before `stop`."""
        return Accesses(**{f.name: getattr(self, f.name)[start:stop] for f in fields(self)})


class Touches(NamedTuple):
    """Elements of one tensor that were touched, in order of time.

    row: the access, a row of the trace; element: row-major number of the tensor's element. An
    access wider than an element has several rows here.
    """

    row: Array
    element: Array


class AccessTrace(Launches):
    """Records accesses to global memory, also those through generic addresses.

    Asynchronous copies count as loads, when they are issued. Recording stops after `limit`
    accesses of one thread each; `total` counts on.

    Attributes:
        total: accesses that happened. launches: what was launched, in order.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__()
        self.limit = limit
        self.total = 0
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
            self._chunks = [tuple(getattr(self._accesses, name) for name, _ in _COLUMNS)]
        return self._accesses

    # -- events -----------------------------------------------------------------------------
    def on_batch(self, m: Machine) -> None:
        super().on_batch(m)
        self._programs[len(self.launches) - 1 :] = [m.program]
        self._memory = m.memory

    def on_access(self, m: Machine, access: Access) -> None:
        kind, space, address, mask, width, *_ = access
        if space == "generic":
            here = address >> WINDOW_SHIFT == 0
            mask = here if mask is None else here & mask
        elif space != "global":
            return
        count = math.prod(m.shape)
        if mask is not None:
            count = count // mask.size * int(np.count_nonzero(mask))
        self.total += count
        room = self.limit - self._recorded
        if room and count:
            block, thread = (i[:room] for i in np.nonzero(m.expand(mask)))
            place = np.broadcast_to(address, m.shape)[block, thread]
            self._record(m, kind, width, block, thread, place.astype(np.uint64))

    def on_async_start(self, m: Machine, operation: AsyncOperation) -> None:
        """Bulk copies, as accesses of 16 bytes or less by the thread that starts them."""
        for kind, run in operation.runs():
            target, width = run.target()
            start = np.uint64(run.allocation.address + target.skipped)
            address = start + target.places.astype(np.uint64) * np.uint64(width)
            who = np.repeat(operation.who[run.of], run.size // width)
            self.total += len(address)
            room = self.limit - self._recorded
            block, thread = np.divmod(who[:room], m.n_threads)
            self._record(m, kind, width, block, thread, address[:room])

    def _record(
        self, m: Machine, kind: str, width: int, block: Array, thread: Array, address: Array
    ) -> None:
        """A chunk of accesses by an instruction; block: rows of the batch."""
        self._recorded += len(address)
        self._accesses = None
        same = (_KIND_OF[kind], len(self.launches) - 1, width, m.pc)
        number = m.record.linear_blocks(block + m.blocks.start)
        columns = (*(np.full(1, v, np.int32) for v in same), number, thread.astype(np.int16))
        self._chunks.append((*columns, address))

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
        window, info = self._where(name)
        return _touches(self.accesses, window, info)

    def touches_backwards(self, name: str) -> Iterator[Touches]:
        """The touches of a tensor in pieces, the latest piece first; each in order of time.

        Raises:
            UsageError: no tensor of this name.
        """
        window, info = self._where(name)
        for start in reversed(range(0, len(self.accesses), _PIECE)):
            row, element = _touches(self.accesses.piece(start, start + _PIECE), window, info)
            yield Touches(row + start, element)

    def _where(self, name: str) -> tuple[tuple[int, int, int], TensorInfo]:
        """Virtual addresses of a tensor's lowest byte, its end, its first element; its layout."""
        for allocation in self._allocations():
            for region in allocation.regions:
                if region.info.name == name:
                    shift = allocation.address - allocation.real_address
                    start = region.start + shift
                    return (start, start + region.size_bytes, region.first + shift), region.info
        known = ", ".join(self.tensors) or "none: nothing was launched"
        raise UsageError(got_needed("tensor", brief(name), f"one of {known}", "check the name"))

    def source(self, row: int) -> SourceLocation | None:
        """The Python line of an access; None where the PTX has no line information."""
        launch, pc = int(self.accesses.launch[row]), int(self.accesses.pc[row])
        return self._programs[launch].instructions[pc].source

    def _allocations(self) -> list:
        return [] if self._memory is None else self._memory.allocations


def _join(chunks: list[tuple[Array, ...]]) -> Accesses:
    """Columns of all rows; in a chunk a column of one value stands for that of every row."""
    lengths = [len(c[-1]) for c in chunks]
    columns = {}
    for i, (name, dtype) in enumerate(_COLUMNS):
        parts = [np.broadcast_to(c[i], n) for c, n in zip(chunks, lengths, strict=True)]
        none = [np.zeros(0, dtype)]
        columns[name] = np.concatenate(parts or none, dtype=dtype, casting="unsafe")
    return Accesses(**columns)


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
    if not math.prod(info.shape):
        return np.full(offset.shape, -1)
    nested = nested_modes(info)
    if nested is None:
        return _searched_numbers(info, offset)
    steps = row_major(info.shape)
    if info.strides == steps:  # a distance is the number
        return np.where((offset >= 0) & (offset < math.prod(info.shape)), offset, -1)
    number, rest, inside = np.zeros(offset.shape, np.int64), offset, offset >= 0
    for mode in nested:
        index, rest = np.divmod(rest, info.strides[mode])
        inside &= index < info.shape[mode]
        number += index * steps[mode]
    return np.where(inside & (rest == 0), number, -1)


def nested_modes(info: TensorInfo) -> list[int] | None:
    """Modes of a size and a stride other than 1 and 0, the longest stride first.

    None unless each stride is longer than all that the shorter ones reach together: a distance
    then has one index in each of these modes, and division finds it.
    """
    modes = [i for i, size in enumerate(info.shape) if size > 1 and info.strides[i]]
    modes.sort(key=lambda i: -info.strides[i])
    reach = 0
    for mode in reversed(modes):
        if info.strides[mode] <= reach:
            return None
        reach += (info.shape[mode] - 1) * info.strides[mode]
    return modes


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a tensor without gaps, in elements, the last mode's 1."""
    return tuple(math.prod(shape[mode + 1 :]) for mode in range(len(shape)))


def _searched_numbers(info: TensorInfo, offset: Array) -> Array:
    """`element_numbers` of a layout whose strides do not nest."""
    offsets = element_offsets(info)
    order = np.argsort(offsets, kind="stable")
    ordered = offsets[order]
    at = np.minimum(np.searchsorted(ordered, offset), len(ordered) - 1)
    return np.where(ordered[at] == offset, order[at], -1)
