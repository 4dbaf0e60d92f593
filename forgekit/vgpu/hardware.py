"""Provide the constants of the modelled hardware, and the cost of a warp's access."""

from __future__ import annotations

import numpy as np

from forgekit.vgpu.counters import rules
from forgekit.vgpu.floats import Array
from forgekit.vgpu.host import limits
from forgekit.vgpu.host.options import SCHEDULES
from forgekit.vgpu.host.signature import MOST


class Hardware:
    """The constants of the modelled hardware.

    ARCHITECTURES: the compile targets; DEFAULT_ARCH: the default target; LANES: threads per warp;
    BANKS: banks of shared memory; BANK_BYTES: the width of a bank; SECTOR_BYTES: the unit of L1's
    requests to L2; LARGEST_INDEX: the largest 32-bit offset; SCHEDULES: the orders in which threads
    can run.
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
        """Return the maximum shared memory per block, in bytes, for an architecture such as
        `sm_90a`."""
        return limits.max_shared_bytes(arch)

    def cost(
        self, space: str, kind: str, address: Array, active: Array, width: int
    ) -> tuple[int, int]:
        """Return the cost and the minimum cost of a warp's access, in sectors (global) or
        wavefronts (shared).

        space: `global` or `shared`; kind: `load`, `store` or `atomic`; address, active: arrays of
        32 entries; width: bytes per lane.
        """
        rows, there = np.maximum(address, 0)[None], active[None]
        if space == "shared":
            return _only(rules.wavefronts(rows, there, width, kind))
        rule = rules.atomic_sectors if kind == "atomic" else rules.sectors
        return _only(rule(rows, there, width))

    def copy_cost(
        self, source: Array, target: Array, active: Array, width: int, *, past_l1: bool
    ) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the `cost` of a warp's cp.async in global memory, and that in shared memory."""
        rule = rules.past_l1 if past_l1 else rules.through_l1
        there = active[None]
        read, written = rule(np.maximum(source, 0)[None], np.maximum(target, 0)[None], there, width)
        return _only(read), _only(written)

    def load_parts(self, address: Array, active: Array, width: int) -> int:
        """Return the number of parts into which the hardware divides a warp's load from shared
        memory."""
        return int(rules.load_parts(np.maximum(address, 0)[None], active[None], width)[0])


def _only(cost: rules.Cost) -> tuple[int, int]:
    return int(cost[0][0]), int(cost[1][0])


HARDWARE = Hardware()
