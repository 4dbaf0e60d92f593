"""Test integer arithmetic against Python's integers, at the ends of every type's range."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from tests.vgpu.harness import check, limits, wrap

ALL = ("u16", "s16", "u32", "s32", "u64", "s64")
SIGNED = ("s16", "s32", "s64")
MIN32, MAX32 = -(2**31), 2**31 - 1


def edges(kind: str) -> list[int]:
    low, high = limits(kind)
    half = 1 << int(kind[1:]) // 2
    values = {low, low + 1, high, high - 1, 0, 1, 2, 7, half, half - 1, 0x5A5A % high}
    if kind[0] == "s":
        values |= {-1, -2, -7, -half}
    return sorted(values)


def within_s32(x: int) -> int:
    return max(MIN32, min(MAX32, x))


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


NARROW = ("u16", "s16", "u32", "s32")
# The instruction, its types, and its function of the bit width and the operands. T is the type, W
# the type of twice its width.
TABLE: list[tuple[str, tuple[str, ...], Callable[..., int]]] = [
    ("add.T d, a, b", ALL, lambda n, a, b: a + b),
    ("sub.T d, a, b", ALL, lambda n, a, b: a - b),
    ("min.T d, a, b", ALL, lambda n, a, b: min(a, b)),
    ("max.T d, a, b", ALL, lambda n, a, b: max(a, b)),
    # The smallest number has no positive counterpart, so it does not change.
    ("neg.T d, a", SIGNED, lambda n, a: -a),
    ("abs.T d, a", SIGNED, lambda n, a: abs(a)),
    ("mul.lo.T d, a, b", ALL, lambda n, a, b: a * b),
    ("mul.hi.T d, a, b", ALL, lambda n, a, b: a * b >> n),
    ("mul.wide.T d, a, b", NARROW, lambda n, a, b: a * b),
    ("mad.lo.T d, a, b, c", ALL, lambda n, a, b, c: a * b + c),
    ("mad.hi.T d, a, b, c", ALL, lambda n, a, b, c: (a * b >> n) + c),
    ("mad.wide.T d, a, b, c", NARROW, lambda n, a, b, c: a * b + c),
    ("sad.T d, a, b, c", ALL, lambda n, a, b, c: c + abs(a - b)),
    # The only overflow, the smallest number divided by -1, wraps around. For division by 0, which
    # PTX leaves undefined, an H200 returns all ones.
    ("div.T d, a, b", ALL, lambda n, a, b: truncated(a, b) if b else -1),
    ("rem.T d, a, b", ALL, lambda n, a, b: a - b * truncated(a, b) if b else -1),
    ("add.sat.T d, a, b", ("s32",), lambda n, a, b: within_s32(a + b)),
    ("sub.sat.T d, a, b", ("s32",), lambda n, a, b: within_s32(a - b)),
    ("mad.hi.sat.T d, a, b, c", ("s32",), lambda n, a, b, c: within_s32((a * b >> 32) + c)),
    ("max.relu.T d, a, b", ("s32",), lambda n, a, b: max(0, a, b)),
    ("min.relu.T d, a, b", ("s32",), lambda n, a, b: max(0, min(a, b))),
]


@pytest.mark.parametrize(
    "text, kind, fn", [(text, kind, fn) for text, kinds, fn in TABLE for kind in kinds]
)
def test_arithmetic(text: str, kind: str, fn: Callable[..., int]) -> None:
    bits, count = int(kind[1:]), text.count(",")
    wide = f"{kind[0]}{2 * bits}" if "wide" in text else kind
    kinds = [kind, kind, wide][:count]
    values = itertools.product(*(edges(k) for k in kinds))
    rows = [(*v, wrap(fn(bits, *v), wide)) for v in values]
    check(text.replace("T", kind), f"{' '.join(kinds)} -> {wide}", rows)


def low24(x: int, kind: str) -> int:
    return wrap(x << 8, kind) >> 8


@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_24_bits(kind: str) -> None:
    values = sorted({low24(v, kind) for v in (*edges(kind), 2**23 - 1, 2**23, 2**24 - 1, 12345)})
    pairs = list(itertools.product(values, values))
    lo = [(a, b, wrap(a * b, kind)) for a, b in pairs]
    hi = [(a, b, wrap(a * b >> 16, kind)) for a, b in pairs]
    check(f"mul24.lo.{kind} d, a, b", f"{kind} {kind} -> {kind}", lo)
    check(f"mul24.hi.{kind} d, a, b", f"{kind} {kind} -> {kind}", hi)
    more = [(a, b, 99, wrap(a * b + 99, kind)) for a, b in pairs]
    check(f"mad24.lo.{kind} d, a, b, c", f"{kind} {kind} {kind} -> {kind}", more)
    more = [(a, b, -5, wrap((a * b >> 16) - 5, kind)) for a, b in pairs]
    check(f"mad24.hi.{kind} d, a, b, c", f"{kind} {kind} {kind} -> {kind}", more)


def fields(x: int, kind: str, bits: int) -> list[int]:
    return [wrap(x >> bits * i, f"{kind[0]}{bits}") for i in range(32 // bits)]


WORDS = [0, 1, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F, 0x01FF807F, 0xDEADBEEF, 0x8000FFFF]


@pytest.mark.parametrize("first", ["u32", "s32"])
@pytest.mark.parametrize("second", ["u32", "s32"])
def test_dot_products(first: str, second: str) -> None:
    table = []
    low, high = [], []
    for a, b, c in itertools.product(WORDS, WORDS, (0, -1, MAX32)):
        y = fields(b, second, 8)
        dot = sum(p * q for p, q in zip(fields(a, first, 8), y, strict=True))
        table.append((a, b, c, wrap(c + dot, "u32")))
        x = fields(a, first, 16)
        low.append((a, b, c, wrap(c + x[0] * y[0] + x[1] * y[1], "u32")))
        high.append((a, b, c, wrap(c + x[0] * y[2] + x[1] * y[3], "u32")))
    signature = "b32 b32 b32 -> b32"
    check(f"dp4a.{first}.{second} d, a, b, c", signature, table)
    check(f"dp2a.lo.{first}.{second} d, a, b, c", signature, low)
    check(f"dp2a.hi.{first}.{second} d, a, b, c", signature, high)


BIG = [0, 1, 2**32 - 1, 2**32, 2**64 - 1, 2**63, 0xDEADBEEF_12345678]


@pytest.mark.parametrize("name, op", [("add", int.__add__), ("sub", int.__sub__)])
def test_carry_chain(name: str, op: Callable[[int, int], int]) -> None:
    """In 64-bit sums from 32-bit halves, the carry (borrow) passes between the instructions."""
    table = []
    for x, y in itertools.product(BIG, BIG):
        total = op(x, y) % 2**64
        parts = [v >> s & 0xFFFFFFFF for v in (x, y) for s in (0, 32)]
        table.append((*parts, total & 0xFFFFFFFF, total >> 32))
    text = f"{name}.cc.u32 d, a, c; {name}c.u32 e, b, f"
    check(text, "u32 u32 u32 u32 -> u32 u32", table)


@pytest.mark.parametrize("name, op", [("add", int.__add__), ("sub", int.__sub__)])
def test_carry_in_and_out(name: str, op: Callable[[int, int], int]) -> None:
    """`addc.cc` in the middle of a chain reads and writes a carry, even for 0xFFFFFFFF + carry."""
    words = [0, 1, 2**31, 2**32 - 1]
    table = []
    for a, b, c, f in itertools.product(words, repeat=4):
        total = op(c << 32 | a, f << 32 | b) % 2**96
        table.append((a, b, c, f, total >> 32 & 0xFFFFFFFF, total >> 64))
    text = f"{name}.cc.u32 d, a, b; {name}c.cc.u32 d, c, f; {name}c.u32 e, 0, 0"
    check(text, "u32 u32 u32 u32 -> u32 u32", table)


def test_carry_of_multiplication() -> None:
    """`mad.lo.cc` and `madc.hi` compute a 64-bit a*b + c, as NVIDIA's compiler uses them."""
    table = []
    for a, b, c in itertools.product([0, 1, 3, 2**31, 2**32 - 1], [1, 2**32 - 1, 77], BIG):
        total = (a * b + c) % 2**64
        table.append((a, b, c & 0xFFFFFFFF, c >> 32, total & 0xFFFFFFFF, total >> 32))
    text = "mad.lo.cc.u32 d, a, b, c; madc.hi.u32 e, a, b, f"
    check(text, "u32 u32 u32 u32 -> u32 u32", table)


