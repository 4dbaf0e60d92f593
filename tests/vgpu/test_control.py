"""Test branches, exits, traps and block barriers."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_launch import launch, line_of

from forgekit.vgpu.errors import DeadlockError, KernelError

AT = "mul.wide.u32 %rd10, %r0, 4; add.s64 %rd11, %rd0, %rd10; "
SHARED = ".shared .align 4 .b8 s[512]; mov.b32 %r1, s; shl.b32 %r2, %r0, 2; add.s32 %r3, %r1, %r2;"


def out(threads: int = 64) -> np.ndarray:
    return np.full(threads, -1, np.int32)


def stored(body: str, threads: int = 64, **how: object) -> list[int]:
    """Return x, initially -1, after the body; %rd11 is the address of the thread's element."""
    x = out(threads)
    launch(AT + body, x, block=threads, **how)
    return x.tolist()


# -- branches and exits ----------------------------------------------------------------------------
def test_guarded_exits():
    body = "setp.lt.u32 %p1, %r0, 10; @%p1 ret; st.global.b32 [%rd11], %r0; ret;"
    assert stored(body) == [-1] * 10 + list(range(10, 64))
    assert stored(body.replace("@%p1 ret", "@!%p1 exit")) == list(range(10)) + [-1] * 54


def test_running_off_the_end_is_an_exit():
    assert stored("st.global.b32 [%rd11], %r0;", 32) == list(range(32))


def test_a_branch_to_the_next_instruction():
    body = "setp.lt.u32 %p1, %r0, 7; @%p1 bra L; L: st.global.b32 [%rd11], %r0; ret;"
    assert stored(body, 32) == list(range(32))


def test_a_trap_names_its_thread():
    body = "setp.eq.u32 %p1, %r0, 5; @%p1 trap; ret;"
    with pytest.raises(
        KernelError, match=r"trapped.*PTX line \d+(.|\n)*thread \(5, 0, 0\) of block \(0, 0, 0\)"
    ):
        launch(body)
    launch("setp.eq.u32 %p1, %r0, 77; @%p1 trap; ret;")


# -- barriers of the whole block -------------------------------------------------------------------
REVERSE = f"""{SHARED} st.shared.b32 [%r3], %r0; {{barrier}}
mov.u32 %r5, %ntid.x; sub.s32 %r5, %r5, %r0; shl.b32 %r5, %r5, 2; add.s32 %r5, %r5, %r1;
ld.shared.b32 %r6, [%r5+-4]; st.global.b32 [%rd11], %r6; ret;"""


@pytest.mark.parametrize(
    "barrier", ["bar.sync 0;", "barrier.sync 3;", "barrier.cta.sync.aligned 0;"]
)
@pytest.mark.parametrize("threads", [1, 32, 33, 96])
def test_everyone_meets_at_a_barrier(barrier, threads):
    late = """setp.lt.u32 %p1, %r0, 3; @!%p1 bra GO; mov.b32 %r7, 0; WORK: add.s32 %r7, %r7, 1;
    setp.lt.u32 %p1, %r7, 9; @%p1 bra WORK; GO:"""
    assert stored(REVERSE.format(barrier=late + barrier), threads) == list(range(threads))[::-1]


def test_a_barrier_does_not_wait_for_threads_that_have_exited():
    body = f"""{SHARED} setp.ge.u32 %p1, %r0, 40; @%p1 ret;
    st.shared.b32 [%r3], %r0; bar.sync 0;
    xor.b32 %r5, %r2, 4; add.s32 %r5, %r5, %r1; ld.shared.b32 %r6, [%r5];
    st.global.b32 [%rd11], %r6; ret;"""
    assert stored(body, 96) == [t ^ 1 for t in range(40)] + [-1] * 56


def test_threads_that_exit_while_others_wait_let_them_go():
    """The waiting threads are at the lower program counter; the other threads exit later."""
    body = """setp.lt.u32 %p1, %r0, 40; @!%p1 bra LEAVE;
    bar.sync 0; st.global.b32 [%rd11], %r0; ret;
    LEAVE: mov.b32 %r7, 0; WORK: add.s32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 50; @%p1 bra WORK;
    ret;"""
    assert stored(body) == list(range(40)) + [-1] * 24


def test_a_barrier_in_a_branch_that_only_some_blocks_take():
    body = """mov.u32 %r1, %ctaid.x; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra END;
    bar.sync 0; red.global.add.s32 [%rd11], 1; END: ret;"""
    assert stored(body, grid=5) == [1] * 64


