"""Find shared-memory stores that asynchronous copies may not see yet, because a proxy fence is
missing.

Ordinary stores and asynchronous copies see memory through different proxies (PTX ISA, "Proxies"): a
barrier between a store and a copy is not enough. The storing thread, or a thread ordered after it,
must also execute `fence.proxy.async`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forgekit.vgpu.batch import Batch
from forgekit.vgpu.floats import Array
from forgekit.vgpu.listeners import Access
from forgekit.vgpu.machine import WARP
from forgekit.vgpu.sanitizer.clocks import WarpClocks
from forgekit.vgpu.sanitizer.findings import Report, shared_byte
from forgekit.vgpu.sanitizer.messages import UNFENCED
from forgekit.vgpu.sanitizer.reach import Reach, reach
from forgekit.vgpu.sanitizer.shadow import ENGINE

_OVER = -1  # the epoch of a store that precedes all later accesses


@dataclass
class _Stores:
    """An instruction's stores: thread `who[i]` stored to `units[i]` in epoch `epoch[i]` of its
    warp."""

    pc: int
    units: Array
    who: Array
    epoch: Array

    def keep(self, which: Array) -> None:
        self.units, self.who, self.epoch = self.units[which], self.who[which], self.epoch[which]


class UnfencedStores:
    """Keeps the unfenced stores of a batch, if the kernel reads shared memory asynchronously. unit:
    bytes per unit."""

    def __init__(self, m: Batch, clocks: WarpClocks, unit: int, report: Report) -> None:
        self._clocks, self._unit, self._report = clocks, unit, report
        self._open: list[_Stores] = []
        self._on = any(
            i.opcode[0] == "wgmma" or (i.opcode[0] == "cp" and "bulk_group" in i.opcode)
            for i in m.program.instructions
        )

    def _place(self, who: Array) -> tuple[Array, Array]:
        """Return each thread's team, and its warp's number in the team."""
        team, warp = np.divmod(who // WARP, self._clocks.team_warps)
        return team, warp

    def store(self, m: Batch, access: Access) -> None:
        for target in access.targets if self._on else ():
            if target.space == "shared":
                found = reach(m, access, target, self._unit)
                epoch = self._clocks.now.epoch[self._place(found.who)]
                self._open.append(_Stores(m.pc, found.units, found.who, epoch))

    def fence(self, m: Batch, mask: Array | None) -> None:
        """Record that threads execute a fence, which makes their stores, and all stores ordered
        before the fence, visible to asynchronous copies."""
        if not self._open:
            return
        full = m.expand(mask)
        epoch, vectors, _ = self._clocks.now
        own = self._clocks.team_warps
        fences = m.lanes(full).any(axis=1).reshape(len(epoch), own)
        over = np.where(fences, epoch[:, :own], _OVER)  # the last fenced epoch per warp
        if vectors is not None:
            joined = np.where(fences[:, :, None], vectors[:, :, :own], _OVER)
            over = np.maximum(over, joined.max(axis=1))
        by_thread = full.reshape(-1)
        for stores in self._open:
            visible = over[self._place(stores.who)] > stores.epoch
            stores.keep(~(by_thread[stores.who] | visible))
        self._open = [stores for stores in self._open if len(stores.units)]

    def everyone_met(self) -> None:
        """Record that all earlier stores precede all later accesses."""
        for stores in self._open:
            stores.epoch = np.full_like(stores.epoch, _OVER)

    def overwritten(self, found: Reach) -> None:
        """Record that an asynchronous operation overwrites these units."""
        for stores in self._open:
            stores.keep(~np.isin(stores.units, found.units))

    def read(self, m: Batch, found: Reach) -> None:
        """Report unfenced stores to units that an asynchronous copy or a product reads."""
        threads, message = found.who & (ENGINE - 1), UNFENCED
        if m.program.instructions[m.pc].opcode[0] == "wgmma":
            message = UNFENCED._replace(text=UNFENCED.text.replace("copy", "product"))
        for stores in self._open:
            bad = np.flatnonzero(np.isin(found.units, stores.units))
            if len(bad):
                unit = int(found.units[bad[0]])
                who = int(stores.who[stores.units == unit][0])
                self._report.add(
                    message, (m.pc, stores.pc), self._report.in_batch(m, int(threads[bad[0]])),
                    shared_byte(unit * self._unit % m.shared.stride), count=len(bad),
                    other=self._report.in_batch(m, who),
                )  # fmt: skip
