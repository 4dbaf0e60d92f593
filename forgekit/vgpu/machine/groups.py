"""Manage groups of threads: merge them, split them, and report events to listeners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from forgekit.vgpu.access.addressing import Target
from forgekit.vgpu.adversary import Adversary
from forgekit.vgpu.batch import Batch, Waiting, pack_lanes, union
from forgekit.vgpu.code import Code
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import WARP, LaunchRecord
from forgekit.vgpu.listeners import Access, Listener
from forgekit.vgpu.memory import GlobalMemory


class Groups(Batch, ABC):
    """A batch whose threads run in groups; the scheduler, a `Machine`, chooses among them."""

    def __init__(
        self,
        program: Code,
        record: LaunchRecord,
        memory: GlobalMemory,
        blocks: Sequence[int],
        *,
        listeners: Sequence[Listener] = (),
        adversary: Adversary | None = None,
    ) -> None:
        super().__init__(program, record, memory, blocks, adversary)
        self.listeners = listeners
        self.executed = 0
        self._start = 0  # the running group's instructions from this one on are not counted yet
        self._waits = False  # the running group has been parked

    @abstractmethod
    def exit(self, mask: Array | None) -> bool:
        """End the threads of `mask`, and release those that waited only for them."""

    def _ran(self, stop: int) -> None:
        """Report that the running group has executed everything up to `stop`."""
        for listener in self.listeners:
            listener.on_run(self, self._start, stop, self.mask)
        self.executed += stop - self._start
        self._start = stop

    def notify(
        self,
        kind: str,
        space: str,
        address: Array,
        mask: Array | None,
        width: int,
        targets: Sequence[Target],
        values: Sequence[Array] | None = None,
        copy: object = None,
    ) -> None:
        """Report an access to the listeners; see `Access`."""
        if self.listeners:
            access = Access(kind, space, address, mask, width, targets, values, copy)
            for listener in self.listeners:
                listener.on_access(self, access)

    def narrow(self, mask: Array) -> None:
        """Continue with part of the running group; the caller has handled the others."""
        self._ran(self.pc)
        self.mask = mask

    @property
    def clock(self) -> int:
        """Return the number of instructions executed so far, which increases and is the same in
        every run but is not a time."""
        return self.executed + self.pc - self._start

    def join(self, pc: int, mask: Array | None) -> None:
        """Let the threads of `mask` continue at `pc`, together with those already there."""
        if pc >= len(self.program.instructions):
            self.exit(mask)
        else:
            self.runnable[pc] = union(self.runnable[pc], mask) if pc in self.runnable else mask

    def resume(self, pc: int, mask: Array | None) -> None:
        """Like `join`, for threads that start or leave a barrier, which an adversary may split."""
        if self.adversary is None:
            self.join(pc, mask)
            return
        first, *later = self.adversary.parts(self.expand(mask))
        self.join(pc, first)
        self.held += [(pc, part) for part in later]

    def jump(self, pc: int, mask: Array | None) -> bool:
        self.join(pc, mask)
        return True

    def park_incomplete(self, members: Array | None, warps: int = 1) -> bool:
        """Wait, before a warp-wide instruction, for named lanes that are at other instructions.

        members: 32-bit member masks per thread, None for all lanes; warps: the number of
        neighbouring warps that execute it together. Return True if the whole group must wait (the
        scheduler then chooses again); otherwise the rest continues.
        """
        if self.alone:
            return False
        present = self.lanes(self.mask)
        absent = pack_lanes(self.lanes(self.alive) & ~present)[:, None]
        if members is not None and not (members.size == 1 and members.flat[0] == 0xFFFFFFFF):
            absent = absent & np.broadcast_to(members, self.shape).reshape(-1, WARP)
        if warps > 1:
            missing = (absent != 0).reshape(self.n_blocks, -1)
            together = np.arange(missing.shape[1]) // warps
            some = np.logical_or.reduceat(missing, np.unique(together, return_index=True)[1], 1)
            absent = some[:, together].reshape(-1, 1)
        waiting = present & (absent != 0)
        if not waiting.any():
            return False
        self.parked[self.pc] = waiting.reshape(self.shape)
        return self._all_wait((present & ~waiting).reshape(self.shape))

    def sleep_until(
        self, ready: Array, what: str, keys: Array, parity: Array | None = None
    ) -> bool:
        """Put threads outside `ready` (a full mask) to sleep before an instruction that waits.

        Return True if the whole group sleeps; otherwise the rest continues.
        """
        going, waiting = self.expand(self.mask) & ready, self.expand(self.mask) & ~ready
        if not waiting.any():
            return False
        self.asleep.append(Waiting(self.pc, waiting, what, keys, parity))
        return self._all_wait(going)

    def _all_wait(self, going: Array) -> bool:
        """Continue with the threads `going`, before the instruction for which the others wait;
        return True if there are none."""
        self._waits = not going.any()
        if not self._waits:
            self.narrow(going)
            self.protected |= self.program.live[self.pc]
        return self._waits