def test_a_barrier_in_a_loop():
    """Threads run at different speeds, but no thread gets a whole round ahead."""
    body = f"""{SHARED} mov.b32 %r10, 0; mov.b32 %r11, 0;
    ROUND: add.s32 %r12, %r0, %r10; st.shared.b32 [%r3], %r12; and.b32 %r13, %r12, 7;
    mov.b32 %r14, 0;
    WORK: setp.ge.u32 %p2, %r14, %r13; @%p2 bra MEET; add.s32 %r14, %r14, 1; bra WORK;
    MEET: bar.sync 0;
    xor.b32 %r5, %r2, 128; add.s32 %r5, %r5, %r1; ld.shared.b32 %r6, [%r5]; add.s32 %r11, %r11, %r6;
    bar.sync 0; add.s32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 4; @%p1 bra ROUND;
    st.global.b32 [%rd11], %r11; ret;"""
    assert stored(body) == [4 * (t ^ 32) + 6 for t in range(64)]


def test_part_of_the_block_at_two_barriers():
    body = (
        "setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 1; bar.sync 0; ret; A: bar.sync 0; "
        "bar.sync 1; ret;"
    )
    with pytest.raises(DeadlockError) as caught:
        launch(body, block=64, grid=2)
    message = str(caught.value)
    assert "thread (32, 0, 0) of block (0, 0, 0) (and 63 more) waits at barrier 1" in message
    assert "thread (0, 0, 0) of block (0, 0, 0) (and 63 more) waits at barrier 0" in message
    assert f"PTX line {line_of(body, 'bar.sync 1; bar.sync 0', 0)}" in message


# -- named barriers --------------------------------------------------------------------------------
def test_a_barrier_of_some_warps():
    body = """setp.ge.u32 %p1, %r0, 64; @%p1 bra END;
    bar.sync 1, 64; st.global.b32 [%rd11], %r0; END: ret;"""
    assert stored(body, 96) == list(range(64)) + [-1] * 32


@pytest.mark.parametrize("threads, count", [(48, 64), (33, 64), (1, 32), (48, 32)])
def test_counts_are_of_whole_warps(threads, count):
    body = f"bar.sync 1, {count}; st.global.b32 [%rd11], %r0; ret;"
    assert stored(body, threads) == list(range(threads))


def test_lanes_that_a_warp_does_not_have_count_with_it():
    """The second warp has only 16 threads, 6 of which have exited."""
    body = """setp.ge.u32 %p2, %r0, 42; @%p2 ret; setp.ge.u32 %p1, %r0, 32; @%p1 bra WAIT;
    st.global.b32 [%rd11], %r0; bar.arrive 1, 64; ret;
    WAIT: bar.sync 1, 64; st.global.b32 [%rd11], %r0; ret;"""
    assert stored(body, 48) == [*range(42), *[-1] * 6]


def test_a_number_may_have_another_count_the_next_time():
    """Block 0 has passed barrier 1 and uses it again while block 1 still waits for its second
    warp."""
    body = """mov.u32 %r1, %ctaid.x; setp.ge.u32 %p1, %r0, 32; setp.eq.and.u32 %p1, %r1, 1, %p1;
    @%p1 bra FAR;
    FIRST: bar.sync 1, 64; bar.sync 1, 32; red.global.add.s32 [%rd11], 1; ret;
    FAR: bra FIRST;"""
    assert stored(body, grid=2) == [1] * 64


def test_a_warp_that_comes_in_parts_counts_once():
    """Lanes of a warp arrive from two places; 64 threads count as two warps, not three parts."""
    body = f"""{AT} setp.ge.u32 %p1, %r0, 32; @%p1 bra SECOND; setp.lt.u32 %p2, %r0, 5;
    @%p2 bra FEW;
    bar.sync 1, 64; bra END; FEW: bar.sync 1, 64; bra END;
    SECOND: mov.b32 %r7, 0; st.volatile.global.b32 [%rd0], %r7; bar.sync 1, 64;
    END: ld.volatile.global.b32 %r8, [%rd0]; st.global.b32 [%rd11+4], %r8; ret;"""
    x = out(65)
    launch(body, x, block=64)
    assert x.tolist() == [0] * 65


