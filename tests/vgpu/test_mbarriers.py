"""Test mbarriers (arrivals, bytes, phases) against a simple model."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_launch import launch

from forgekit.vgpu.errors import DeadlockError, KernelError, SanitizerError
from forgekit.vgpu.machine.mbarriers import State, pack, unpack

HEAD = """.shared .align 8 .b8 s[64]; mov.b32 %r1, s;
mul.wide.u32 %rd10, %r0, 4; add.s64 %rd11, %rd0, %rd10; """
FIRST = "setp.ne.u32 %p9, %r0, 0; @%p9 bra MADE; mbarrier.init.shared.b64 [%r1], COUNT; "
INIT = FIRST + "MADE: bar.sync 0; "


def run(body: str, threads: int = 32, count: int = 1, **options: object) -> list[int]:
    """Return each thread's %r20."""
    x = np.full(threads, 77, np.uint32)
    text = HEAD + INIT.replace("COUNT", str(count)) + body + " st.global.b32 [%rd11], %r20; ret;"
    launch(text, x, block=threads, **options)
    return x.tolist()


def test_fields_of_the_word():
    n = np.random.default_rng(1)
    state = State(
        n.integers(-(2**20) + 1, 2**20, 100), *n.integers(0, 2**20, (2, 100)), n.integers(0, 2, 100)
    )
    for got, want in zip(unpack(pack(state)), state, strict=True):
        assert (got == want).all()


class Model:
    """An mbarrier that executes one operation after the other."""

    def __init__(self, count: int) -> None:
        self.count = self.pending = count
        self.tx = self.phase = 0

    def change(self, arrivals: int, tx: int) -> None:
        self.pending -= arrivals
        self.tx += tx
        if not self.pending and not self.tx:
            self.pending, self.phase = self.count, self.phase + 1


def sequence(seed: int) -> tuple[str, list[int]]:
    """Return random valid operations of one thread, and the phase's parity after each operation."""
    draw = np.random.default_rng(seed)
    model = Model(int(draw.integers(1, 4)))
    text = f"mbarrier.init.shared.b64 [%r1], {model.count}; "
    parities = []
    for step in range(24):
        kind = draw.choice(["arrive", "arrive_tx", "expect", "complete"])
        tx = int(draw.integers(1, 5)) * 4
        if kind.startswith("arrive") and not model.pending:
            kind = "complete" if model.tx > 0 else "expect"
        if kind == "arrive":
            n = int(draw.integers(1, model.pending + 1))
            text += f"mbarrier.arrive.shared.b64 %rd20, [%r1], {n}; "
            model.change(n, 0)
        elif kind == "arrive_tx":
            text += f"mbarrier.arrive.expect_tx.shared.b64 _, [%r1], {tx}; "
            model.tx += tx
            model.change(1, 0)
        else:
            # bytes may arrive before they are expected
            tx = abs(model.tx) if not model.pending else tx
            sign = 1 if kind == "expect" else -1
            op = {1: "expect_tx", -1: "complete_tx"}[sign]
            text += f"mbarrier.{op}.relaxed.cta.shared::cta.b64 [%r1], {tx}; "
            model.change(0, sign * tx)
        text += f"""mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0; selp.b32 %r20, 1, 0, %p1;
        st.global.b32 [%rd0+{4 * step}], %r20; """
        parities.append(model.phase % 2)
    return text, parities


@pytest.mark.parametrize("seed", range(12))
def test_random_sequences(seed):
    """`test_wait.parity 0` is true during a phase of odd parity."""
    text, parities = sequence(seed)
    x = np.zeros(24, np.uint32)
    launch(HEAD + text + "ret;", x, block=1)
    assert x.tolist() == parities


@pytest.mark.parametrize(("count", "phases"), [(32, 1), (16, 2), (1, 32), (3, 10), (40, 0)])
def test_a_warp_arrives_at_once(count, phases):
    """Each arrival counts, even if several phases end within the same instruction."""
    body = """mbarrier.arrive.shared.b64 %rd20, [%r1]; bar.warp.sync -1;
    mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0; selp.b32 %r20, 1, 0, %p1;"""
    assert run(body, count=count) == [phases % 2] * 32


