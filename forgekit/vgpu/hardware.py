"""The numbers of the hardware that the virtual GPU models, and what an access of a warp costs."""

from __future__ import annotations

import numpy as np

from forgekit.vgpu.counters import rules
from forgekit.vgpu.floats import Array
from forgekit.vgpu.host import limits
from forgekit.vgpu.host.options import SCHEDULES
from forgekit.vgpu.host.signature import MOST


class Hardware:
    """Holds what is the same in every run.

    ARCHITECTURES: those that can be compiled for; DEFAULT_ARCH: where none is named. LANES of a
    warp; BANKS of shared memory, each BANK_BYTES wide; SECTOR_BYTES: what L1 asks of L2.
    LARGEST_INDEX: of an offset in 32 bits. SCHEDULES: the orders in which threads can run.
    """

    ARCHITECTURES = limits.ARCHITECTURES
    DEFAULT_ARCH = limits.DEFAULT_ARCH
    LANES = rules.LANES
    BANKS = rules.BANKS
    BANK_BYTES = rules.BANK_BYTES
    SECTOR_BYTES = rules.SECTOR_BYTES
    LARGEST_INDEX = MOST
    SCHEDULES = SCHEDULES

    def max_shared_bytes(self, arch: str) -> int:
        """Return the shared memory that a block can have, for `sm_90a` and the like."""
        return limits.max_shared_bytes(arch)

    def cost(
        self, space: str, kind: str, address: Array, active: Array, width: int
    ) -> tuple[int, int]:
        """Return (sectors or wavefronts, the fewest that would do) of one warp's access.

        space: global or shared; kind: load, store or atomic; address, active: (32,); width: bytes
        of a lane.
        """
        rows, there = np.maximum(address, 0)[None], active[None]
        if space == "shared":
            return _only(rules.wavefronts(rows, there, width, kind))
        rule = rules.atomic_sectors if kind == "atomic" else rules.sectors
        return _only(rule(rows, there, width))

    def copy_cost(
        self, source: Array, target: Array, active: Array, width: int, *, past_l1: bool
    ) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the `cost` of one warp's cp.async in global and in shared memory."""
        rule = rules.past_l1 if past_l1 else rules.through_l1
        there = active[None]
        read, written = rule(np.maximum(source, 0)[None], np.maximum(target, 0)[None], there, width)
        return _only(read), _only(written)

    def load_parts(self, address: Array, active: Array, width: int) -> int:
        """Return the number of parts of a warp that a load of shared memory serves in turn."""
        return int(rules.load_parts(np.maximum(address, 0)[None], active[None], width)[0])


def _only(cost: rules.Cost) -> tuple[int, int]:
    return int(cost[0][0]), int(cost[1][0])


HARDWARE = Hardware()