def test_arrivals_without_waiting():
    """bar.arrive by one warp lets the waiting warp continue; the first warp never waits."""
    body = """setp.ge.u32 %p1, %r0, 32; @%p1 bra WAIT;
    st.global.b32 [%rd11], %r0; bar.arrive 1, 64; ret;
    WAIT: bar.sync 1, 64; ld.global.b32 %r5, [%rd11+-128]; st.global.b32 [%rd11], %r5; ret;"""
    assert stored(body) == [*range(32), *range(32)]


def test_arrivals_that_nobody_waits_for_are_no_deadlock():
    launch("bar.arrive 1, 128; ret;", block=64)


def test_a_count_that_is_never_reached():
    with pytest.raises(
        DeadlockError, match=r"waits at barrier 5 for 96 threads \(64 have arrived\)"
    ):
        launch("bar.sync 5, 96; ret;", block=64)


def test_numbers_and_counts_from_registers():
    body = """shr.u32 %r5, %r0, 5; add.s32 %r5, %r5, 1; mov.u32 %r6, %ctaid.x; add.s32 %r7, %r6, 1;
    min.u32 %r7, %r7, 1; shl.b32 %r7, %r7, 5;
    bar.sync %r5, %r7; red.global.add.s32 [%rd11], 1; ret;"""
    assert stored(body, grid=3) == [2] * 64


@pytest.mark.parametrize(
    "barrier, message",
    [("bar.sync 16;", r"got number 16, needed 0 to 15"),
     ("bar.sync 1, 40;", r"got 40 threads, needed a multiple of 32")],
)  # fmt: skip
def test_impossible_barriers(barrier, message):
    with pytest.raises(KernelError, match=message):
        launch(barrier + " ret;", block=64)


def test_counts_that_do_not_agree():
    body = "setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 1, 96; ret; A: bar.sync 1, 128; ret;"
    with pytest.raises(
        KernelError, match=r"barrier 1, PTX line \d+.*got 128 threads.*needed 96 threads"
    ):
        launch(body, block=96)


# -- guarded barriers ------------------------------------------------------------------------------
def test_guarded_barriers():
    body = """setp.lt.u32 %p1, %r0, 64; @%p1 bar.sync 1, 64;
    setp.gt.u32 %p2, %r0, 1000; @%p2 bar.sync 2; st.global.b32 [%rd11], %r0; ret;"""
    assert stored(body, 96) == list(range(96))


def test_a_warp_that_has_left_is_not_counted():
    """The barrier counts all threads, but the second warp has exited, so it never completes."""
    body = "setp.ge.u32 %p1, %r0, 32; @%p1 ret; bar.sync 1, 64; ret;"
    with pytest.raises(DeadlockError):
        launch(body, block=64)


# -- barriers that reduce -------------------------------------------------------------------------
@pytest.mark.parametrize("operation", ["popc", "and", "or"])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("schedule", [None, 3])
def test_a_barrier_that_reduces(operation, late, schedule):
    """In 3 blocks of 96 threads, a barrier reduces x > 5; warp 1 may arrive later."""
    x = np.random.default_rng(7).integers(0, 10, (3, 96)).astype(np.int32)
    x[0], x[1, :] = 9, 1
    y = np.full((3, 96), 77, np.int32)
    result, kind = ("%r9", "u32") if operation == "popc" else ("%p3", "pred")
    keep = "" if operation == "popc" else "selp.b32 %r9, 1, 0, %p3; "
    wait = "setp.eq.u32 %p4, %r7, 1; @!%p4 bra VOTE; add.s32 %r8, %r8, 1; " if late else ""
    body = f"""mov.u32 %r1, %ctaid.x; mad.lo.s32 %r2, %r1, 96, %r0; mul.wide.u32 %rd5, %r2, 4;
    add.s64 %rd6, %rd0, %rd5; add.s64 %rd7, %rd1, %rd5; ld.global.b32 %r3, [%rd6];
    setp.gt.s32 %p1, %r3, 5; mov.b32 %r9, 0; shr.u32 %r7, %r0, 5; mov.b32 %r8, 0; {wait}
    VOTE: barrier.cta.red.{operation}.aligned.{kind} {result}, 2, 96, %p1; {keep}
    st.global.b32 [%rd7], %r9; ret;"""
    order = {} if schedule is None else {"schedule": "adversarial", "seed": schedule}
    launch(body, x, y, grid=3, block=96, sanitize=True, **order)
    yes = (x > 5).sum(1)
    want = {"popc": yes, "and": yes == 96, "or": yes > 0}[operation]
    assert (y == want[:, None]).all()
