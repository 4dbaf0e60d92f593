"""Detect threads that spin indefinitely, long before they exhaust the instruction budget.

A group of threads that polls memory is in a loop. If every group returns to an earlier instruction
while all live registers and memory have the same content as before, no group can ever leave its
loop.
"""

from __future__ import annotations

import weakref

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Access, Listener
from forgekit.vgpu.machine import stuck
from forgekit.vgpu.machine.groups import Groups

_LOOK_AFTER = 8_000  # instructions before the first snapshot; most kernels that poll execute fewer
_PAUSE = 1_000  # instructions before the next snapshot after the state has changed


class _Reads(Listener):
    """A listener that records the latest access of each polling instruction."""

    def __init__(self) -> None:
        self.found: dict[int, Access] = {}

    def on_access(self, m: Batch, access: Access) -> None:
        if m.program.polls(m.pc, m.pc):
            self.found[m.pc] = access


class Spinning:
    """A detector that compares the state of a polling batch with an earlier snapshot."""

    def __init__(self, machine: Groups) -> None:
        self.machine: Groups = weakref.proxy(machine)
        self.acted = False  # True if memory has changed since the snapshot
        # the snapshot: the threads at each instruction, and the content of each live register
        self._picture: tuple[dict[int, Array], dict[int, Array]] | None = None
        self._ran: set[int] = set()  # first instructions of groups that have run since then
        self._reads: _Reads | None = None  # listens between the first and the second match
        self._look_at, self._until = _LOOK_AFTER, 0

    @property
    def looks(self) -> bool:
        """Return True while there is a snapshot."""
        return self._picture is not None

    def changed(self) -> None:
        """Discard the snapshot and take another one later, because an event may have ended a
        wait."""
        m = self.machine
        self._picture, self.acted, self._look_at = None, False, m.executed + _PAUSE
        m.listeners = tuple(one for one in m.listeners if one is not self._reads)
        self._reads = None

    def ran(self, start: int, end: int, polls: bool) -> None:
        """Record that a group has run from `start` up to, but not including, `end`.

        Raises:
            DeadlockError: no thread of the batch can ever leave its loop.
        """
        m = self.machine
        if m.executed < self._look_at or (self._picture is None and not polls):
            return
        waits = bool(m.held or m.asleep)
        if self._picture is None:
            self._picture = None if waits else self._take()
            self._ran, self._until = set(), 2 * m.executed
            return
        self._ran.add(start)
        if waits or self.acted or m.program.acts(start, end) or m.executed > self._until:
            self.changed()
        elif self._ran >= m.runnable.keys() and self._is_like(self._picture):
            if self._reads is not None:
                raise stuck.spinning(m, self._reads.found)
            self._ran, self._reads = set(), _Reads()
            m.listeners = (*m.listeners, self._reads)

    def _take(self) -> tuple[dict[int, Array], dict[int, Array]]:
        m = self.machine
        live = 0
        for pc in m.runnable:
            live |= m.program.live[pc]
        registers = [r for r in range(live.bit_length()) if live >> r & 1]
        return (
            {pc: m.expand(mask).copy() for pc, mask in m.runnable.items()},
            {r: m.regs[r].copy() for r in registers},
        )

    def _is_like(self, picture: tuple[dict[int, Array], dict[int, Array]]) -> bool:
        m, (masks, registers) = self.machine, picture
        return (
            m.runnable.keys() == masks.keys()
            and all(np.array_equal(m.expand(m.runnable[pc]), mask) for pc, mask in masks.items())
            and all(np.array_equal(m.regs[r], held, equal_nan=held.dtype.kind in "fc")
                    for r, held in registers.items())
        )  # fmt: skip
