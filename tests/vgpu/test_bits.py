"""Bit operations and moves against Python's integers."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from ptx_launch import launch

from tests.vgpu.harness import check

WORDS = {
    16: [0, 1, 0x8000, 0x7FFF, 0xFFFF, 0x5A3C],
    32: [0, 1, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 0x5A3C96F1, 0x00010000],
    64: [0, 1, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, 0x5A3C96F1_0123ABCD, 1 << 32],
}
SHIFTS = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 65536, 2**32 - 1]
rng = random.Random(7)
RANDOM = {bits: [rng.getrandbits(bits) for _ in range(50)] for bits in (32, 64)}


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> bits - 1 else x


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize(
    "name, op", [("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)]
)
def test_logic(name: str, op, bits: int) -> None:
    pairs = itertools.product(WORDS[bits], repeat=2)
    check(
        f"{name}.b{bits} d, a, b",
        f"b{bits} b{bits} -> b{bits}",
        [(a, b, op(a, b)) for a, b in pairs],
    )


@pytest.mark.parametrize(
    "name, op", [("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)]
)
def test_logic_of_predicates(name: str, op) -> None:
    pairs = itertools.product((0, 1), repeat=2)
    check(f"{name}.pred d, a, b", "pred pred -> pred", [(a, b, op(a, b)) for a, b in pairs])


def test_not_of_predicates() -> None:
    check("not.pred d, a", "pred -> pred", [(0, 1), (1, 0)])
    check("mov.pred d, a", "pred -> pred", [(0, 0), (1, 1)])


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_not(bits: int) -> None:
    full = (1 << bits) - 1
    check(f"not.b{bits} d, a", f"b{bits} -> b{bits}", [(a, full - a) for a in WORDS[bits]])
    check(f"cnot.b{bits} d, a", f"b{bits} -> b{bits}", [(a, int(a == 0)) for a in WORDS[bits]])


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_clamp_their_amount(bits: int) -> None:
    pairs = list(itertools.product(WORDS[bits], SHIFTS))
    full = (1 << bits) - 1
    left = [(a, n, (a << n) & full if n < bits else 0) for a, n in pairs]
    logical = [(a, n, a >> n if n < bits else 0) for a, n in pairs]
    arithmetic = [(a, n, signed(a, bits) >> min(n, bits)) for a, n in pairs]
    check(f"shl.b{bits} d, a, b", f"b{bits} u32 -> b{bits}", left)
    check(f"shr.u{bits} d, a, b", f"b{bits} u32 -> b{bits}", logical)
    check(f"shr.b{bits} d, a, b", f"b{bits} u32 -> b{bits}", logical)
    check(f"shr.s{bits} d, a, b", f"b{bits} u32 -> b{bits}", arithmetic)


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 255])
def test_shifts_by_a_constant(n: int) -> None:
    a = 0x96F1A5C3
    left = (a << n) & 0xFFFFFFFF if n < 32 else 0
    check(f"shl.b32 d, a, {n}", "b32 -> b32", [(a, left)])
    check(f"shr.u32 d, a, {n}", "b32 -> b32", [(a, a >> n)])
    check(f"shr.s32 d, a, {n}", "b32 -> b32", [(a, signed(a, 32) >> n)])


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_funnel_shift(mode: str) -> None:
    left, right = [], []
    for low, high, amount in itertools.product(WORDS[32], WORDS[32], [0, 1, 31, 32, 33, 64, 255]):
        n = amount & 31 if mode == "wrap" else min(amount, 32)
        both = high << 32 | low
        left.append((low, high, amount, (both << n >> 32) & 0xFFFFFFFF))
        right.append((low, high, amount, (both >> n) & 0xFFFFFFFF))
    check(f"shf.l.{mode}.b32 d, a, b, c", "b32 b32 u32 -> b32", left)
    check(f"shf.r.{mode}.b32 d, a, b, c", "b32 b32 u32 -> b32", right)


@pytest.mark.parametrize(
    "table", [0x00, 0xFF, 0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x1D, 0xF0, 0xCC, 0xAA]
)
def test_lop3(table: int) -> None:
    rows = []
    for a, b, c in itertools.product([0, 0xFFFFFFFF, 0x5A3C96F1, 0x0F0F3355], repeat=3):
        want = 0
        for i in range(32):
            bit = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)
            want |= (table >> bit & 1) << i
        rows.append((a, b, c, want))
    check(f"lop3.b32 d, a, b, c, {table:#x}", "b32 b32 b32 -> b32", rows)


def picked_bytes(a: int, b: int, selector: int) -> int:
    source = a.to_bytes(4, "little") + b.to_bytes(4, "little")
    out = []
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = source[nibble & 7]
        out.append((0xFF if byte & 0x80 else 0) if nibble & 8 else byte)
    return int.from_bytes(bytes(out), "little")


def test_prmt() -> None:
    rows = []
    for selector in (0x3210, 0x7654, 0x0123, 0x5410, 0xFEDC, 0xBA98, 0x8888, 0xFFFF3210, 0x7632):
        for a, b in ((0x83828180, 0x77665544), (0x00FF7F80, 0xFFFFFFFF)):
            rows.append((a, b, selector, picked_bytes(a, b, selector)))
    check("prmt.b32 d, a, b, c", "b32 b32 b32 -> b32", rows)
    check("prmt.b32 d, a, b, 0x5140", "b32 b32 -> b32", [(0x44332211, 0x88776655, 0x66225511)])


# The manual's table: for each mode the source bytes (b3, b2, b1, b0) for c = 0, 1, 2, 3.
PRMT_MODES = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


@pytest.mark.parametrize("mode", PRMT_MODES)
def test_prmt_modes(mode: str) -> None:
    a, b = 0x83828180, 0x77665544
    rows = [
        (a, b, c + extra, picked_bytes(a, b, int(PRMT_MODES[mode][c], 16)))
        for c in range(4)
        for extra in (0, 4, 0xFFFFFF00)
    ]
    check(f"prmt.b32.{mode} d, a, b, c", "b32 b32 b32 -> b32", rows)


@pytest.mark.parametrize("bits", [32, 64])
def test_counting(bits: int) -> None:
    words = WORDS[bits] + RANDOM[bits] + [1 << i for i in range(bits)]
    ones = [(a, a.bit_count()) for a in words]
    zeros = [(a, bits - a.bit_length()) for a in words]
    reverse = [(a, int(f"{a:0{bits}b}"[::-1], 2)) for a in words]
    check(f"popc.b{bits} d, a", f"b{bits} -> u32", ones)
    check(f"clz.b{bits} d, a", f"b{bits} -> u32", zeros)
    check(f"brev.b{bits} d, a", f"b{bits} -> b{bits}", reverse)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bfind(kind: str) -> None:
    bits = int(kind[1:])
    position, amount = [], []
    for a in WORDS[bits] + [1 << i for i in range(bits)]:
        x = signed(a, bits) if kind[0] == "s" else a
        at = (x if x >= 0 else ~x).bit_length() - 1  # -1 where there is no such bit
        position.append((a, at))
        amount.append((a, -1 if at < 0 else bits - 1 - at))
    check(f"bfind.{kind} d, a", f"b{bits} -> u32", position)
    check(f"bfind.shiftamt.{kind} d, a", f"b{bits} -> u32", amount)


LENGTHS = [0, 1, 5, 31, 32, 33, 63, 64, 255]
BEYOND = [256, 257]  # cut to 8 bits by 32-bit instructions; of 64-bit ones an H200 does otherwise


def lengths(bits: int) -> list[int]:
    return LENGTHS + BEYOND if bits == 32 else LENGTHS


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bfe(kind: str) -> None:
    """The manual's loop: bits beyond the word, or beyond the field, are zero or the sign bit."""
    bits = int(kind[1:])
    rows = []
    for a, pos, length in itertools.product(WORDS[bits], lengths(bits), lengths(bits)):
        p, n = pos & 255, length & 255
        sign = 0
        if kind[0] == "s" and n:
            sign = a >> min(p + n - 1, bits - 1) & 1
        want = 0
        for i in range(bits):
            bit = a >> p + i & 1 if i < n and p + i < bits else sign
            want |= bit << i
        rows.append((a, pos, length, want))
    check(f"bfe.{kind} d, a, b, c", f"b{bits} u32 u32 -> b{bits}", rows)


