"""Test special registers: a thread's position in its warp, block and grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ptx_launch import launch

GRID, BLOCK = (3, 2, 2), (5, 4, 2)  # 40 threads: one whole warp and part of another
THREADS, BLOCKS = 40, 12


def read(register: str, width: int = 32) -> list[int]:
    """Return the register in every thread of every block; blocks and threads are counted with x
    fastest."""
    out = np.zeros(THREADS * BLOCKS, f"u{width // 8}")
    counts = (1, *BLOCK, *GRID)
    steps = [out.itemsize * math.prod(counts[: k + 1]) for k in range(6)]
    names = [f"%{name}.{axis}" for name in ("tid", "ctaid") for axis in "xyz"]
    at = "".join(
        f"mov.u32 %r1, {name}; mad.wide.u32 %rd0, %r1, {step}, %rd0; "
        for name, step in zip(names, steps, strict=True)
    )
    held = "%r1" if width == 32 else "%rd3"
    body = f"{at} mov.b{width} {held}, {register}; st.global.b{width} [%rd0], {held}; ret;"
    launch(body, out, grid=GRID, block=BLOCK)
    return out.tolist()


def expected(value) -> list[int]:  # type: ignore[no-untyped-def]
    return [
        value(x + BLOCK[0] * (y + BLOCK[1] * z), (x, y, z), (bx, by, bz))
        for bz in range(GRID[2]) for by in range(GRID[1]) for bx in range(GRID[0])
        for z in range(BLOCK[2]) for y in range(BLOCK[1]) for x in range(BLOCK[0])
    ]  # fmt: skip


@pytest.mark.parametrize("axis", range(3))
def test_coordinates_and_extents(axis: int) -> None:
    letter = "xyz"[axis]
    assert read(f"%tid.{letter}") == expected(lambda i, thread, block: thread[axis])
    assert read(f"%ctaid.{letter}") == expected(lambda i, thread, block: block[axis])
    assert set(read(f"%ntid.{letter}")) == {BLOCK[axis]}
    assert set(read(f"%nctaid.{letter}")) == {GRID[axis]}


def test_warps_and_lanes() -> None:
    assert read("%laneid") == expected(lambda i, *_: i % 32)
    assert read("%warpid") == expected(lambda i, *_: i // 32)
    assert set(read("%nwarpid")) == {2}


@pytest.mark.parametrize(
    "name, holds",
    [
        ("eq", lambda bit, lane: bit == lane), ("lt", lambda bit, lane: bit < lane),
        ("le", lambda bit, lane: bit <= lane), ("gt", lambda bit, lane: bit > lane),
        ("ge", lambda bit, lane: bit >= lane),
    ],
)  # fmt: skip
def test_lane_masks(name: str, holds) -> None:  # type: ignore[no-untyped-def]
    want = expected(lambda i, *_: sum(1 << bit for bit in range(32) if holds(bit, i % 32)))
    assert read(f"%lanemask_{name}") == want


def test_without_clusters_a_block_is_one() -> None:
    assert set(read("%cluster_ctarank")) == {0} and set(read("%cluster_nctarank")) == {1}
    assert read("%clusterid.x") == read("%ctaid.x")


def test_clocks_run_the_same_each_time() -> None:
    assert read("%clock64", 64) == read("%clock64", 64)
    assert read("%clock64", 64)[0] > 0
