"""Record the last writers and readers of each unit of a memory, to find unordered accesses.

A unit is as wide as the kernel's narrowest access, so tracking units is as exact as tracking bytes.
The rules are those of a happens-before race detector (FastTrack, Flanagan and Freund 2009), with
one exception: only the lowest- and the highest-numbered of a unit's readers are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.sanitizer.clocks import Snapshot
from forgekit.vgpu.sanitizer.reach import Reach

READ, WRITE, ATOMIC = "reads", "writes", "updates"

# Added to a thread's number, this denotes an asynchronous operation of the thread.
ENGINE = 1 << 31


@dataclass(eq=False)
class Touch:
    """An instruction's access by many threads, in which thread `who[i]` touches `units[i]`.

    what: READ, WRITE or ATOMIC (which includes volatile and ordered accesses); who: the threads,
    ascending, with ENGINE set for asynchronous operations; values: the written values, None if
    unknown; time: a number that increases during a launch.
    """

    what: str
    units: Array
    who: Array
    pc: int
    clock: Snapshot
    time: int
    values: Array | None = None
    each: int = 1  # number of consecutive entries per thread

    @classmethod
    def of(cls, what: str, found: Reach, pc: int, clock: Snapshot, time: int) -> Touch:
        return cls(what, found.units, found.who, pc, clock, time, found.values, found.each)


class Conflict(NamedTuple):
    """Two unordered accesses to the same unit. count: the number of affected units."""

    earlier: Touch
    later: Touch
    unit: int
    first: int  # the thread of the earlier access
    second: int
    how_often: int


Ordered = Callable[["Touch", "Array", "Touch", "Array"], "Array"]


# An entry packs the touch's number (counted from 1) into the bits above the thread's number; 0: no
# thread.
_SHIFT = 32
_THREAD = (1 << _SHIFT) - 1


class Shadow:
    """Records accesses to `n` units.

    ordered: maps (earlier touch, its threads, later touch, its threads) to True for each ordered
    pair.
    """

    def __init__(self, n: int, ordered: Ordered) -> None:
        self._n = n
        self._ordered = ordered
        self._touches: list[Touch] = []
        self._writes = np.zeros(n, np.int64)
        # The lowest- and the highest-numbered thread of READ and ATOMIC touches since the last
        # write.
        self._last: dict[str, tuple[Array, Array]] = {}

    def add(self, touch: Touch) -> Iterator[Conflict]:
        """Record a touch; yield its conflicts with earlier touches and within itself."""
        self._touches.append(touch)
        mine = touch.who | np.int64(len(self._touches) << _SHIFT)
        yield from self._against(self._writes, touch)
        for what in (READ, ATOMIC):
            if what != touch.what and what in self._last:
                for last in self._last[what]:
                    yield from self._against(last, touch)
        if touch.what == WRITE:
            yield from self._write(touch, mine)
        else:
            self._gather(touch, mine)

    def _others(self, last: Array, touch: Touch) -> Iterator[tuple[Touch, Array, Array]]:
        """Yield earlier touches by other threads: the touch, positions in the new touch, the
        earlier threads.

        Two asynchronous operations of the same thread count as different threads.
        """
        before = last[touch.units]
        if not before.any():
            return
        other = (before & _THREAD != touch.who) | (touch.who >= ENGINE)
        at = np.flatnonzero((before != 0) & other)
        numbers = before[at] >> _SHIFT
        for number in np.unique(numbers):
            here = at[numbers == number]
            yield self._touches[number - 1], here, before[here] & _THREAD

    def _against(self, last: Array, touch: Touch) -> Iterator[Conflict]:
        for earlier, here, first in self._others(last, touch):
            bad = ~self._ordered(earlier, first, touch, touch.who[here])
            if touch.what == earlier.what == WRITE:
                bad &= ~_same_value(earlier, first, touch, here)
            if bad.any():
                one, other = here[bad][0], first[bad][0]
                yield Conflict(earlier, touch, int(touch.units[one]), int(other),
                               int(touch.who[one]), int(bad.sum()))  # fmt: skip

    def _write(self, touch: Touch, mine: Array) -> Iterator[Conflict]:
        self._writes[touch.units] = mine
        winner = self._writes[touch.units]
        lost = np.flatnonzero(winner != mine)
        if len(lost):
            bad = ~_same_value(touch, winner[lost] & _THREAD, touch, lost)
            if bad.any():
                one = lost[bad][0]
                yield Conflict(touch, touch, int(touch.units[one]), int(touch.who[one]),
                               int(winner[one] & _THREAD), int(bad.sum()))  # fmt: skip
        for pair in self._last.values():
            for last in pair:
                last[touch.units] = 0

    def _gather(self, touch: Touch, mine: Array) -> None:
        """Keep the lowest- and the highest-numbered thread per unit, each with its latest touch."""
        units = touch.units
        if touch.what not in self._last:
            self._last[touch.what] = np.zeros(self._n, np.int64), np.zeros(self._n, np.int64)
        low, high = self._last[touch.what]
        up = np.arange(len(units))
        before = high[units]
        take = up[(before == 0) | (touch.who >= before & _THREAD)]
        high[units[take]] = mine[take]  # if a unit repeats, its last (highest) thread remains
        before = low[units]
        take = up[(before == 0) | (touch.who <= before & _THREAD)][::-1]
        low[units[take]] = mine[take]
        if touch.what == READ:  # saves memory: the entries contain the threads
            touch.units = touch.who = np.zeros(0, np.int32)


def _same_value(a: Touch, threads: Array, b: Touch, at: Array) -> Array:
    """Return True for each of `threads` whose value in touch `a` equals the value of touch `b` at
    position `at`."""
    if a.values is None or b.values is None or a.values.dtype != b.values.dtype:
        return np.zeros(len(at), bool)
    found = np.searchsorted(a.who, threads)
    if a.each > 1:  # find the unit among the thread's entries
        entries = np.minimum(found[:, None] + np.arange(a.each), len(a.units) - 1)
        found = found + (a.units[entries] == b.units[at][:, None]).argmax(axis=1)
    mine, other = a.values[found], b.values[at]
    if mine.dtype.kind == "f":  # a NaN equals the same NaN
        mine, other = (np.ascontiguousarray(v).view(f"u{v.itemsize}") for v in (mine, other))
    return np.asarray(mine == other)
