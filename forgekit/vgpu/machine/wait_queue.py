"""Manage threads that sleep until a cluster barrier opens or the phase of an mbarrier ends.

A thread sleeps before the waiting instruction, and executes it when woken. If no thread can run, an
asynchronous operation completes. If no operation is in flight, the waits that are allowed to fail
(`try_wait`) fail; too many such rounds without progress are reported as a deadlock.
"""

from __future__ import annotations

import weakref

import numpy as np

from forgekit.vgpu.batch import Waiting
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine.groups import Groups

_FRUITLESS = 64  # rounds of failed waits before a deadlock is reported


class WaitQueue:
    """The sleeping groups of a batch."""

    def __init__(self, machine: Groups) -> None:
        self.machine: Groups = weakref.proxy(machine)
        self.given_up: Array | None = None  # threads whose waits fail
        self._rounds = 0

    def made_progress(self) -> None:
        self._rounds = 0

    def wake(self, what: str, ended: Array) -> None:
        """Wake the threads that wait for a key k for which `ended[k]` is True."""
        self._rounds = 0
        m, left = self.machine, []
        for group in m.asleep:
            go = None
            if group.what == what:
                go = group.mask & np.broadcast_to(ended[group.keys], m.shape)
            if go is None or not go.any():
                left.append(group)
                continue
            m.resume(group.pc, None if go.all() else go)
            rest = group.mask & ~go
            if rest.any():
                left.append(Waiting(group.pc, rest, what, group.keys, group.parity))
        m.asleep = left

    def keys(self, what: str) -> Array:
        """Return the distinct keys for which threads wait: the indices of mbarriers or, if `what`
        is `cluster`, of clusters."""
        shape = self.machine.shape
        found = [
            np.broadcast_to(g.keys, shape)[g.mask] for g in self.machine.asleep if g.what == what
        ]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def give_up(self) -> bool:
        """End the waits that are allowed to fail. Return False if there are none, or after too many
        rounds."""
        m = self.machine
        trying = [g for g in m.asleep if g.what == "mbarrier"]
        self._rounds += 1
        if not trying or self._rounds > _FRUITLESS:
            return False
        m.asleep = [g for g in m.asleep if g.what != "mbarrier"]
        gone = np.logical_or.reduce([g.mask for g in trying])
        self.given_up = gone if self.given_up is None else self.given_up | gone
        for group in trying:
            m.join(group.pc, group.mask)
        return True

    def take_given_up(self, mask: Array | None) -> Array | None:
        """Return the threads in `mask` whose waits fail now, and remove them from `given_up`."""
        if self.given_up is None:
            return None
        taken = self.given_up & self.machine.expand(mask)
        self.given_up = self.given_up & ~taken
        if not self.given_up.any():
            self.given_up = None
        return np.asarray(taken) if taken.any() else None