def test_the_state_tells_the_phase():
    """The state identifies the phase of the arrival; the phase ends when all 32 have arrived."""
    body = """mbarrier.arrive.shared.b64 %rd20, [%r1]; mbarrier.pending_count.b64 %r6, %rd20;
    mbarrier.test_wait.shared.b64 %p1, [%r1], %rd20; selp.b32 %r7, 100, 0, %p1;
    add.u32 %r20, %r6, %r7;"""
    assert run(body, count=32) == [132] * 32


def test_an_arrival_that_must_not_end_the_phase():
    body = "mbarrier.arrive.noComplete.shared.b64 %rd20, [%r1], 1; mov.b32 %r20, 5;"
    assert run(body, count=33) == [5] * 32
    with pytest.raises(KernelError, match="noComplete but would end the phase"):
        run(body, count=32)


def test_those_that_drop_out_are_not_waited_for():
    """16 lanes drop out in the first phase; the second phase needs only the other 16."""
    body = """setp.lt.u32 %p1, %r0, 16; @%p1 bra STAY;
    mbarrier.arrive_drop.shared.b64 %rd20, [%r1]; mov.b32 %r20, 1; bra END;
    STAY: mbarrier.arrive.shared.b64 %rd20, [%r1];
    W1: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra W1;
    mbarrier.arrive.shared.b64 %rd20, [%r1];
    W2: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 1; @!%p2 bra W2;
    mov.b32 %r20, 2; END:"""
    assert run(body, count=32) == [2] * 16 + [1] * 16


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("wait", ["try_wait", "test_wait"])
def test_turns(wait, seed):
    """Two warps pass a counter back and forth 5 times, with two mbarriers."""
    body = f"""setp.ne.u32 %p9, %r0, 0; @%p9 bra B; mbarrier.init.shared.b64 [%r1+8], 32;
    mbarrier.init.shared.b64 [%r1+16], 32; mov.b32 %r2, 0; st.shared.b32 [%r1+32], %r2;
    B: bar.sync 0; shr.u32 %r3, %r0, 5; shl.b32 %r4, %r3, 3; add.u32 %r5, %r1, %r4;
    xor.b32 %r6, %r4, 8; add.u32 %r6, %r1, %r6; mov.b32 %r7, 0; xor.b32 %r8, %r3, 1;
    LOOP: and.b32 %r9, %r7, 1; xor.b32 %r9, %r9, %r8;
    W: mbarrier.{wait}.parity.shared.b64 %p1, [%r5+8], %r9; @!%p1 bra W;
    and.b32 %r10, %r0, 31; setp.ne.u32 %p2, %r10, 0; @%p2 bra NOT;
    ld.shared.b32 %r11, [%r1+32]; shl.b32 %r11, %r11, 1; add.u32 %r11, %r11, %r3;
    st.shared.b32 [%r1+32], %r11; NOT: mbarrier.arrive.shared.b64 _, [%r6+8];
    add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, 5; @%p3 bra LOOP;
    bar.sync 0; ld.shared.b32 %r20, [%r1+32];"""
    assert run(body, 64, schedule="adversarial", seed=seed) == [0b0101010101] * 64


def test_a_peek_that_would_never_succeed():
    """A single `try_wait` may fail, because the thread that must arrive polls first."""
    body = """mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; selp.b32 %r20, 1, 0, %p1;
    mbarrier.arrive.shared.b64 %rd20, [%r1];"""
    assert run(body, count=32) == [0] * 32


