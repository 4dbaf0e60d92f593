"""Test the lockstep machine (divergence, reconvergence, liveness, budget) against a simple
interpreter."""

from __future__ import annotations

import functools
import io
import signal
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from ptx_launch import kernel, launch
from structured import IN_BASE, INPUTS, OUT_BASE, REGISTERS, Generator, interpret

from forgekit.vgpu.errors import DeadlockError, InstructionBudgetError
from forgekit.vgpu.host import launching
from forgekit.vgpu.listeners import Listener
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.ptx.parser import parse

SEEDS = range(30)
WORDS = REGISTERS + 2


@functools.cache
def expected(
    seed: int, *, exits: bool, block: int, grid: int
) -> tuple[str, np.ndarray, np.ndarray, list[int]]:
    """Return a random kernel's body, its input, the interpreter's output, and each thread's number
    of steps."""
    body = Generator(seed, exits=exits).body()
    n = grid * block
    values = np.random.default_rng(seed).integers(0, 64, n * INPUTS).astype(np.uint32)
    memory = {IN_BASE + 4 * i: int(v) for i, v in enumerate(values)}
    memory |= {OUT_BASE + 4 * i: 0 for i in range(n * WORDS)}
    steps = interpret(parse(kernel(body, 2)).kernels["k"], grid, block, memory)
    want = np.array([memory[OUT_BASE + 4 * i] for i in range(n * WORDS)], np.uint32)
    return body, values, want, steps


def compare(seed: int, *, exits: bool, block: int, grid: int, **options: object) -> list[int]:
    """Run a random kernel on the machine and compare its memory with the interpreter's. Return
    each thread's number of steps in the interpreter."""
    body, values, want, steps = expected(seed, exits=exits, block=block, grid=grid)
    got = np.zeros_like(want)
    launch(body, values, got, grid=grid, block=block, shared=1024, **options)
    wrong = np.flatnonzero(got != want)
    assert not len(wrong), (
        f"word {wrong[0]} ({len(wrong)} wrong): {got[wrong[0]]:#x} != {want[wrong[0]]:#x}\n{body}"
    )
    return steps


def _random_pick(m: Machine) -> int:
    return sorted(m.runnable)[zlib.crc32(b"%d %d" % (m.executed, m.pc)) % len(m.runnable)]


