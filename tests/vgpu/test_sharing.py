"""Test sharing between blocks: distinct sectors of each block, and of several blocks together."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_launch import kernel, launch

from forgekit.vgpu import Recording
from forgekit.vgpu.counters.sharing import Shared

LOAD = """mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, STRIDE, %r0; mul.wide.u32 %rd2, %r2, 4;
add.s64 %rd3, %rd0, %rd2; ld.global.b32 %r3, [%rd3]; """
STORE = "add.s64 %rd4, %rd1, %rd2; st.global.b32 [%rd4], %r3; ret;"


def shared(body: str, grid: int, *, blocks: int | None = None, **how: object) -> Shared:
    x, y = np.zeros(64 * 4096, np.int32), np.zeros(64 * 4096, np.int32)
    with Recording(keep=False, shares=True, blocks=blocks) as recording:
        launch(kernel(body, 2), x, y, grid=grid, **{"block": 64, **how})  # type: ignore[arg-type]
    (found,) = recording.shared
    return found


def loads(stride: int) -> str:
    return LOAD.replace("STRIDE", str(stride))


@pytest.mark.parametrize(
    ("stride", "together"), [(0, 8), (64, 16), (32, 12)], ids=["all", "none", "half"]
)
def test_two_blocks(stride, together):
    """The blocks have 64 threads, so they touch 8 sectors each."""
    found = shared(loads(stride) + STORE, 2)
    assert (found.n_blocks, found.blocks) == (2, 2)
    for way in (found.loads, found.stores):
        assert (way.of_each, way.together) == (16, together)
        assert (way.near_each, way.near_together) == (16, together)
    assert found.warp_loads == 16 and found.atomics.of_each == 0
    assert len(found.instructions) == 2 and found.instructions[0] == found.instructions[1] > 0


def test_a_block_that_loads_something_twice_needs_it_once():
    again = loads(64) + "ld.global.b32 %r4, [%rd3]; ld.global.b32 %r5, [%rd0]; " + STORE
    found = shared(again, 2)
    assert found.loads.of_each == 16 + 1  # plus the first sector of x, which block 0 also reads
    assert found.loads.together == 16
    assert found.warp_loads == 16 + 3  # both warps of block 1, and the second of block 0


def test_lanes_that_are_masked_off_touch_nothing():
    half = loads(64).replace("ld.global", "setp.lt.u32 %p1, %r0, 32; @%p1 ld.global")
    assert shared(half + STORE, 2).loads.of_each == 8
    scattered = loads(64).replace("%r1, 64, %r0", "%r1, 64, %r4").replace(
        "mov.u32", "xor.b32 %r4, %r0, 8; mov.u32", 1)  # fmt: skip
    assert shared(scattered + STORE, 2).loads.of_each == 16


def test_atomics_are_a_kind_of_their_own():
    found = shared(loads(64) + "red.global.add.s32 [%rd1], 1; ret;", 4)
    assert (found.atomics.of_each, found.atomics.together) == (4, 1)
    assert found.stores.of_each == 0


def test_of_many_blocks_some_are_looked_at():
    found = shared(loads(64) + STORE, 4000)
    assert (found.n_blocks, found.blocks) == (4000, 16)
    assert (found.loads.of_each, found.loads.together) == (16 * 8, 16 * 8)
    assert (found.loads.near_each, found.loads.near_together) == (16 * 8, 16 * 8)
    halves = shared(loads(32) + STORE, 4000)
    assert (halves.loads.of_each, halves.loads.together) == (16 * 8, 16 * 8)  # far apart
    assert (halves.loads.near_each, halves.loads.near_together) == (16 * 8, 17 * 4)


def test_of_a_sample_all_are_looked_at():
    found = shared(loads(32) + STORE, 4000, blocks=64)
    assert (found.n_blocks, found.blocks) == (4000, 64)
    assert found.loads.of_each == 64 * 8
    assert (found.loads.near_each, found.loads.near_together) == (16 * 8, 17 * 4)
    assert len(found.instructions) == 64


@pytest.mark.parametrize("batch_threads", [64, 4096, 1 << 15])
@pytest.mark.parametrize("blocks", [None, 64])
def test_batches_make_no_difference(blocks, batch_threads):
    one = shared(loads(32) + STORE, 1000, blocks=blocks)
    assert shared(loads(32) + STORE, 1000, blocks=blocks, batch_threads=batch_threads) == one


def test_longer_blocks_are_seen():
    """Block 3 runs the loop ten times."""
    body = """mov.u32 %r9, %ctaid.x; setp.eq.u32 %p1, %r9, 3; selp.b32 %r8, 10, 1, %p1;
    L: sub.u32 %r8, %r8, 1; setp.ne.u32 %p2, %r8, 0; @%p2 bra L; ret;"""
    found = shared(body, 8).instructions
    assert found[3] == max(found) == found[0] + 2 * 9 * 3
