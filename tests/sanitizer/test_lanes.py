"""Test the order within a warp whose lanes synchronise in groups, against one clock per lane."""

from __future__ import annotations

import numpy as np
import pytest

from forgekit.vgpu.sanitizer.clocks import WarpClocks
from forgekit.vgpu.sanitizer.order import in_block_order
from forgekit.vgpu.sanitizer.shadow import READ, Touch

WARPS, LANES = 2, 32


class LaneClocks:
    """For each lane, the number of steps of each lane of its warp that are ordered before the
    lane's next access."""

    def __init__(self) -> None:
        self.known = np.zeros((WARPS, LANES, LANES), int)
        self.step = 0

    def sync(self, warp: int, lanes: np.ndarray) -> None:
        known = self.known[warp]
        known[lanes, lanes] = self.step
        known[lanes] = known[lanes].max(axis=0)


def touch(clocks: WarpClocks, step: int) -> Touch:
    return Touch(READ, np.zeros(0, int), np.zeros(0, int), step, clocks.now, step)


@pytest.mark.parametrize("seed", range(40))
def test_random_syncs_of_lanes(seed):
    """All lanes access memory in every step; between steps, part of a warp, several groups, or all
    lanes of it synchronise."""
    draw = np.random.default_rng(seed)
    clocks, lanes, touches = WarpClocks(1, WARPS), LaneClocks(), []
    for step in range(12):
        lanes.step = step
        warp = int(draw.integers(WARPS))
        warps = np.arange(WARPS)[None] == warp
        touches.append((step, touch(clocks, step), lanes.known.copy()))
        lanes.step = step + 1
        kind = draw.integers(4)
        if kind == 0:
            clocks.warp_sync(warps)
            lanes.sync(warp, np.arange(LANES))
            continue
        group = draw.integers(1 + kind, size=LANES)  # 0: absent; equal numbers synchronise
        met = np.zeros((WARPS, LANES), np.uint32)
        for number in range(1, kind + 1):
            here = np.flatnonzero(group == number)
            met[warp, here] = np.bitwise_or.reduce(
                np.uint32(1) << here.astype(np.uint32), initial=0
            )
            if len(here):
                lanes.sync(warp, here)
        clocks.warp_sync(warps, met)
    first, second = (a.reshape(-1) for a in np.indices((WARPS * LANES, WARPS * LANES)))
    inside = (first // LANES == second // LANES) & (first != second)
    first, second = first[inside], second[inside]
    engine = np.zeros(len(first), bool)
    for before, earlier, _ in touches:
        for _, later, known in touches[before + 1 :]:
            got = in_block_order(earlier, first, later, second, WARPS, engine)
            want = known[second // LANES, second % LANES, first % LANES] > before
            assert np.array_equal(got, want)