def test_remote_arrivals():
    """Every thread of a cluster of 4 arrives at the first block's mbarrier."""
    body = """mbarrier.inval.shared.b64 [%r1]; mbarrier.init.shared.b64 [%r1], 128;
    barrier.cluster.arrive; barrier.cluster.wait; mapa.shared::cluster.u32 %r2, %r1, 0;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
    mov.u32 %r3, %cluster_ctarank; setp.ne.u32 %p1, %r3, 0; @%p1 bra OUT;
    W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r1], 0; @!%p2 bra W;
    mov.b32 %r20, 9; OUT: barrier.cluster.arrive; barrier.cluster.wait; @%p1 exit;"""
    x = np.zeros(32, np.uint32)
    text = (
        HEAD + "mbarrier.init.shared.b64 [%r1], 1; " + body + " st.global.b32 [%rd11], %r20; ret;"
    )
    launch(text, x, grid=4, cluster=4)
    assert x.tolist() == [9] * 32


# -- mistakes --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("mbarrier.arrive.shared.b64 _, [%r1+8];", "has not initialised"),
        ("mbarrier.inval.shared.b64 [%r1]; mbarrier.arrive.shared.b64 _, [%r1];", "initialised"),
        ("st.shared.b64 [%r1], %rd0; mbarrier.arrive.shared.b64 _, [%r1];", "been overwritten"),
        ("mbarrier.arrive.shared.b64 _, [%r1], 3;", "arrives more times than the mbarrier's count"),
        ("mbarrier.init.shared.b64 [%r1], 0;", "of 0, but the count must be 1 to 1,048,575"),
        ("mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], 1048576;", "1,048,575 pending"),
        ("mbarrier.arrive.b64 _, [%rd0];", "an address outside shared memory"),
    ],
)  # fmt: skip
def test_misused(body, says):
    with pytest.raises(KernelError, match=says) as caught:
        run(body + " mov.b32 %r20, 0;", 2, count=2)
    assert caught.value.kind == "mbarrier"


def test_waiting_for_ever():
    body = """setp.lt.u32 %p1, %r0, 8; @!%p1 bra W;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;
    W: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra W; mov.b32 %r20, 0;"""
    with pytest.raises(DeadlockError) as caught:
        run(body, count=10)
    message = str(caught.value)
    assert "thread (0, 0, 0) of block (0, 0, 0) (and 31 more) waits for an mbarrier" in message
    assert "byte 0: the phase (parity 0) lacks 2 of 10 arrivals and 128 bytes" in message


# -- mbarriers that wait for cp.async -------------------------------------------------------------
COPIES = """.shared .align 16 .b8 s[1024]; .shared .align 8 .b64 done;
mov.b32 %r1, s; mov.b32 %r9, done;
setp.ne.u32 %p1, %r0, 0; @%p1 bra MADE; mbarrier.init.shared.b64 [%r9], 32;
MADE: bar.sync 0; mul.wide.u32 %rd10, %r0, 16; add.s64 %rd11, %rd0, %rd10;
mad.lo.s32 %r2, %r0, 16, %r1; setp.ge.u32 %p2, %r0, 32; @%p2 bra USE;
cp.async.ca.shared.global [%r2], [%rd11], 16;
cp.async.mbarrier.arrive.noinc.shared.b64 [%r9]; bra.uni END;
USE: WAIT sub.s32 %r3, 63, %r0; mad.lo.s32 %r4, %r3, 16, %r1; ld.shared.b32 %r5, [%r4];
sub.s32 %r6, %r0, 32; mul.wide.u32 %rd12, %r6, 4; add.s64 %rd13, %rd1, %rd12;
st.global.b32 [%rd13], %r5; END: ret;"""
WAIT = "mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0; @!%p3 bra USE;"


def test_copies_that_an_mbarrier_waits_for():
    x, y = np.arange(128, dtype=np.uint32), np.zeros(32, np.uint32)
    launch(COPIES.replace("WAIT", WAIT), x, y, block=64, sanitize=True)
    assert y.tolist() == x[::4][::-1].tolist()


def test_nobody_waits_for_the_mbarrier():
    x, y = np.arange(128, dtype=np.uint32), np.zeros(32, np.uint32)
    with pytest.raises(SanitizerError) as error:
        launch(COPIES.replace("WAIT", ""), x, y, block=64, sanitize=True)
    assert error.value.findings[0].kind in ("async-copy", "shared-race")
