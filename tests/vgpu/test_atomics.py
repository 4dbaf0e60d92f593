"""Test atomic operations: every operation and type, in order of block and thread."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_launch import launch

from forgekit.vgpu.opcodes.atomics import operation

AT = "mul.wide.u32 %rd10, %r0, 4; add.s64 %rd11, %rd1, %rd10; add.s64 %rd12, %rd2, %rd10; "
KEEP = "st.global.b32 [%rd12], %r5; ret;"


def serve(
    op: str, start: int, values: list[int], *, kind: str = "i4", second: str = ""
) -> tuple[int, list[int]]:
    """Let each thread update the same word with its own value; return the final word, and each
    thread's result."""
    cell = np.array([start], kind)
    x, old = np.array(values, kind), np.zeros(len(values), kind)
    body = f"{AT} ld.global.b32 %r4, [%rd11]; {op} %r5, [%rd0], {second} %r4; {KEEP}"
    launch(body, cell, x, old, block=len(values))
    return cell[0].item(), old.tolist()


def one_by_one(fn, start: int, values: list[int]) -> tuple[int, list[int]]:
    olds = []
    for v in values:
        olds.append(start)
        start = fn(start, v)
    return start, olds


def wrapped(x: int) -> int:
    return (x + 2**31) % 2**32 - 2**31


RANDOM = np.random.default_rng(3).integers(-(2**31), 2**31, 70).tolist()
SMALL = [v % 7 for v in RANDOM]
OPERATIONS = [
    ("atom.global.add.s32", lambda a, b: wrapped(a + b)),
    ("atom.global.min.s32", min),
    ("atom.global.max.s32", max),
    ("atom.global.min.u32", lambda a, b: min(a, b, key=lambda v: v % 2**32)),
    ("atom.global.max.u32", lambda a, b: max(a, b, key=lambda v: v % 2**32)),
    ("atom.global.and.b32", lambda a, b: a & b),
    ("atom.global.or.b32", lambda a, b: a | b),
    ("atom.global.xor.b32", lambda a, b: a ^ b),
    ("atom.global.exch.b32", lambda a, b: b),
    ("atom.global.inc.u32", lambda a, b: 0 if a % 2**32 >= b % 2**32 else a + 1),
    ("atom.global.dec.u32", lambda a, b: b if a == 0 or a % 2**32 > b % 2**32 else a - 1),
    ("atom.acq_rel.gpu.global.add.s32", lambda a, b: wrapped(a + b)),
    ("atom.relaxed.sys.add.s32", lambda a, b: wrapped(a + b)),
]


@pytest.mark.parametrize("op, fn", OPERATIONS, ids=[o for o, _ in OPERATIONS])
@pytest.mark.parametrize("values", [RANDOM, SMALL], ids=["any", "small"])
@pytest.mark.parametrize("start", [0, 5, -1])
def test_threads_are_served_in_order(op, fn, values, start):
    assert serve(op, start, values) == one_by_one(fn, start, values)


def test_compare_and_swap():
    values = list(range(1, 41))
    assert serve("atom.global.cas.b32", 0, values, second="0,") == (1, [0] + [1] * 39)
    body = f"{AT} add.s32 %r4, %r0, 1; atom.global.cas.b32 %r5, [%rd0], %r0, %r4; {KEEP}"
    cell, old = np.zeros(1, np.int32), np.zeros(40, np.int32)
    launch(body, cell, old, old, block=40)
    assert cell[0] == 40 and old.tolist() == list(range(40))


def test_many_addresses():
    rng = np.random.default_rng(0)
    x, counts = rng.integers(0, 10, 3 * 96).astype(np.int32), np.zeros(10, np.int32)
    body = """mov.u32 %r1, %ctaid.x; mad.lo.s32 %r2, %r1, 96, %r0; mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd3, %rd3, %rd0; ld.global.b32 %r3, [%rd3]; mul.wide.u32 %rd4, %r3, 4;
    add.s64 %rd4, %rd4, %rd1; red.global.add.s32 [%rd4], 1; ret;"""
    launch(body, x, counts, grid=3, block=96)
    assert counts.tolist() == np.bincount(x, minlength=10).tolist()


def test_only_active_threads_take_part():
    cell = np.zeros(1, np.int32)
    launch("setp.lt.u32 %p1, %r0, 10; @%p1 red.global.add.s32 [%rd0], 1; ret;", cell, block=64)
    assert cell[0] == 10
    launch("setp.gt.u32 %p1, %r0, 99; @%p1 red.global.add.s32 [%rd0], 1; ret;", cell, block=64)
    assert cell[0] == 10
    body = "setp.lt.u32 %p1, %r0, 3; @!%p1 bra END; red.global.add.s32 [%rd0], 1; END: ret;"
    launch(body, cell, block=48)
    assert cell[0] == 13


def test_uniform_operands_count_every_thread_and_block():
    cell = np.zeros(1, np.int32)
    launch("red.global.add.s32 [%rd0], 2; ret;", cell, grid=3, block=40)
    assert cell[0] == 240


