"""Test warp-wide instructions: lane arithmetic, member masks, and lanes that arrive late or
never."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_launch import launch

from forgekit.vgpu.errors import DeadlockError

AT = "mul.wide.u32 %rd10, %r0, 4; add.s64 %rd11, %rd0, %rd10; "
LANES = range(32)


def per_lane(body: str, x: np.ndarray | None = None, *, threads: int = 32) -> list[int]:
    """Return %r5 of every thread after the body; %r4 holds x, or the thread's index."""
    out = np.full(threads, -77, np.int32)
    text = AT + "mov.b32 %r4, %r0; "
    arrays = [out]
    if x is not None:
        text += "add.s64 %rd12, %rd1, %rd10; ld.global.b32 %r4, [%rd12]; "
        arrays.append(x)
    launch(
        f"mov.b32 %r5, -5; {text} {body} st.global.b32 [%rd11], %r5; ret;", *arrays, block=threads
    )
    return out.tolist()


# -- shuffles ------------------------------------------------------------------------------------
def shuffle_by_the_manual(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Follow the pseudocode of `shfl.sync` in the PTX ISA line by line."""
    segmask, clamp, b = c >> 8 & 31, c & 31, b & 31
    maxlane = (lane & segmask) | (clamp & ~segmask & 31)
    minlane = lane & segmask
    if mode == "up":
        j = lane - b
        valid = j >= maxlane
    elif mode == "down":
        j = lane + b
        valid = j <= maxlane
    elif mode == "bfly":
        j = lane ^ b
        valid = j <= maxlane
    else:
        j = minlane | (b & ~segmask & 31)
        valid = j <= maxlane
    return (j if valid else lane), valid


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [1, 2, 8, 16, 32])
def test_shuffles(mode, width):
    clamp = (32 - width) << 8 | (0 if mode == "up" else 31)
    for b in (0, 1, 3, 15, 31):
        body = f"shfl.sync.{mode}.b32 %r5|%p1, %r4, {b}, {clamp}, -1; @!%p1 add.s32 %r5, %r5, 1000;"
        want = []
        for lane in LANES:
            source, valid = shuffle_by_the_manual(mode, lane, b, clamp)
            want.append(source + (0 if valid else 1000))
        assert per_lane(body) == want


def test_shuffle_with_an_offset_of_each_lane():
    x = np.random.default_rng(0).integers(0, 32, 64).astype(np.int32)
    got = per_lane("shfl.sync.idx.b32 %r5, %r0, %r4, 31, -1;", x, threads=64)
    assert got == [t // 32 * 32 + int(x[t]) for t in range(64)]


def test_shuffle_of_a_uniform_value():
    assert per_lane("mov.b32 %r4, 9; shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;") == [9] * 32


# -- votes and reductions --------------------------------------------------------------------------
def as_signed(bits: int) -> int:
    return bits - (1 << 32) if bits >> 31 else bits


def test_votes():
    odd = "and.b32 %r6, %r4, 1; setp.eq.s32 %p1, %r6, 1; "
    assert per_lane(odd + "vote.sync.ballot.b32 %r5, %p1, -1;") == [as_signed(0xAAAAAAAA)] * 32
    for mode, want in (("any", 1), ("all", 0), ("uni", 0)):
        vote = f"vote.sync.{mode}.pred %p2, %p1, -1; selp.b32 %r5, 1, 0, %p2;"
        assert per_lane(odd + vote) == [want] * 32
        nobody = per_lane("setp.lt.s32 %p1, %r4, 0; " + vote)
        assert nobody == [int(mode == "uni")] * 32


def test_votes_of_blocks_that_fill_no_warp():
    assert per_lane("setp.ge.s32 %p1, %r4, 0; vote.sync.ballot.b32 %r5, %p1, -1;", threads=40) == [
        -1 if t < 32 else 0xFF for t in range(40)
    ]


HALVES = "setp.lt.u32 %p3, %r0, 16; selp.b32 %r7, 0x0000FFFF, 0xFFFF0000, %p3; "


def test_masks_that_differ_within_a_warp():
    """Both halves are at the same instruction, each with its own member mask."""
    odd = HALVES + "and.b32 %r6, %r4, 1; setp.eq.s32 %p1, %r6, 1; "
    halves = [(t < 16) for t in LANES]
    ballot = [as_signed(0xAAAAAAAA & (0xFFFF if h else 0xFFFF0000)) for h in halves]
    assert per_lane(odd + "vote.sync.ballot.b32 %r5, %p1, %r7;") == ballot
    low = (
        HALVES
        + "setp.lt.s32 %p1, %r4, 20; vote.sync.all.pred %p2, %p1, %r7; selp.b32 %r5, 1, 0, %p2;"
    )
    assert per_lane(low) == [int(h) for h in halves]
    total = HALVES + "redux.sync.add.s32 %r5, %r4, %r7;"
    assert per_lane(total) == [sum(range(16)) if h else sum(range(16, 32)) for h in halves]
    elect = HALVES + "elect.sync %r5|%p1, %r7; @%p1 add.s32 %r5, %r5, 100;"
    assert per_lane(elect) == [
        (0 if h else 16) + 100 * (t in (0, 16)) for t, h in enumerate(halves)
    ]
    same = HALVES + "mov.b32 %r6, 3; match.any.sync.b32 %r5, %r6, %r7;"
    assert per_lane(same) == [as_signed(0xFFFF if h else 0xFFFF0000) for h in halves]
    equal = (
        HALVES + "shr.u32 %r6, %r4, 4; match.all.sync.b32 %r5|%p1, %r6, %r7; @!%p1 mov.b32 %r5, 1;"
    )
    assert per_lane(equal) == [as_signed(0xFFFF if h else 0xFFFF0000) for h in halves]


@pytest.mark.parametrize(
    "op, fold",
    [("add.s32", lambda v: sum(v)), ("min.s32", min), ("max.s32", max),
     ("min.u32", lambda v: as_signed(min(x % 2**32 for x in v))),
     ("and.b32", lambda v: int(np.bitwise_and.reduce(v))),
     ("or.b32", lambda v: int(np.bitwise_or.reduce(v))),
     ("xor.b32", lambda v: int(np.bitwise_xor.reduce(v)))],
)  # fmt: skip
def test_reductions(op, fold):
    x = np.random.default_rng(1).integers(-1000, 1000, 64).astype(np.int32)
    got = per_lane(f"redux.sync.{op} %r5, %r4, -1;", x, threads=64)
    assert got == [fold(x[:32].tolist())] * 32 + [fold(x[32:].tolist())] * 32


@pytest.mark.parametrize("nans", [0, 3, 32])
@pytest.mark.parametrize("suffix", ["", ".abs", ".NaN", ".abs.NaN"])
@pytest.mark.parametrize("op", ["min", "max"])
def test_reductions_of_floats(op, suffix, nans):
    """`.abs` reduces magnitudes; NaN is skipped, unless all lanes are NaN or `.NaN` is given."""
    x = (np.arange(32, dtype=np.float32) - 15.5)[::-1].copy()
    x[:nans] = np.nan
    got = per_lane(f"redux.sync.{op}{suffix}.f32 %r5, %r4, -1;", x.view(np.int32))
    values = np.abs(x[nans:]) if "abs" in suffix else x[nans:]
    if nans == 32 or (nans and "NaN" in suffix):
        assert got == [0x7FFFFFFF] * 32
    else:
        want = np.float32(min(values) if op == "min" else max(values))
        assert got == [int(want.view(np.int32))] * 32


def test_a_reduction_wraps():
    x = np.full(32, 2**30, np.int32)
    assert per_lane("redux.sync.add.s32 %r5, %r4, -1;", x) == [as_signed(32 * 2**30 % 2**32)] * 32


def test_matches():
    x = np.random.default_rng(2).integers(0, 4, 32).astype(np.int32)
    got = per_lane("match.any.sync.b32 %r5, %r4, -1;", x)
    assert got == [as_signed(sum(1 << k for k in LANES if x[k] == x[t])) for t in LANES]
    got = per_lane("match.all.sync.b32 %r5|%p1, %r4, -1; @!%p1 add.s32 %r5, %r5, 3;", x)
    assert got == [3] * 32


def test_active_mask_and_election_in_a_branch():
    body = """and.b32 %r6, %r4, 3; setp.eq.s32 %p1, %r6, 2; @!%p1 bra END;
    activemask.b32 %r5; elect.sync %r7|%p2, %r5; @!%p2 bra END; mov.b32 %r5, 1; END:"""
    mask = as_signed(0x44444444)
    assert per_lane(body) == [1 if t == 2 else mask if t % 4 == 2 else -5 for t in LANES]


# -- lanes that arrive late, or never
# ----------------------------------------------------------------
def test_named_lanes_are_waited_for():
    """Each lane reaches the shuffle after a loop of a different length."""
    body = """mov.b32 %r6, 0; mov.b32 %r8, 31; sub.s32 %r8, %r8, %r0;
    TOP: setp.ge.s32 %p1, %r6, %r8; @%p1 bra DONE; add.s32 %r6, %r6, 1; bra TOP;
    DONE: shfl.sync.bfly.b32 %r5, %r6, 1, 31, -1;"""
    assert per_lane(body) == [31 - (t ^ 1) for t in LANES]


def test_lanes_that_are_not_named_are_not_waited_for():
    body = """setp.ge.u32 %p1, %r0, 8; @%p1 bra LOOP;
    redux.sync.add.s32 %r5, %r4, 0xFF; st.volatile.global.b32 [%rd11], %r5; bra END;
    LOOP: ld.volatile.global.b32 %r6, [%rd0]; setp.ne.s32 %p2, %r6, 28; @%p2 bra LOOP;
    mov.b32 %r5, 1;
    END:"""
    assert per_lane(body) == [28] * 8 + [1] * 24


def test_lanes_that_have_left_are_not_waited_for():
    body = "setp.ge.u32 %p1, %r0, 8; @%p1 ret; redux.sync.add.s32 %r5, %r0, -1;"
    assert per_lane(body) == [28] * 8 + [-77] * 24


def test_lanes_that_never_come():
    body = """setp.ge.u32 %p1, %r0, 8; @%p1 bra OTHER;
    shfl.sync.bfly.b32 %r5, %r0, 1, 31, -1; OTHER: bar.sync 0; ret;"""
    with pytest.raises(DeadlockError) as caught:
        launch(body, block=64)
    message = str(caught.value)
    assert "thread (8, 0, 0) of block (0, 0, 0) (and 55 more) waits at barrier 0" in message
    assert "thread (0, 0, 0) of block (0, 0, 0) (and 7 more) waits at shfl.sync.bfly.b32" in message
    assert "for lanes of its warp at other instructions, PTX line" in message


def test_a_warp_barrier_by_part_of_the_warp():
    body = "setp.lt.u32 %p1, %r0, 4; @!%p1 bra END; bar.warp.sync 15; mov.b32 %r5, 1; END:"
    assert per_lane(body) == [1] * 4 + [-5] * 28


# -- guards ----------------------------------------------------------------------------------------
def test_guarded_warp_instructions():
    even = "and.b32 %r6, %r4, 1; setp.eq.s32 %p1, %r6, 0; "
    got = per_lane(even + "@%p1 redux.sync.add.s32 %r5, %r4, 0x55555555;")
    assert got == [240 if t % 2 == 0 else -5 for t in LANES]
    got = per_lane(even + "@!%p1 activemask.b32 %r5;")
    assert got == [-5 if t % 2 == 0 else as_signed(0xAAAAAAAA) for t in LANES]
    never = "setp.lt.s32 %p1, %r4, 0; @%p1 shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;"
    assert per_lane(never) == [-5] * 32
