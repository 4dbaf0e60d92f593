"""Test bit operations and moves against Python's integers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest
from ptx_launch import launch

from tests.vgpu.harness import check

WORDS = {
    1: [0, 1],
    16: [0, 1, 0x8000, 0x7FFF, 0xFFFF, 0x5A3C],
    32: [0, 1, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 0x5A3C96F1, 0x00010000],
    64: [0, 1, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, 0x5A3C96F1_0123ABCD, 1 << 32],
}
SHIFTS = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 65536, 2**32 - 1]
rng = random.Random(7)
RANDOM = {bits: [rng.getrandbits(bits) for _ in range(50)] for bits in (32, 64)}


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> bits - 1 else x


def ones(bits: int) -> int:
    return (1 << bits) - 1


# Name, types, function of the bit width and the operands, and the result's type unless it is that
# of the operands.
TABLE = [
    ("and", ("b16", "b32", "b64", "pred"), lambda n, a, b: a & b, ""),
    ("or", ("b16", "b32", "b64", "pred"), lambda n, a, b: a | b, ""),
    ("xor", ("b16", "b32", "b64", "pred"), lambda n, a, b: a ^ b, ""),
    ("not", ("b16", "b32", "b64", "pred"), lambda n, a: a ^ ones(n), ""),
    ("cnot", ("b16", "b32", "b64"), lambda n, a: int(a == 0), ""),
    ("mov", ("b16", "b32", "b64", "u16", "u32", "s32", "u64", "f32", "f64", "pred"),
     lambda n, a: a, ""),
    ("popc", ("b32", "b64"), lambda n, a: a.bit_count(), "u32"),
    ("clz", ("b32", "b64"), lambda n, a: n - a.bit_length(), "u32"),
    ("brev", ("b32", "b64"), lambda n, a: int(f"{a:0{n}b}"[::-1], 2), ""),
]  # fmt: skip


@pytest.mark.parametrize(
    "name, kind, fn, result",
    [(name, kind, fn, result) for name, kinds, fn, result in TABLE for kind in kinds],
)
def test_words(name: str, kind: str, fn: Callable[..., int], result: str) -> None:
    bits = 1 if kind == "pred" else int(kind[1:])
    plain = kind if kind == "pred" else f"b{bits}"
    count = fn.__code__.co_argcount - 1
    words = WORDS[bits]
    if count == 1 and bits > 16:
        words = words + RANDOM[bits] + [1 << i for i in range(bits)]
    rows = [(*v, fn(bits, *v)) for v in itertools.product(words, repeat=count)]
    signature = f"{' '.join([plain] * count)} -> {result or plain}"
    check(f"{name}.{kind} d, {', '.join('ab'[:count])}", signature, rows)


def shifted(name: str, a: int, n: int, bits: int) -> int:
    if name == "shl":
        return (a << n) & ones(bits) if n < bits else 0
    return (signed(a, bits) if name == "shr.s" else a) >> min(n, bits)


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("name", ["shl.b", "shr.b", "shr.u", "shr.s"])
def test_shifts_clamp_their_amount(name: str, bits: int) -> None:
    form = name.removesuffix(".b")
    rows = [(a, n, shifted(form, a, n, bits)) for a in WORDS[bits] for n in SHIFTS]
    check(f"{name}{bits} d, a, b", f"b{bits} u32 -> b{bits}", rows)
    for n in (0, 1, 31, 32, 33, 255):  # a constant
        rows = [(a, shifted(form, a, n, bits)) for a in WORDS[bits]]
        check(f"{name}{bits} d, a, {n}", f"b{bits} -> b{bits}", rows)


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
    selectors = (0x3210, 0x7654, 0x0123, 0x5410, 0xFEDC, 0xBA98, 0x8888, 0xFFFF3210, 0x7632)
    words = ((0x83828180, 0x77665544), (0x00FF7F80, 0xFFFFFFFF))
    rows = [(a, b, s, picked_bytes(a, b, s)) for s in selectors for a, b in words]
    check("prmt.b32 d, a, b, c", "b32 b32 b32 -> b32", rows)
    check("prmt.b32 d, a, b, 0x5140", "b32 b32 -> b32", [(0x44332211, 0x88776655, 0x66225511)])


# The PTX manual's table: for each mode, the source bytes (b3, b2, b1, b0) for c = 0, 1, 2, 3.
PRMT_MODES = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543), "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333), "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210), "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}  # fmt: skip


@pytest.mark.parametrize("mode", PRMT_MODES)
def test_prmt_modes(mode: str) -> None:
    a, b = 0x83828180, 0x77665544
    rows = [
        (a, b, c + extra, picked_bytes(a, b, PRMT_MODES[mode][c]))
        for c in range(4)
        for extra in (0, 4, 0xFFFFFF00)
    ]
    check(f"prmt.b32.{mode} d, a, b, c", "b32 b32 b32 -> b32", rows)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bfind(kind: str) -> None:
    bits = int(kind[1:])
    position, amount = [], []
    for a in WORDS[bits] + [1 << i for i in range(bits)]:
        x = signed(a, bits) if kind[0] == "s" else a
        at = (x if x >= 0 else ~x).bit_length() - 1  # -1 if there is no such bit
        position.append((a, at))
        amount.append((a, -1 if at < 0 else bits - 1 - at))
    check(f"bfind.{kind} d, a", f"b{bits} -> u32", position)
    check(f"bfind.shiftamt.{kind} d, a", f"b{bits} -> u32", amount)


LENGTHS = [0, 1, 5, 31, 32, 33, 63, 64, 255]
# 32-bit instructions truncate the length to 8 bits; 64-bit ones behave differently on an H200.
BEYOND = [256, 257]


def lengths(bits: int) -> list[int]:
    return LENGTHS + BEYOND if bits == 32 else LENGTHS


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bfe(kind: str) -> None:
    """As in the PTX manual's loop, bits beyond the word or the field are zero or the sign bit."""
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


