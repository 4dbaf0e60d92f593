"""Test clusters: special registers, distributed shared memory, and barriers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from ptx_launch import launch

from forgekit.vgpu.errors import DeadlockError, KernelError, MemoryAccessError

# %r1: the block's linear index; %rd11: the address of the thread's element of x; %r6: the address
# of its element of s.
BLOCKS_OF_32 = """.shared .align 16 .b8 s[128];
mov.u32 %r1, %ctaid.x; shl.b32 %r2, %r1, 5; add.s32 %r2, %r2, %r0;
mul.wide.u32 %rd10, %r2, 4; add.s64 %rd11, %rd0, %rd10;
mov.u32 %r3, %cluster_ctarank; mov.b32 %r4, s; shl.b32 %r5, %r0, 2; add.s32 %r6, %r4, %r5; """
MEET = "barrier.cluster.arrive; barrier.cluster.wait; "
STORE = "st.shared.b32 [%r6], %r2; " + MEET
BACK = " st.global.b32 [%rd11], %r20; " + MEET + "ret;"
NEXT = "add.u32 %r7, %r3, 1; rem.u32 %r7, %r7, CLUSTER; "  # the rank of the next block


def run(body: str, *, grid: int = 8, cluster: int = 4, **options: object) -> np.ndarray:
    x = np.zeros(32 * grid, np.uint32)
    text = BLOCKS_OF_32 + body.replace("CLUSTER", str(cluster))
    launch(text, x, grid=grid, cluster=cluster, **options)
    return x.reshape(grid, 32)


def of_next(grid: int, cluster: int) -> np.ndarray:
    """Return the value that each thread of each block reads from the same index in the cluster's
    next block."""
    own = np.arange(32 * grid).reshape(-1, cluster, 32)
    return np.roll(own, -1, axis=1).reshape(grid, 32)


# -- registers -------------------------------------------------------------------------------------
NAMES = [
    *(f"%{name}.{axis}" for axis in "xyz" for name in
      ("ctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")),
    "%cluster_ctarank", "%cluster_nctarank",
]  # fmt: skip


@pytest.mark.parametrize(
    ("grid", "cluster"), [((6, 1, 1), (2, 1, 1)), ((4, 6, 2), (2, 3, 1)), ((2, 2, 4), (1, 2, 2))]
)
def test_special_registers(grid, cluster):
    """Each block writes its registers to its row, found by its coordinates."""
    n = len(NAMES)
    row = f"""mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
    mad.lo.u32 %r2, %r3, {grid[1]}, %r2; mad.lo.u32 %r1, %r2, {grid[0]}, %r1;
    mul.wide.u32 %rd10, %r1, {4 * n}; add.s64 %rd11, %rd0, %rd10; """
    body = row + "".join(
        f"mov.u32 %r5, {name}; st.global.b32 [%rd11+{4 * i}], %r5; " for i, name in enumerate(NAMES)
    )
    blocks = int(np.prod(grid))
    x = np.zeros(blocks * n, np.uint32)
    launch(body + "ret;", x, grid=grid, cluster=cluster, block=1, batch_threads=64)
    for got, (z, y, x_) in zip(
        x.reshape(blocks, n).tolist(), itertools.product(*map(range, grid[::-1])), strict=True
    ):
        at, want, rank, size = (x_, y, z), [], 0, 1
        for axis in range(3):
            c = cluster[axis]
            want += [at[axis], at[axis] // c, grid[axis] // c, at[axis] % c, c]
            rank, size = rank + at[axis] % c * size, size * c
        assert got == [*want, rank, size]


# -- distributed shared memory ---------------------------------------------------------------------
MAP = NEXT + "mapa.shared::cluster.u32 %r8, %r6, %r7; "


@pytest.mark.parametrize("batch_threads", [32, 1 << 15])
@pytest.mark.parametrize(("grid", "cluster"), [(8, 4), (6, 2), (16, 16), (3, 1)])
def test_loads_from_the_next_block(grid, cluster, batch_threads):
    body = STORE + MAP + "ld.shared::cluster.b32 %r20, [%r8];" + BACK
    got = run(body, grid=grid, cluster=cluster, batch_threads=batch_threads)
    assert (got == of_next(grid, cluster)).all()


def test_stores_into_the_next_block():
    body = MEET + MAP + "st.shared::cluster.b32 [%r8], %r2; " + MEET
    got = run(body + "ld.shared.b32 %r20, [%r6];" + BACK)
    assert (got == np.roll(np.arange(256).reshape(2, 4, 32), 1, axis=1).reshape(8, 32)).all()


def test_generic_addresses():
    body = f"""{STORE} {NEXT} cvt.u64.u32 %rd12, %r6; cvta.shared.u64 %rd13, %rd12;
    mapa.u64 %rd14, %rd13, %r7; ld.b32 %r20, [%rd14];"""
    assert (run(body + BACK) == of_next(8, 4)).all()


def test_atomics_count_every_block():
    body = f"""mov.b32 %r20, 0; st.shared.b32 [%r6], %r20; {MEET}
    mov.b32 %r9, 0; mapa.shared::cluster.u32 %r8, %r6, %r9; red.shared::cluster.add.u32 [%r8], 1;
    atom.shared::cluster.add.u32 %r10, [%r8], 1; {MEET} ld.shared.b32 %r20, [%r6];"""
    got = run(body + BACK)
    assert (got.reshape(2, 4, 32) == np.array([8, 0, 0, 0])[:, None]).all()


def test_a_block_s_own_addresses_are_shared_cluster_addresses():
    assert (run(STORE + "ld.shared::cluster.b32 %r20, [%r6];" + BACK) == of_next(8, 1)).all()


def test_whose_memory_an_address_is():
    body = MAP + "getctarank.shared::cluster.u32 %r20, %r8;"
    assert (run(body + BACK)[:4, 0] == [1, 2, 3, 0]).all()
    body = "getctarank.shared::cluster.u32 %r20, %r6;"
    assert (run(body + BACK)[:4, 0] == [0, 1, 2, 3]).all()


def test_a_rank_that_is_none():
    body = "mapa.shared::cluster.u32 %r8, %r6, 4; ld.shared::cluster.b32 %r20, [%r8];"
    with pytest.raises(
        MemoryAccessError, match="belongs to no block of its cluster of 4 blocks"
    ) as caught:
        run(STORE + body + BACK)
    assert caught.value.kind == "out-of-bounds"


def test_an_offset_that_is_none():
    with pytest.raises(
        MemoryAccessError, match="shared-memory offset 128, but a block has only 128 bytes"
    ):
        run(STORE + MAP + "ld.shared::cluster.b32 %r20, [%r8+128];" + BACK)


def test_a_mapped_address_is_none_of_the_block_s_own():
    with pytest.raises(MemoryAccessError, match="Out of bounds"):
        run(STORE + MAP + "ld.shared.b32 %r20, [%r8];" + BACK)


def test_a_block_that_has_left():
    """Block 1 of each cluster exits immediately; the other blocks then access its memory."""
    body = "setp.eq.u32 %p1, %r3, 1; @%p1 exit; mapa.shared::cluster.u32 %r8, %r6, 1; "
    with pytest.raises(
        MemoryAccessError, match="block 1 of its cluster, but all threads"
    ) as caught:
        run(body + "ld.shared::cluster.b32 %r20, [%r8];" + BACK)
    assert caught.value.kind == "block-lifetime"


# -- the barrier -----------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(4))
def test_the_barrier_holds_in_any_order(seed):
    """Values move to the next block in six rounds; threads of a block run in adversarial orders."""
    hand = MAP.replace(NEXT, "") + "st.shared::cluster.b32 [%r8], %r11; "
    form = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; "
    rounds = (hand + MEET + "ld.shared.b32 %r11, [%r6]; add.u32 %r11, %r11, 1; " + form) * 6
    body = NEXT + "mov.b32 %r11, %r2; " + MEET + rounds + "mov.b32 %r20, %r11;" + BACK
    got = run(body, schedule="adversarial", seed=seed)
    want = np.roll(np.arange(256).reshape(2, 4, 32), 6, axis=1) + 6
    assert (got == want.reshape(8, 32)).all()


def test_work_between_arriving_and_waiting():
    body = "barrier.cluster.arrive.relaxed; mov.b32 %r20, %r2; barrier.cluster.wait; "
    assert (run(body + BACK) == np.arange(256).reshape(8, 32)).all()


def test_threads_that_have_exited_are_not_waited_for():
    body = "setp.eq.u32 %p1, %r3, 2; @%p1 exit; setp.gt.u32 %p2, %r0, 15; @%p2 exit; "
    got = run(body + "mov.b32 %r20, %r2;" + BACK)
    assert (np.flatnonzero(got.any(axis=1)) == [0, 1, 3, 4, 5, 7]).all()


def test_a_barrier_that_one_block_does_not_reach():
    """Block 3 of each cluster waits at a block barrier that never completes."""
    body = "setp.eq.u32 %p1, %r3, 3; @%p1 bar.sync 1, 64; "
    with pytest.raises(DeadlockError) as caught:
        run(body + MEET + "ret;")
    message = str(caught.value)
    assert "of block (0, 0, 0) (and 191 more) waits at the cluster barrier" in message
    assert "  thread (0, 0, 0) of block (3, 0, 0) (and 31 more) has not arrived" in message


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("barrier.cluster.wait; ret;", "waits without having arrived"),
        ("barrier.cluster.arrive; barrier.cluster.arrive; ret;", "arrives again without waiting"),
    ],
)
def test_misused(body, says):
    with pytest.raises(KernelError, match=says) as caught:
        run(body)
    assert caught.value.kind == "barrier-count"
