"""Record calls, so that a compiled kernel runs only once for all views of the same call.

Two calls are the same if they have the same kernel and their arguments contain the same bytes in
the same layout. Arguments are compared with copies made before the run, so a call with a changed
element always differs.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from forgekit.compiling.compiled import CompiledKernel
from forgekit.compiling.replay import copied
from forgekit.errors import KernelError, MemoryAccessError
from forgekit.vgpu import HOST, Listener, Recording, options

L = TypeVar("L", bound=Listener)
Make = Callable[[], Listener]

MOST_BYTES = 128 << 20  # the limit on the total size of all stored recordings
_MOST_CALLS = 64

_kept: list[Call] = []  # the latest recording is last
_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t


@dataclass(eq=False)
class Call:
    """A recorded call. before, after: copies of its arguments before and after the run; error: the
    error that stopped the kernel."""

    kernel: CompiledKernel
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    error: KernelError | None
    recording: Recording
    _key: object
    _in_order: Recording | None = field(default=None)

    @functools.cached_property
    def size_bytes(self) -> int:
        tensors = [x for x in (*self.before, *self.after) if hasattr(x, "untyped_storage")]
        return self.recording.size_bytes + sum(x.untyped_storage().nbytes() for x in tensors)

    def read(self, make: Callable[[], L]) -> L:
        """Create a listener, replay the events to it, and return it."""
        return self.recording.read(make)

    def read_to_the_end(self, make: Callable[[], L]) -> L:
        """Read the recording. After an invalid access, first run the kernel again, one block at a
        time, and read the recording of that run, because blocks that run together all stop at the
        first invalid access.
        """
        launches = self.recording.launches
        several = bool(launches) and math.prod(launches[-1].grid) > 1
        if not isinstance(self.error, MemoryAccessError) or not several:
            return self.read(make)
        if self._in_order is None or not self._in_order.can_read(make):
            self._in_order = _run(self.kernel, self.before, make, batch_threads=1)[2]
        return self._in_order.read(make)

    def result(self) -> tuple[Any, ...]:
        """Return the arguments after the run. Raise KernelError if the kernel was stopped."""
        if self.error is not None:
            raise self.error.with_traceback(None)
        return self.after


def recorded(
    kernel: CompiledKernel,
    args: tuple[Any, ...],
    *makes: Make,
    findings: bool = False,
    shares: bool = False,
) -> Call:
    """Record a call with copies of these arguments, or return the recording of an equal call.

    The kernel's printed output is hidden. makes: constructors of the listeners that will read the
    recording; findings: True to keep the sanitizer's findings; shares: True if the recording's
    `shared` data is needed.
    """
    before = copied(args)
    with options() as chosen:
        key = _layout(before), chosen.budget, chosen.batch_threads, chosen.blocks
    for call in [*_kept]:
        if call.kernel is kernel and call._key == key and _equal(call.before, before):
            if call.recording.findings is not None or not findings:
                return call
            _kept[:] = [c for c in _kept if c is not call]
    after, error, recording = _run(kernel, before, *makes, sanitize=findings, shares=shares)
    call = Call(kernel, before, after, error, recording, key)
    if recording.is_complete and not recording.reaches_further:
        _kept.append(call)
        while len(_kept) > _MOST_CALLS or sum(c.size_bytes for c in _kept) > MOST_BYTES:
            _kept.pop(0)
    return call


def sampled(
    kernel: CompiledKernel, args: tuple[Any, ...], blocks: int, *makes: Make
) -> tuple[tuple[Any, ...], Recording]:
    """Run some blocks of each launch on copies of the arguments.

    Returns:
        The copies after the run, and the recording.

    Raises:
        UsageError: `blocks` is below 8.
        KernelError: the kernel was stopped.
    """
    changes = {"keep": False, "shares": True, "blocks": blocks, "sanitize": False}
    after, error, recording = _run(kernel, args, *makes, **changes)
    if error is not None:
        raise error
    return after, recording


def _run(
    kernel: CompiledKernel, args: tuple[Any, ...], *makes: Make, **changes: Any
) -> tuple[tuple[Any, ...], KernelError | None, Recording]:
    on_virtual, copies, error = kernel.on_virtual_gpu(), copied(args), None
    with Recording(*makes, prints=False, **changes) as recording:
        try:
            on_virtual(*copies)
        except KernelError as stop:
            error = stop.with_traceback(None)  # the traceback's frames keep the machine in memory
    return copies, error, recording


# -- comparing calls -------------------------------------------------------------------
def _layout(args: tuple[Any, ...]) -> object:
    """Return a description of the arguments without the bytes of tensors."""
    storages: dict[int, int] = {}
    found: list[object] = []
    for x in args:
        if hasattr(x, "untyped_storage"):
            number = storages.setdefault(x.untyped_storage().data_ptr(), len(storages))
            place = number, x.storage_offset(), tuple(x.shape), x.stride()
            found.append((x.dtype, *place, HOST.marks(x)))
        else:
            plain = isinstance(x, int | float | None)
            # different from every other object
            found.append((type(x), repr(x)) if plain else object())
    return found


def _equal(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return True if the tensors of two tuples with equal layouts contain the same bytes."""
    for x, y in zip(one, other, strict=True):
        if hasattr(x, "untyped_storage"):
            a, b = x.untyped_storage(), y.untyped_storage()
            if a.nbytes() != b.nbytes() or _compare(a.data_ptr(), b.data_ptr(), a.nbytes()):
                return False
    return True