@pytest.mark.parametrize("bits", [32, 64])
def test_bfi(bits: int) -> None:
    rows = []
    words, fields = WORDS[bits][:6], lengths(bits)
    for a, b, pos, length in itertools.product(words, words, fields, fields):
        p, n = pos & 255, length & 255
        want = b
        for i in range(n):
            if p + i < bits:
                want = want & ~(1 << p + i) | (a >> i & 1) << p + i
        rows.append((a, b, pos, length, want))
    check(f"bfi.b{bits} d, a, b, c, f", f"b{bits} b{bits} u32 u32 -> b{bits}", rows)


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_bmsk(mode: str) -> None:
    rows = []
    for pos, length in itertools.product([0, 1, 5, 31, 32, 33, 63, 255, 2**32 - 1], repeat=2):
        p, n = (pos & 31, length & 31) if mode == "wrap" else (min(pos, 32), min(length, 32))
        rows.append((pos, length, (((1 << n) - 1) << p) & 0xFFFFFFFF))
    check(f"bmsk.{mode}.b32 d, a, b", "u32 u32 -> b32", rows)


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "u32", "s32", "u64", "u16", "f32", "f64"])
def test_mov(kind: str) -> None:
    bits = f"b{kind.lstrip('bfpsu')}"
    check(f"mov.{kind} d, a", f"{bits} -> {bits}", [(v, v) for v in WORDS[int(kind[1:])]])