def test_carry_is_kept_where_the_guard_is_false() -> None:
    table = [
        (0xFFFFFFFF, 1, True, 0, 1),  # the second addition runs and produces no carry
        (0xFFFFFFFF, 1, False, 1, 1),  # it does not run, so the first carry is kept
    ]
    text = "add.cc.u32 d, a, b; mov.b32 e, 1; @c add.cc.u32 d, e, e; addc.u32 d, 0, 0"
    check(text, "u32 u32 pred -> u32 u32", table)


def test_16_bit_pairs() -> None:
    low, high = (0x7FFF, 0x8000), (1, 0xFFFF)
    check("add.s16x2 d, a, b", "s16x2 s16x2 -> s16x2", [(low, high, (0x8000, 0x7FFF))])
    check("add.u16x2 d, a, b", "u16x2 u16x2 -> u16x2", [(low, high, (0x8000, 0x7FFF))])
    check("min.s16x2 d, a, b", "s16x2 s16x2 -> s16x2", [(low, high, (1, 0x8000))])
    check("max.u16x2 d, a, b", "u16x2 u16x2 -> u16x2", [(low, high, (0x7FFF, 0xFFFF))])


def test_immediates() -> None:
    check("add.s32 d, a, -1", "s32 -> s32", [(0, -1), (MIN32, MAX32)])
    check("and.b32 d, a, 0xFF", "b32 -> b32", [(0x1234, 0x34)])
    check("add.s64 d, a, -4294967297", "s64 -> s64", [(0, -(2**32) - 1)])
    check("mul.wide.u32 d, a, 4", "u32 -> u64", [(2**32 - 1, 4 * (2**32 - 1))])
    check("mad.lo.s32 d, a, 33, 5", "s32 -> s32", [(2, 71)])
    check("sub.s16 d, 5, a", "s16 -> s16", [(6, -1)])


def test_guard_keeps_the_old_value() -> None:
    check("mov.b32 d, 9; @c add.s32 d, a, b", "s32 s32 pred -> s32", [(1, 2, 1, 3), (1, 2, 0, 9)])
    check("mov.b32 d, 9; @!c add.s32 d, a, b", "s32 s32 pred -> s32", [(1, 2, 1, 9), (1, 2, 0, 3)])
    check("@c mul.wide.u16 d, a, b", "u16 u16 pred -> u32", [(9, 9, 1, 81), (9, 9, 0, -1)])