def test_shared_memory():
    x = np.zeros(3, np.int32)
    body = """.shared .align 4 .b8 s[4]; mov.b32 %r1, s; setp.eq.u32 %p1, %r0, 0; mov.b32 %r2, 0;
    @%p1 st.shared.b32 [%r1], %r2; bar.sync 0; atom.shared.add.u32 %r3, [%r1], %r0; bar.sync 0;
    ld.shared.b32 %r4, [%r1]; mov.u32 %r5, %ctaid.x; mul.wide.u32 %rd5, %r5, 4;
    add.s64 %rd6, %rd0, %rd5;
    @%p1 st.global.b32 [%rd6], %r4; ret;"""
    launch(body, x, grid=3, block=64)
    assert x.tolist() == [2016] * 3


# -- floats ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("batch_threads", [32, 1 << 15])
@pytest.mark.parametrize("threads, grid", [(3, 1), (64, 5), (300, 1)])
def test_float_sums_are_taken_in_order(threads, grid, batch_threads):
    x = np.random.default_rng(4).standard_normal(threads * grid).astype(np.float32)
    cell, old = np.array([0.5], np.float32), np.zeros_like(x)
    body = f"""mov.u32 %r1, %ctaid.x; mad.lo.s32 %r0, %r1, {threads}, %r0;
    {AT} ld.global.b32 %r4, [%rd11]; atom.global.add.f32 %r5, [%rd0], %r4; {KEEP}"""
    launch(body, cell, x, old, block=threads, grid=grid, batch_threads=batch_threads)
    total, olds = np.float32(0.5), []
    for v in x:
        olds.append(total)
        total = np.float32(total + v)
    assert cell[0] == total and old.tolist() == olds


@pytest.mark.parametrize("threads", [2, 40])
def test_nan_sums_are_those_of_a_gpu(threads):
    """If no operand is NaN, x86 and Arm processors return different NaNs."""
    infinity, minus_infinity, nan, payload = 0x7F800000, 0xFF800000 - 2**32, 0x7FFFFFFF, 0x7F800001
    values = [minus_infinity] + [0] * (threads - 1)
    found = serve("atom.global.add.f32", infinity, values)
    assert found == (nan, [infinity] + [nan] * (threads - 1))
    found = serve("atom.global.add.f32", payload, [0] * threads)
    assert found == (nan, [payload] + [nan] * (threads - 1))


@pytest.mark.parametrize("name, zero", [("min", 0x8000), ("max", 0)])
def test_extremes_of_halves_in_memory(name, zero):
    """As with `min` and `max`, signed zeros are ordered, and a signaling NaN loses."""
    old = np.array([0, 0x8000, 0x7C01, 0x3C00, 0x7C01], np.uint16).view(np.float16)
    x = np.array([0x8000, 0, 0x3C00, 0x7C01, 0x7C01], np.uint16).view(np.float16)
    result = operation(name, "f16")(old, x).view(np.uint16)
    assert result.tolist() == [zero, zero, 0x3C00, 0x3C00, 0x7FFF]


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("threads", [1, 40])
def test_subnormal_sums(space, threads):
    """Global memory flushes subnormals to zero; shared memory keeps them (PTX ISA, `atom`)."""
    tiny = np.array([2.0**-130], np.float32)
    x = np.zeros(1, np.float32)
    if space == "global":
        body = "ld.global.b32 %r4, [%rd0]; red.global.add.f32 [%rd1], %r4; ret;"
    else:
        body = """.shared .align 4 .b8 s[4]; mov.b32 %r1, s; setp.eq.u32 %p1, %r0, 0;
        mov.b32 %r2, 0;
        @%p1 st.shared.b32 [%r1], %r2; bar.sync 0; ld.global.b32 %r4, [%rd0];
        red.shared.add.f32 [%r1], %r4; bar.sync 0; ld.shared.b32 %r5, [%r1];
        st.global.b32 [%rd1], %r5; ret;"""
    launch(body, tiny, x, block=threads)
    assert x[0] == (0 if space == "global" else threads * tiny[0])


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_half_sums(kind):
    one, big = (0x3C00, 0x6400) if kind == "f16" else (0x3F80, 0x4300)  # 1, and 1024 or 128
    cell = np.array([big], np.uint16)
    launch(f"mov.b16 %rs1, {one}; red.global.add.noftz.{kind} [%rd0], %rs1; ret;", cell, block=32)
    assert cell[0] == (0x6420 if kind == "f16" else 0x4320)  # 1056, and 160


def test_packed_halves():
    cell = np.array([0], np.uint32)
    launch("mov.b32 %r4, 0x40003C00; red.global.add.noftz.f16x2 [%rd0], %r4; ret;", cell, block=32)
    assert cell.view(np.float16).tolist() == [32.0, 64.0]


def test_doubles_and_64_bit_integers():
    cell = np.zeros(1, np.float64)
    launch("mov.b64 %rd5, 0d3FB999999999999A; red.global.add.f64 [%rd0], %rd5; ret;", cell)
    want = 0.0
    for _ in range(32):
        want += 0.1
    assert cell[0] == want
    cell = np.array([2**63], np.uint64)
    launch("mov.b64 %rd5, 0x7fffffffffffffff; red.global.max.u64 [%rd0], %rd5; ret;", cell)
    assert cell[0] == 2**63
    launch("mov.b64 %rd5, 0x7fffffffffffffff; red.global.add.u64 [%rd0], %rd5; ret;", cell, block=1)
    assert cell[0] == 2**64 - 1
