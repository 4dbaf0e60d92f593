"""Manage groups of threads: merge groups, split groups, and report events to listeners."""

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
    """A batch whose threads run in groups, one group per program counter; the subclass `Machine`
    schedules the groups."""

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
        self._start = 0  # first instruction of the running group that has not been counted
        self._waits = False  # True if the running group has been parked

    @abstractmethod
    def exit(self, mask: Array | None) -> bool:
        """End the threads in `mask`, and release the threads that waited only for them."""

    def _ran(self, stop: int) -> None:
        """Report and count the instructions that the running group has executed before `stop`."""
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
        """Report an access to the listeners; `Access` describes the arguments."""
        if self.listeners:
            access = Access(kind, space, address, mask, width, targets, values, copy)
            for listener in self.listeners:
                listener.on_access(self, access)

    def narrow(self, mask: Array) -> None:
        """Reduce the running group to the threads in `mask`; the caller has moved the other threads
        to another group."""
        self._ran(self.pc)
        self.mask = mask

    @property
    def clock(self) -> int:
        """Return the number of executed instructions, which increases and is deterministic, but
        does not measure time."""
        return self.executed + self.pc - self._start

    def join(self, pc: int, mask: Array | None) -> None:
        """Let the threads in `mask` continue at `pc`, in the same group as threads already at
        `pc`."""
        if pc >= len(self.program.instructions):
            self.exit(mask)
        else:
            self.runnable[pc] = union(self.runnable[pc], mask) if pc in self.runnable else mask

    def resume(self, pc: int, mask: Array | None) -> None:
        """Let threads that begin the kernel or leave a barrier continue at `pc`. An adversarial
        schedule may split them and hold some of them back."""
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
        """Park lanes before a warp-wide instruction until all lanes in their member masks reach it.

        members: each thread's 32-bit member mask, or None for all lanes; warps: the number of
        consecutive warps that execute the instruction together. Return True if all lanes of the
        group must wait, so that the scheduler chooses a group again; otherwise, the other lanes
        continue.
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
        """Put the threads that are not in the full mask `ready` to sleep before a waiting
        instruction; `Waiting` describes the other arguments.

        Return True if the whole group sleeps; otherwise, the threads in `ready` continue.
        """
        going, waiting = self.expand(self.mask) & ready, self.expand(self.mask) & ~ready
        if not waiting.any():
            return False
        self.asleep.append(Waiting(self.pc, waiting, what, keys, parity))
        return self._all_wait(going)

    def _all_wait(self, going: Array) -> bool:
        """Reduce the running group to the threads in `going`; return True if there are none. The
        other threads wait before the current instruction."""
        self._waits = not going.any()
        if not self._waits:
            self.narrow(going)
            self.protected |= self.program.live[self.pc]
        return self._waits
