"""Special registers: where a thread stands in its warp, block and grid."""

from __future__ import annotations

import numpy as np
import pytest

from forgekit.vgpu import LaunchRecord
from forgekit.vgpu.host import launching
from forgekit.vgpu.memory import GlobalMemory, TensorInfo
from forgekit.vgpu.program import load

GRID, BLOCK = (3, 2, 2), (5, 4, 2)  # 40 threads: one whole warp and a part of another
THREADS, BLOCKS = 40, 12


def read(register: str, width: int = 32) -> list[int]:
    """The register in every thread of every block, blocks and threads counted with x fastest."""
    out = np.zeros(THREADS * BLOCKS, f"u{width // 8}")
    memory = GlobalMemory()
    info = TensorInfo("out", str(out.dtype), out.itemsize, out.shape, (1,))
    address = memory.add(out.ctypes.data, out.nbytes, info, owner=out).address
    text = f"""
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .b64 out, .param .b64 slot) {{
    .reg .b32 %r<2>; .reg .b64 %rd<4>;
    ld.param.b64 %rd1, [out]; ld.param.b64 %rd2, [slot];
    mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, {width // 8}, %rd1;
    mov.u32 %r1, %tid.y; mad.wide.u32 %rd1, %r1, {width // 8 * BLOCK[0]}, %rd1;
    mov.u32 %r1, %tid.z; mad.wide.u32 %rd1, %r1, {width // 8 * BLOCK[0] * BLOCK[1]}, %rd1;
    mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd1, %r1, {width // 8 * THREADS}, %rd1;
    mov.u32 %r1, %ctaid.y; mad.wide.u32 %rd1, %r1, {width // 8 * THREADS * GRID[0]}, %rd1;
    mov.u32 %r1, %ctaid.z; mad.wide.u32 %rd1, %r1, {width // 8 * THREADS * GRID[0] * GRID[1]}, %rd1;
    mov.b{width} %{"r1" if width == 32 else "rd3"}, {register};
    st.global.b{width} [%rd1], %{"r1" if width == 32 else "rd3"};
    ret;
}}"""
    params = address.to_bytes(8, "little") + bytes(8)
    launching.launch(load(text)["k"], LaunchRecord("k", GRID, BLOCK, 0, params), memory)
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