# Results must not depend on the order of groups. Groups reconverge early only in the first order;
# in the other orders, they wait for each other at barriers and warp instructions.
ORDERS: dict[str, Callable[[Machine], int]] = {
    "as it is": Machine.pick,
    "highest first": lambda m: max(m.runnable),
    "random": _random_pick,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("exits", [True, False])  # early exits, or warp instructions
@pytest.mark.parametrize("seed", SEEDS)
def test_random_control_flow(seed, exits, order, monkeypatch):
    monkeypatch.setattr(Machine, "pick", ORDERS[order])
    block = ((32, 48, 70) if exits else (32, 64, 96))[seed % 3]
    compare(seed if exits else 1000 + seed, exits=exits, block=block, grid=2)


@pytest.mark.parametrize("seed", [3, 7])
def test_results_do_not_depend_on_the_batch(seed):
    for batch_threads in (64, 1024, 32768):
        compare(seed, exits=True, block=64, grid=5, batch_threads=batch_threads)


# -- divergence ------------------------------------------------------------------------------------
OWN_SLOT = "mul.wide.u32 %rd10, %r0, 4; add.s64 %rd11, %rd0, %rd10;"


SURVIVE = {
    "of lanes that skip a branch": (
        """mov.b32 %r5, 7; setp.lt.u32 %p1, %r0, 10; @!%p1 bra JOIN;
        mov.b32 %r5, 9; add.s32 %r5, %r5, %r0; JOIN:""",
        lambda i: 9 + i if i < 10 else 7,
    ),
    "of lanes that wait for their warp": (
        # Warp 0 continues past the warp barrier while warp 1 waits there for its first lane.
        """setp.eq.u32 %p1, %r0, 32; @%p1 bra FAR;
        BACK: mov.b32 %r5, %r0; bar.warp.sync -1; add.s32 %r5, %r5, 100; bra.uni END;
        FAR: bra BACK; END:""",
        lambda i: i + 100,
    ),
    "predicates": (
        """setp.lt.u32 %p2, %r0, 20; setp.lt.u32 %p1, %r0, 5; @%p1 bra SIDE; bra JOIN;
        SIDE: setp.gt.u32 %p2, %r0, 100; JOIN: selp.b32 %r5, 1, 0, %p2;""",
        lambda i: int(5 <= i < 20),
    ),
}


@pytest.mark.parametrize("whose", SURVIVE)
def test_registers_of_threads_elsewhere_survive(whose):
    body, want = SURVIVE[whose]
    x = np.zeros(64, np.uint32)
    launch(f"{OWN_SLOT} {body} st.global.b32 [%rd11], %r5; ret;", x, block=64)
    assert x.tolist() == [want(i) for i in range(64)]


class Counts(Listener):
    """Count how many times each thread has executed each instruction."""

    def __init__(self) -> None:
        self.counts: np.ndarray | None = None

    def on_run(self, m, start, stop, mask):
        if self.counts is None:
            self.counts = np.zeros((len(m.program.steps), m.n_threads), int)
        self.counts[start:stop] += m.expand(mask).sum(axis=0)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("exits", [True, False])
def test_every_instruction_a_thread_executes_is_counted_once(order, exits, monkeypatch):
    """The counts equal the interpreter's steps, regardless of waits."""
    monkeypatch.setattr(Machine, "pick", ORDERS[order])
    for seed in range(10):
        counts = Counts()
        steps = compare(seed, exits=exits, block=64, grid=1, listeners=(counts,))
        assert counts.counts is not None
        assert counts.counts.sum(axis=0).tolist() == steps


def test_lanes_that_wait_for_their_warp_are_not_taken_along(monkeypatch):
    """Warp 0 reaches the position of warp 1's first lane while the other lanes of warp 1 wait."""
    monkeypatch.setattr(Machine, "pick", lambda m: (max if m.parked else min)(m.runnable))
    body = f"""{OWN_SLOT}
    mov.b32 %r5, 10; setp.eq.u32 %p1, %r0, 32; selp.b32 %r6, 1, 0, %p1; @%p1 bra MEET;
    BACK: bar.warp.sync -1; add.s32 %r5, %r5, 1;
    MEET: setp.eq.s32 %p2, %r6, 1; @%p2 mov.b32 %r6, 0; @%p2 bra BACK;
    red.global.add.s32 [%rd11], %r5; ret;"""
    x = np.zeros(64, np.int32)
    launch(body, x, block=64)
    assert x.tolist() == [11] * 64


def test_the_clock_counts_up():
    """The test includes a long jump backwards."""
    work = "add.s32 %r6, %r6, 1; " * 50
    body = f"""{OWN_SLOT} mov.b32 %r5, 0; mov.b32 %r7, 1; mov.b64 %rd5, 0;
    TOP: mov.u64 %rd6, %clock64; setp.le.u64 %p1, %rd6, %rd5; @%p1 mov.b32 %r7, 0;
    {work} mov.u64 %rd5, %clock64; setp.le.u64 %p1, %rd5, %rd6; @%p1 mov.b32 %r7, 0;
    add.s32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r0; @%p2 bra TOP;
    st.global.b32 [%rd11], %r7; ret;"""
    x = np.zeros(32, np.uint32)
    launch(body, x)
    assert x.tolist() == [1] * 32


class Groups(Listener):
    """Record the size of the group at each store."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def on_access(self, m, access):
        if access.kind == "store":
            self.sizes.append(int(m.expand(access.mask).sum()))


@pytest.mark.parametrize("body, want", [
    ("""and.b32 %r5, %r0, 3; setp.eq.u32 %p1, %r5, 0; setp.eq.u32 %p2, %r5, 1;
     @%p1 bra A; @%p2 bra B; add.s32 %r5, %r5, 10; bra END;
     A: add.s32 %r5, %r5, 20; bra END; B: add.s32 %r5, %r5, 30; END:""",
     lambda i: [20, 31, 12, 13][i % 4]),
    ("""mov.b32 %r5, 0; mov.b32 %r6, 0; TOP: setp.ge.u32 %p1, %r6, %r0; @%p1 bra END;
     add.s32 %r5, %r5, %r6; add.s32 %r6, %r6, 1; bra TOP; END:""",
     lambda i: i * (i - 1) // 2),
], ids=["branches", "loops of uneven length"])  # fmt: skip
def test_groups_meet_again(body, want):
    groups, x = Groups(), np.zeros(96, np.uint32)
    launch(f"{OWN_SLOT} {body} st.global.b32 [%rd11], %r5; ret;", x, block=96, listeners=(groups,))
    assert groups.sizes == [96]
    assert x.tolist() == [want(i) for i in range(96)]


# -- threads that wait for memory ------------------------------------------------------------------
SPIN = """
    setp.ne.u32 %p1, %r0, {spinner}; @%p1 bra SET;
    WAIT: ld.volatile.global.b32 %r5, [%rd0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
    st.global.b32 [%rd0+4], %r5; bra END;
    SET: setp.ne.u32 %p3, %r0, {setter}; @%p3 bra END;
    mov.b32 %r6, 0; LOOP: add.s32 %r6, %r6, 1; setp.lt.u32 %p4, %r6, {work}; @%p4 bra LOOP;
    mov.b32 %r7, 42; st.volatile.global.b32 [%rd0], %r7;
    END: ret;"""


@pytest.mark.parametrize("spinner, setter", [(0, 1), (0, 40), (40, 0), (31, 32)])
@pytest.mark.parametrize("work", [1, 3000])
def test_a_spinning_wait_ends(spinner, setter, work):
    x = np.zeros(2, np.uint32)
    launch(SPIN.format(spinner=spinner, setter=setter, work=work), x, block=64)
    assert x.tolist() == [42, 42]


def test_a_spinning_wait_costs_little():
    """The machine detects polling in a loop, so the other threads run without thousands of
    iterations."""
    x = np.zeros(2, np.uint32)
    launch(SPIN.format(spinner=0, setter=1, work=1), x, block=64, budget=500)
    assert x.tolist() == [42, 42]


def test_a_wait_without_a_polling_instruction_ends_too():
    body = SPIN.replace("ld.volatile.global", "ld.global").format(spinner=0, setter=1, work=1)
    x = np.zeros(2, np.uint32)
    launch(body, x)
    assert x.tolist() == [42, 42]


def test_blocks_of_one_batch_may_wait_for_later_ones():
    body = """mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 2; @%p1 bra SET;
    WAIT: ld.acquire.gpu.global.b32 %r5, [%rd0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
    ret;
    SET: mov.b32 %r7, 1; st.release.gpu.global.b32 [%rd0], %r7; ret;"""
    launch(body, np.zeros(1, np.uint32), grid=3)
    launch(body, np.zeros(1, np.uint32), grid=3, batch_threads=32, cooperative=True)
    with pytest.raises(DeadlockError) as error:
        launch(body, np.zeros(1, np.uint32), grid=3, batch_threads=32, sanitize=True)
    said = str(error.value)
    assert "thread (0, 0, 0) of block (0, 0, 0) waits for x[0] (0x0 now), PTX line" in said
    assert (
        "Blocks 0 to 0 of 3 run at the same time, so a block that waits for a later block" in said
    )


@pytest.mark.parametrize(
    "loop",
    [
        "ld.acquire.gpu.global.b32 %r5, [%rd0]; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 9000;",
        "atom.global.add.u32 %r6, [%rd0], 1; setp.lt.u32 %p2, %r6, 9000;",
        "ld.volatile.global.b32 %r5, [%rd0]; mov.u32 %r6, %clock; setp.lt.u32 %p2, %r6, 19000;",
    ],
    ids=["counts", "adds", "looks at the clock"],
)
def test_a_loop_that_polls_and_ends_is_no_deadlock(loop):
    x = np.zeros(1, np.uint32)
    launch(f"mov.b32 %r6, 0; LOOP: {loop} @%p2 bra LOOP; st.global.b32 [%rd0], 7; ret;", x)
    assert x[0] == 7


def test_blocks_that_wait_for_a_lock_that_is_never_released_are_reported():
    body = """L: atom.acquire.gpu.global.cas.b32 %r5, [%rd0], 0, 1; setp.ne.u32 %p2, %r5, 0;
    @%p2 bra L; ret;"""
    with pytest.raises(DeadlockError, match=r"and threads of 1 more block wait at the same line"):
        launch(body, np.ones(1, np.uint32), grid=4)


CHAIN = """{number} setp.eq.u32 %p1, %r1, 0; @%p1 bra SET;
    sub.u32 %r2, %r1, 1; mul.wide.u32 %rd8, %r2, 4; add.u64 %rd9, %rd0, %rd8;
    WAIT: ld.acquire.gpu.global.b32 %r5, [%rd9]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
    SET: mul.wide.u32 %rd8, %r1, 4; add.u64 %rd9, %rd0, %rd8; mov.b32 %r7, 1;
    st.release.gpu.global.b32 [%rd9], %r7; ret;"""


def test_a_chain_of_blocks_counts_on_an_order_that_cuda_does_not_promise():
    schedule = {"batch_threads": 32, "schedule": "adversarial", "seed": 1}
    by_index, x = CHAIN.format(number="mov.u32 %r1, %ctaid.x;"), np.zeros(3, np.uint32)
    launch(by_index, x, grid=3, batch_threads=32)
    assert x.tolist() == [1, 1, 1]
    launch(by_index, x := np.zeros(3, np.uint32), grid=3, **schedule)  # all blocks run together
    assert x.tolist() == [1, 1, 1]
    with pytest.raises(DeadlockError) as error:
        launch(by_index, np.zeros(6, np.uint32), grid=6, **schedule)
    said = str(error.value)
    assert (
        "Blocks 4 to 5 of 6 run at the same time, so a block that waits for an earlier block"
        in said
    )
    assert "of block (4, 0, 0) waits for x[3] (0x0 now)" in said
    assert "CUDA does not guarantee" in said and "from an atomic counter" in said
    ticket, x = "mov.b32 %r7, 1; atom.add.global.u32 %r1, [%rd0+12], %r7;", np.zeros(4, np.uint32)
    launch(CHAIN.format(number=ticket), x, grid=3, block=1, **schedule)
    assert x.tolist() == [1, 1, 1, 3]


def test_lanes_that_wait_for_their_warp_go_on_when_the_others_have_left():
    """Lane 0 waits at a warp barrier for lanes that exit, while warp 1 spins until lane 0
    continues."""
    body = """setp.ge.u32 %p1, %r0, 32; @%p1 bra OTHER;
    setp.eq.u32 %p2, %r0, 0; @!%p2 bra LEAVE;
    bar.warp.sync -1; mov.b32 %r7, 1; st.volatile.global.b32 [%rd0], %r7; ret;
    LEAVE: ret;
    OTHER: ld.volatile.global.b32 %r5, [%rd0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra OTHER;
    ret;"""
    x = np.zeros(1, np.uint32)
    launch(body, x, block=64)
    assert x[0] == 1


# -- the budget, and interrupts -----------------------------------------------------------------
def test_a_loop_without_end_is_stopped():
    body = "LOOP: add.s32 %r1, %r1, 1; bra LOOP;"
    with pytest.raises(InstructionBudgetError) as caught:
        launch(body, np.zeros(1, np.uint32), block=64, budget=5000)
    message = str(caught.value)
    assert "stopped after 5,000 instructions" in message
    assert "Last executed: PTX line" in message
    assert "thread (0, 0, 0) of block (0, 0, 0) (and 63 more)" in message
    assert "options(budget=" in message


def test_an_interrupt_passes_straight_through():
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            launch("LOOP: add.s32 %r1, %r0, 1; bra LOOP;", np.zeros(1, np.uint32), budget=10**12)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


# -- equal runs ---------------------------------------------------------------------------
def test_runs_are_identical_down_to_the_order_of_accesses():
    class Trace(Listener):
        def __init__(self) -> None:
            self.seen: list[object] = []

        def on_access(self, m, access):
            kind, space, address, mask, width, *_ = access
            full = np.broadcast_to(address, m.shape)[m.expand(mask)]
            self.seen.append((m.pc, kind, space, width, full.tolist()))

    traces = []
    for _ in range(2):
        trace = Trace()
        body = Generator(11, exits=True).body()
        values = np.random.default_rng(1).integers(0, 64, 200 * INPUTS).astype(np.uint32)
        launch(
            body, values, np.zeros(200 * WORDS, np.uint32), grid=2, block=100, listeners=(trace,)
        )
        traces.append(trace.seen)
    assert traces[0] == traces[1] and traces[0]


def test_a_batch_of_blocks_with_large_memories_is_kept_small(monkeypatch):
    seen = []
    real = launching.run_batch

    def run_batch(program, record, memory, blocks, *rest):
        seen.append(len(blocks))
        return real(program, record, memory, blocks, *rest)

    monkeypatch.setattr(launching, "run_batch", run_batch)
    launch("ret;", np.zeros(1, np.uint32), grid=1024, block=32, shared=200 * 1024)
    assert max(seen) * 200 * 1024 <= launching.BATCH_BYTES and sum(seen) == 1024


def test_output_of_a_batch_that_fails_is_still_shown(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    head = (
        ".global .align 1 .b8 form[4] = {104, 105, 10, 0};\n"
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);"
    )
    body = """.param .b64 param0; .param .b64 param1; .param .b32 retval0;
    mov.u64 %rd1, form; st.param.b64 [param0], %rd1; mov.b64 %rd2, 0; st.param.b64 [param1], %rd2;
    setp.ne.u32 %p1, %r0, 0; @%p1 bra L;
    call.uni (retval0), vprintf, (param0, param1);
    L: st.global.b32 [%rd0+64], %r0; ret;"""
    with pytest.raises(Exception, match="Out of bounds"):
        launch(body, np.zeros(1, np.uint32), head=head)
    assert out.getvalue() == "hi\n"