def test_mov_of_immediates() -> None:
    check("mov.b32 d, 0f3FC00000", "b32 -> f32", [(0, 1.5)])
    check("mov.f32 d, 0f3FC00000", "b32 -> f32", [(0, 1.5)])
    check("mov.b64 d, 0d3FF8000000000000", "b32 -> f64", [(0, 1.5)])
    check("mov.b32 d, -1", "b32 -> b32", [(0, 0xFFFFFFFF)])
    check("mov.b64 d, -1", "b32 -> b64", [(0, 2**64 - 1)])
    check("mov.b64 d, 0xFFFFFFFFFFFFFFFF", "b32 -> b64", [(0, 2**64 - 1)])
    check("mov.u32 d, 010", "b32 -> b32", [(0, 8)])  # octal, as in C
    check("mov.b16 d, 0x3C00", "b32 -> f16", [(0, 1.0)])


def test_pack_and_unpack() -> None:
    low, high = 0x89ABCDEF, 0x01234567
    both = high << 32 | low
    check("mov.b64 d, {a, b}", "b32 b32 -> b64", [(low, high, both)])
    check("mov.b64 {d, e}, a", "b64 -> b32 b32", [(both, low, high)])
    check("mov.b64 {_, d}, a", "b64 -> b32", [(both, high)])
    check("mov.b32 d, {a, b}", "b16 b16 -> b32", [(0xCDEF, 0x89AB, low)])
    check("mov.b32 {d, e}, a", "b32 -> b16 b16", [(low, 0xCDEF, 0x89AB)])
    check("mov.b32 {d, _}, a", "b32 -> b16", [(low, 0xCDEF)])
    check(
        "mov.b64 d, {a, b, c, f}",
        "b16 b16 b16 b16 -> b64",
        [(1, 2, 3, 0xFFFF, 0xFFFF0003_00020001)],
    )
    check("mov.b64 {_, d, _, e}, a", "b64 -> b16 b16", [(both, 0x89AB, 0x0123)])
    check("mov.b64 d, {a, 1}", "b32 -> b64", [(low, 1 << 32 | low)])
    check(
        "@c mov.b64 {d, e}, a",
        "b64 b32 pred -> b32 b32",
        [(both, 0, 1, low, high), (both, 0, 0, -1, -1)],
    )


def test_128_bits_move_in_two_halves():
    """Also through a register that some threads do not write, and from a vector of parameters."""
    module = """.version 9.4
    .target sm_90a
    .address_size 64
    .visible .entry k(.param .align 16 .b8 p[16]) {
    .reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<20>; .reg .b128 %rq<4>;
    ld.param.v2.b64 {%rd0, %rd1}, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 16;
    add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2; ld.global.v2.b64 {%rd5, %rd6}, [%rd3];
    mov.b128 %rq0, {%rd6, %rd6}; setp.lt.u32 %p1, %r0, 20; @%p1 mov.b128 %rq0, {%rd6, %rd5};
    mov.b128 %rq1, %rq0; mov.b128 {%rd7, %rd8}, %rq1; st.global.v2.b64 [%rd4], {%rd7, %rd8};
    ret; }"""
    x = np.random.default_rng(5).integers(0, 2**64, (32, 2), np.uint64)
    x[:4, 1] = [0x7FF0_0000_0000_0001, 0xFFFF_FFFF_FFFF_FFFF, 0, 1 << 63]
    y = np.zeros_like(x)
    launch(module, x, y, sanitize=True)
    assert (y[:20] == x[:20, ::-1]).all() and (y[20:] == x[20:, 1:]).all()