@pytest.mark.parametrize("text, kind, value", [
    ("mov.b32 d, 0f3FC00000", "f32", 1.5), ("mov.f32 d, 0f3FC00000", "f32", 1.5),
    ("mov.b64 d, 0d3FF8000000000000", "f64", 1.5), ("mov.b32 d, -1", "b32", 2**32 - 1),
    ("mov.b64 d, -1", "b64", 2**64 - 1), ("mov.b64 d, 0xFFFFFFFFFFFFFFFF", "b64", 2**64 - 1),
    ("mov.u32 d, 010", "b32", 8),  # octal, as in C
    ("mov.b16 d, 0x3C00", "f16", 1.0),
])  # fmt: skip
def test_mov_of_immediates(text: str, kind: str, value: float) -> None:
    check(text, f"b32 -> {kind}", [(0, value)])


LOW, HIGH = 0x89ABCDEF, 0x01234567
BOTH = HIGH << 32 | LOW


@pytest.mark.parametrize("text, signature, row", [
    ("mov.b64 d, {a, b}", "b32 b32 -> b64", (LOW, HIGH, BOTH)),
    ("mov.b64 {d, e}, a", "b64 -> b32 b32", (BOTH, LOW, HIGH)),
    ("mov.b64 {_, d}, a", "b64 -> b32", (BOTH, HIGH)),
    ("mov.b32 d, {a, b}", "b16 b16 -> b32", (0xCDEF, 0x89AB, LOW)),
    ("mov.b32 {d, e}, a", "b32 -> b16 b16", (LOW, 0xCDEF, 0x89AB)),
    ("mov.b32 {d, _}, a", "b32 -> b16", (LOW, 0xCDEF)),
    ("mov.b64 d, {a, b, c, f}", "b16 b16 b16 b16 -> b64", (1, 2, 3, 0xFFFF, 0xFFFF0003_00020001)),
    ("mov.b64 {_, d, _, e}, a", "b64 -> b16 b16", (BOTH, 0x89AB, 0x0123)),
    ("mov.b64 d, {a, 1}", "b32 -> b64", (LOW, 1 << 32 | LOW)),
    ("@c mov.b64 {d, e}, a", "b64 b32 pred -> b32 b32", (BOTH, 0, 1, LOW, HIGH)),
    ("@c mov.b64 {d, e}, a", "b64 b32 pred -> b32 b32", (BOTH, 0, 0, -1, -1)),
])  # fmt: skip
def test_pack_and_unpack(text: str, signature: str, row: tuple[int, ...]) -> None:
    check(text, signature, [row])


def test_128_bits_move_in_two_halves():
    """The test includes a register that only some threads write, and a vector of parameters."""
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
