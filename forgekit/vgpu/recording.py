"""Record a run's events once, as plain data, for any number of readers.

    with Recording() as recording:
        run(x, y)
    recording.counts[0].accesses[pc, "global_load"].requests
    recording.read(MyListener)

A recording keeps the events of a run, in order. The machine computes the events' arrays anyway, so
keeping them costs little. Reading a recording replays its events to a listener, as if the kernel
ran again. If the events need too much memory, they are not kept, and only the listeners named in
advance receive them, during the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

from forgekit.vgpu.access.addressing import Target
from forgekit.vgpu.counters.counting import Counting, LaunchCounts
from forgekit.vgpu.counters.sharing import Shared, Sharing
from forgekit.vgpu.floats import Array
from forgekit.vgpu.host.options import Options, current, options
from forgekit.vgpu.launch_record import WARP, LaunchRecord
from forgekit.vgpu.listeners import Access, Listener
from forgekit.vgpu.sampling import Part
from forgekit.vgpu.sanitizer import Finding

if TYPE_CHECKING:
    from forgekit.vgpu.access.copies import AsyncOperation
    from forgekit.vgpu.batch import Batch
    from forgekit.vgpu.code import Code
    from forgekit.vgpu.memory import GlobalMemory

L = TypeVar("L", bound=Listener)

MOST_BYTES = 128 << 20  # maximum size of the events that a recording keeps
_EVENT_BYTES = 200  # approximate bytes of an event without its arrays
_reading = threading.RLock()  # held during a replay, which changes the batches' `pc`
_ACCESSES = ("on_access", "on_async_done")
_NOTHING = np.zeros(0, np.int64)
_SMALL = 1024  # in elements; smaller arrays are not compressed


class Moment(Protocol):
    """The attributes of the machine that listeners may use, in a run and in a replay.

    program: the kernel; record: the launch; blocks: the numbers of the batch's blocks; part: the
    part of a sample to which they belong, None if all blocks run; shape: (blocks, threads) of the
    batch, in whole warps; pc: the index of the current instruction.
    """

    program: Code
    record: LaunchRecord
    memory: GlobalMemory
    blocks: Sequence[int]
    part: Part | None
    n_blocks: int
    n_threads: int
    shape: tuple[int, int]
    pc: int

    def expand(self, mask: Array | None) -> Array:
        """Return the mask as a full (blocks, threads) array."""

    def lanes(self, mask: Array | None) -> Array:
        """Return the mask as an array of shape (blocks * warps, 32)."""


class _PastBatch:
    """Replaces a batch that has run, as the source of events in a replay."""

    def __init__(self, m: Batch) -> None:
        self.program, self.record = m.program, m.record
        self.memory, self.blocks, self.part = m.memory, m.blocks, m.part
        self.n_blocks, self.n_threads = self.shape = m.shape
        self.pc = m.pc

    def expand(self, mask: Array | None) -> Array:
        return np.ones(self.shape, bool) if mask is None else np.broadcast_to(mask, self.shape)

    def lanes(self, mask: Array | None) -> Array:
        return self.expand(mask).reshape(-1, WARP)


Event = tuple[
    _PastBatch, int, str, tuple[Any, ...]
]  # the batch, the instruction, the listener's method, its arguments


class Recording:
    """The events of all launches in a `with` block, in the usual order of threads.

    Args:
        makes: constructors of the listeners that will read the recording, needed only if the events
            may need too much memory to be kept.
        sanitize: True to collect the sanitizer's findings.
        keep: False if no events are needed after the run.
        shares: True if `shared` will be read.
        changes: other `options`, such as `all_threads`.

    Attributes:
        launches: the launches, in order.
        findings: the sanitizer's findings; None if the sanitizer was off.
        size_bytes: the memory that the recording uses, in bytes.
    """

    def __init__(
        self,
        *makes: Callable[[], Listener],
        sanitize: bool = False,
        keep: bool = True,
        shares: bool = False,
        **changes: Any,
    ) -> None:
        self.launches: list[LaunchRecord] = []
        self.findings: list[Finding] | None = [] if sanitize else None
        self.size_bytes = 0
        self._makes = (Counting, *([Sharing] if shares else []), *makes)
        self._events: list[Event] | None = []
        self._counted: set[int] = set()
        self._live: dict[Callable[[], Listener], Listener] = {}
        self._options = {"sanitize": sanitize, "schedule": "default", **changes}
        self._running: AbstractContextManager[Options]
        if sanitize:
            self._options["findings"] = self.findings
        elif current().findings is not None:  # an outer block still collects findings
            del self._options["sanitize"]
        if not keep:
            self._go_live()

    def __enter__(self) -> Recording:
        self._running = options(listeners=(_Recorder(self),), **self._options)
        self._running.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._running.__exit__(*error)

    @property
    def is_complete(self) -> bool:
        """Return True if the events are kept, so that any listener can read them."""
        return self._events is not None

    def can_read(self, make: Callable[[], Listener]) -> bool:
        """Return True if the events are kept, or the listener was named before the run."""
        return self.is_complete or make in self._live

    def read(self, make: Callable[[], L]) -> L:
        """Create a listener, replay the events to it, and return it."""
        if self._events is None:
            return cast(L, self._live[make])
        listener = make()
        with _reading:
            for event in self._events:
                _tell(listener, event)
        return listener

    @property
    def counts(self) -> list[LaunchCounts]:
        """Return the counts of each launch."""
        return self.read(Counting).launches

    @property
    def shared(self) -> list[Shared]:
        """Return, for each launch, the counts that show how much data its blocks share."""
        return self.read(Sharing).launches

    @property
    def reaches_further(self) -> bool:
        """Return True if a kernel has accessed tensors that were not arguments."""
        return any(m.memory.adopted for m, _, name, _ in self._events or () if name == "on_batch")

    def add(self, event: Event) -> None:
        """Keep an event, or pass it to the listeners if events are not kept."""
        if self._events is None:
            for listener in self._live.values():
                _tell(listener, event)
            return
        if event[2] in _ACCESSES:
            kept = _Kept(event[3][0])
            event = (*event[:3], (kept,))
            self.size_bytes += kept.size_bytes
            masks = kept.masks
        else:
            masks = [x for x in event[3] if isinstance(x, np.ndarray)]
        for mask in masks:
            if id(mask) not in self._counted:
                self._counted.add(id(mask))  # the event keeps the mask, so its id stays unique
                self.size_bytes += mask.nbytes
        self._events.append(event)
        self.size_bytes += _EVENT_BYTES
        if self.size_bytes > MOST_BYTES:
            self._go_live()

    def _go_live(self) -> None:
        self._live = {make: self.read(make) for make in self._makes}
        self._events, self._counted, self.size_bytes = None, set(), 0


def _tell(listener: Listener, event: Event) -> None:
    batch, pc, name, rest = event
    batch.pc = pc
    if name in _ACCESSES and isinstance(rest[0], _Kept):
        rest = (rest[0].access(),)
    getattr(listener, name)(batch, *rest)


# -- accesses in compact form --------------------------------------------------------------------
Sum = Array | tuple[Array, Array]  # an array, or a column and a row that add up to it


class _Kept:
    """An access in compact form, without the values that were read or written, because their arrays
    would need too much memory."""

    __slots__ = ("address", "fields", "masks", "targets")

    def __init__(self, access: Access) -> None:
        self.fields = access.kind, access.space, access.mask, access.width
        self.address = _summands(access.address)
        self.targets = [
            (_summands(t.places), t.mask, t.space, t.allocation, t.skipped, t.inside)
            for t in access.targets
        ]
        masks = [access.mask, *(t[1] for t in self.targets)]
        self.masks: list[Array] = [mask for mask in masks if mask is not None]

    @property
    def size_bytes(self) -> int:
        return _bytes(self.address) + sum(_bytes(places) for places, *_ in self.targets)

    def access(self) -> Access:
        """Return the access in the form that listeners receive. Its targets have no rows."""
        targets = [
            Target(_NOTHING, _sum(places), mask, space, allocation, skipped, inside)
            for places, mask, space, allocation, skipped, inside in self.targets
        ]
        kind, space, mask, width = self.fields
        return Access(kind, space, _sum(self.address), mask, width, targets)


def _bytes(a: Sum) -> int:
    return a[0].nbytes + a[1].nbytes if isinstance(a, tuple) else a.nbytes


def _summands(a: Array) -> Sum:
    """Split an array into a column and a row if it is their sum. Most address arrays are such sums,
    of one term per block and one term per thread."""
    if a.ndim != 2 or a.size < _SMALL or 1 in a.shape:
        return a
    column, row = a[:, :1].copy(), a[:1] - a[:1, :1]
    return (column, row) if (a - column == row).all() else a


def _sum(a: Sum) -> Array:
    return a[0] + a[1] if isinstance(a, tuple) else a


class _Recorder(Listener):
    """Adds each event of a run to a recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._batch: _PastBatch

    def _add(self, m: Batch, name: str, *rest: Any) -> None:
        self._recording.add((self._batch, m.pc, name, rest))

    def on_batch(self, m: Batch) -> None:
        launches = self._recording.launches
        if not launches or launches[-1] is not m.record:
            launches.append(m.record)
        self._batch = _PastBatch(m)
        self._add(m, "on_batch")

    def on_async_start(self, m: Batch, operation: AsyncOperation) -> None:
        self._add(m, "on_async_start", replace(operation, values=None, token=None, held={}))


def _kept(name: str) -> Callable[..., None]:
    return lambda self, m, *rest: self._add(m, name, *rest)


for _name in ("on_access", "on_async_done", "on_run", "on_divergence", "on_barrier_done"):
    setattr(_Recorder, _name, _kept(_name))
