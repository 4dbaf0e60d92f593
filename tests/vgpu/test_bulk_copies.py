"""Test bulk copies and asynchronous stores: their targets, completion and byte counts."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_launch import launch

from forgekit.tracing.touches import Touches
from forgekit.vgpu.counters.counting import Counting
from forgekit.vgpu.errors import KernelError, MemoryAccessError

WORDS = 64  # words per copy, two per thread
FRESH = 0xFFFFFFFF  # unwritten memory

# s: the copied words; %r1: the address of s; [%r2]: an mbarrier that the whole cluster can use.
HEAD = f""".shared .align 16 .b8 s[{4 * WORDS}]; .shared .align 8 .b8 bar[16];
mov.b32 %r1, s; mov.b32 %r2, bar; shl.b32 %r3, %r0, 3; add.s32 %r4, %r1, %r3;
mov.u32 %r9, %ctaid.x; mul.wide.u32 %rd9, %r9, {4 * WORDS}; add.s64 %rd0, %rd0, %rd9;
add.s64 %rd1, %rd1, %rd9; mul.wide.u32 %rd10, %r0, 8; add.s64 %rd11, %rd1, %rd10;
setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [%r2], 1;
fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait; """
EXPECT = f"@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], {4 * WORDS}; "
LOAD = f"""@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
[%r1], [%rd0], {4 * WORDS}, [%r2]; """
WAIT = "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra W; "
READ = "ld.shared.v2.b32 {%r5, %r6}, [%r4]; "
BACK = "st.global.v2.b32 [%rd11], {%r5, %r6}; barrier.cluster.arrive; barrier.cluster.wait; ret;"
STORE = f"@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], {4 * WORDS}; "


def run(body: str, blocks: int = 3, *, cluster: int = 1, **options: object) -> np.ndarray:
    x = np.arange(1, blocks * WORDS + 1, dtype=np.uint32)
    y = np.zeros(blocks * WORDS, np.uint32)
    launch(HEAD + body, x, y, grid=blocks, cluster=cluster, **options)
    return y.reshape(blocks, WORDS)


def source(blocks: int = 3) -> np.ndarray:
    return np.arange(1, blocks * WORDS + 1, dtype=np.uint32).reshape(blocks, WORDS)


# -- from global to shared memory -----------------------------------------------------------------
@pytest.mark.parametrize("space", ["shared::cluster", "shared::cta"])
def test_a_copy_is_there_after_the_wait(space):
    load = LOAD.replace("shared::cluster", space)
    assert (run(EXPECT + load + WAIT + READ + BACK) == source()).all()


def test_a_copy_is_not_there_before():
    late = EXPECT + LOAD + READ + WAIT + BACK
    assert (run(late) == FRESH).all()
    eager = run(late, schedule="adversarial", seed=1)
    assert (eager == source()).all()


def test_bytes_may_come_before_they_are_expected():
    for seed in range(4):
        got = run(LOAD + EXPECT + WAIT + READ + BACK, schedule="adversarial", seed=seed)
        assert (got == source()).all()


def test_two_copies_one_wait():
    half = 2 * WORDS
    two = "".join(
        f"""@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint
        [%r1+{at}], [%rd0+{half - at}], {half}, [%r2], %rd20; """ for at in (0, half)
    )  # fmt: skip
    got = run("mov.b64 %rd20, 0; " + EXPECT + two + WAIT + READ + BACK)
    assert (got == np.roll(source(), WORDS // 2, axis=1)).all()


def test_to_several_blocks_of_the_cluster():
    """Block 1 of each cluster of 4 copies its row of the tensor to blocks 0, 2 and 3."""
    text = """mov.u32 %r11, %cluster_ctarank; setp.eq.u32 %p3, %r11, 1; and.pred %p4, %p1, %p3;
    mov.b16 %rs1, 13; mov.b32 %r5, 0; mov.b32 %r6, 0;
    """ + LOAD.replace("@%p1", "@%p4").replace("::bytes", "::bytes.multicast::cluster").replace(
        "[%r2];", "[%r2], %rs1;"
    )
    body = EXPECT + text + "@%p3 bra OUT; " + WAIT + READ + "OUT: " + BACK
    got = run(body, 8, cluster=4)
    for block in range(8):
        want = 0 if block % 4 == 1 else source(8)[block // 4 * 4 + 1]
        assert (got[block] == want).all()


def test_from_block_to_block():
    """Each block sends its words to the next block of its cluster, and signals that block's
    mbarrier."""
    body = f"""ld.global.v2.b32 {{%r5, %r6}}, [%rd12]; st.shared.v2.b32 [%r4], {{%r5, %r6}};
    fence.proxy.async.shared::cta; bar.sync 0;
    mov.u32 %r11, %cluster_ctarank; xor.b32 %r11, %r11, 1; mov.b32 %r14, t;
    mapa.shared::cluster.u32 %r12, %r14, %r11; mapa.shared::cluster.u32 %r13, %r2, %r11;
    @%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
    [%r12], [%r1], {4 * WORDS}, [%r13]; """
    head = f".shared .align 16 .b8 t[{4 * WORDS}]; add.s64 %rd12, %rd0, %rd10; "
    read = "add.s32 %r4, %r14, %r3; " + READ
    got = run(head + EXPECT + body + WAIT + read + BACK, 4, cluster=2)
    assert (got == source(4)[[1, 0, 3, 2]]).all()


# -- asynchronous stores --------------------------------------------------------------------------
@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.parametrize("form", ["b64 [%r12], %rd20", "v2.b32 [%r12], {%r5, %r6}"])
def test_stores_into_the_other_block(form, seed):
    body = f"""add.s64 %rd12, %rd0, %rd10; ld.global.v2.b32 {{%r5, %r6}}, [%rd12];
    mov.b64 %rd20, {{%r5, %r6}}; mov.u32 %r11, %cluster_ctarank; xor.b32 %r11, %r11, 1;
    mapa.shared::cluster.u32 %r12, %r4, %r11; mapa.shared::cluster.u32 %r13, %r2, %r11;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.{form}, [%r13]; """
    options = {} if seed is None else {"schedule": "adversarial", "seed": seed}
    got = run(EXPECT + body + WAIT + READ + BACK, 4, cluster=2, **options)
    assert (got == source(4)[[1, 0, 3, 2]]).all()


def test_a_store_and_its_mbarrier_belong_together():
    body = """mapa.shared::cluster.u32 %r12, %r4, 1; mapa.shared::cluster.u32 %r13, %r2, 0;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r12], %r0, [%r13]; ret;"""
    with pytest.raises(KernelError, match="stores into one block's shared memory and signals"):
        run(body, 2, cluster=2)


# -- from shared to global memory -----------------------------------------------------------------
FILL = """add.s64 %rd12, %rd0, %rd10; ld.global.v2.b32 {%r5, %r6}, [%rd12];
st.shared.v2.b32 [%r4], {%r5, %r6}; fence.proxy.async.shared::cta; bar.sync 0; """
AGAIN = "bar.sync 0; mov.b32 %r7, 7; st.shared.v2.b32 [%r4], {%r7, %r7}; bar.sync 0; "


@pytest.mark.parametrize(
    ("end", "arrives"),
    [
        ("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; " + AGAIN, True),
        ("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; " + AGAIN, True),
        ("cp.async.bulk.commit_group; " + AGAIN + "cp.async.bulk.wait_group 0; ", False),
        ("cp.async.bulk.commit_group; cp.async.bulk.wait_group 1; " + AGAIN, False),
        ("cp.async.bulk.wait_group 0; " + AGAIN, False),
    ],
)
def test_the_source_is_read_by_the_wait_for_its_group(end, arrives):
    got = run(FILL + STORE + end + "ret;")
    assert (got == (source() if arrives else 7)).all()
    assert (run(FILL + STORE + end + "ret;", schedule="adversarial", seed=1) == source()).all()


@pytest.mark.parametrize("read", ["", ".read"])
def test_the_bytes_are_there_after_the_wait(read):
    """A wait with `.read` ends before the bytes arrive, so the thread loads the zeros from before
    the launch."""
    look = "@%p1 ld.global.v2.b32 {%r5, %r6}, [%rd1]; @%p1 st.global.b32 [%rd0], %r5; ret;"
    x = np.arange(1, WORDS + 1, dtype=np.uint32)
    end = f"cp.async.bulk.commit_group; cp.async.bulk.wait_group{read} 0; "
    launch(HEAD + FILL + STORE + end + look, x, np.zeros(WORDS, np.uint32))
    assert x[0] == (0 if read else 1)


# -- mistakes -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        (("[%rd0]", "[%rd0+4]"), "misaligned", "copies from 16 bytes at x"),
        (("[%r1]", "[%r1+8]"), "misaligned", "copies to 16 bytes at shared-memory offset 8"),
        ((f", {4 * WORDS},", ", 20,"), "misaligned", "20 bytes at once, a size that is not"),
        (("[%r1]", "[%r1+128]"), "out-of-bounds", "256 bytes at shared-memory offset 128"),
        (("[%rd0]", "[%rd0+768]"), "out-of-bounds", "past the tensor's end"),
        (("[%r2]", "[%r2+8]"), "mbarrier", "has not initialised"),
    ],
)  # fmt: skip
def test_mistakes(change, kind, says):
    with pytest.raises(KernelError, match=says) as caught:
        run(EXPECT + LOAD.replace(*change) + WAIT + "ret;")
    assert caught.value.kind == kind


def test_a_tensor_that_must_not_be_written():
    body = FILL + STORE.replace("[%rd1]", "[%rd1+64]") + "cp.async.bulk.commit_group; ret;"
    with pytest.raises(MemoryAccessError, match="past the tensor's end"):
        run(body)


# -- listeners ------------------------------------------------------------------------------------
def test_counters_count_bytes_and_no_requests():
    counts = Counting()
    end = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;"
    run(EXPECT + LOAD + WAIT + STORE + end, listeners=(counts,))
    (launched,) = counts.launches
    assert (launched.read_bytes, launched.written_bytes) == (3 * 4 * WORDS, 3 * 4 * WORDS)
    assert not launched.accesses


def test_a_trace_shows_what_was_copied():
    trace = Touches()
    end = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;"
    run(EXPECT + LOAD + WAIT + STORE + end, listeners=(trace,))
    for name, column in (("x", "loads"), ("y", "stores")):
        assert trace.tensors[name].column(column).tolist() == [1] * (3 * WORDS)
