"""Test comparisons and selections against Python's, including NaN and signed zeros."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import pytest

from tests.vgpu.exact import EDGES, FORMATS, value
from tests.vgpu.harness import INF, NAN, check

OPS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
UNSIGNED = {"lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}
INTEGERS = {
    kind: [0, 1, 2, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1]
    for bits in (16, 32, 64)
    for kind in (f"u{bits}", f"s{bits}", f"b{bits}")
}


def number(bits: int, kind: str) -> int:
    width = int(kind[1:])
    return bits - (1 << width) if kind[0] == "s" and bits >> width - 1 else bits


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", [*OPS, *UNSIGNED])
def test_setp_of_integers(name: str, kind: str) -> None:
    if (kind[0] == "b" and name not in ("eq", "ne")) or (kind[0] != "u" and name in UNSIGNED):
        return
    op = (OPS | UNSIGNED)[name]
    pairs = itertools.product(INTEGERS[kind], repeat=2)
    rows = [(a, b, op(number(a, kind), number(b, kind))) for a, b in pairs]
    check(f"setp.{name}.{kind} d, a, b", f"{kind} {kind} -> pred", rows)


def compare(name: str, kind: str, a: int, b: int) -> bool:
    """Compare floats by their bits: infinities are ordered, NaN is unordered."""
    x, y = (value(v, FORMATS[kind]) for v in (a, b))
    unordered = "nan" in (x, y)
    if name in ("num", "nan"):
        return unordered == (name == "nan")
    if unordered:
        return name.endswith("u")
    sizes = {"inf": math.inf, "-inf": -math.inf}
    x, y = (sizes[v] if isinstance(v, str) else v for v in (x, y))
    return OPS[name.removesuffix("u")](x, y)


FLOAT_NAMES = [*OPS, *(f"{n}u" for n in OPS), "num", "nan"]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", FLOAT_NAMES)
def test_setp_of_floats(name: str, kind: str) -> None:
    pairs = itertools.product(EDGES[kind], repeat=2)
    rows = [(a, b, compare(name, kind, a, b)) for a, b in pairs]
    check(f"setp.{name}.{kind} d, a, b", f"{kind} {kind} -> pred", rows)


def test_setp_flushes() -> None:
    least = 1  # the smallest subnormal
    check("setp.gt.f32 d, a, b", "f32 f32 -> pred", [(least, 0.0, 1)])
    check("setp.gt.ftz.f32 d, a, b", "f32 f32 -> pred", [(least, 0.0, 0)])
    check("setp.eq.ftz.f32 d, a, b", "f32 f32 -> pred", [(least, 0x80000001, 1)])
    rows = [(least, 0.0, 1, 0, 1), (0x00800000, 0.0, 1, 1, 0)]
    check("setp.gt.and.ftz.f32 d|e, a, b, c", "f32 f32 pred -> pred pred", rows)


BOOLEANS = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


@pytest.mark.parametrize("boolean", BOOLEANS)
def test_setp_combines(boolean: str) -> None:
    """p receives the comparison and q its complement, each combined with c."""
    fn = BOOLEANS[boolean]
    plain, negated = [], []
    for a, c in itertools.product((1, 5, 9), (0, 1)):
        less = a < 5
        plain.append((a, 5, c, fn(less, c), fn(not less, c)))
        negated.append((a, 5, c, fn(less, not c), fn(not less, not c)))
    signature = "s32 s32 pred -> pred pred"
    check(f"setp.lt.{boolean}.s32 d|e, a, b, c", signature, plain)
    check(f"setp.lt.{boolean}.s32 d|e, a, b, !c", signature, negated)
    one = [row[:4] for row in plain]
    check(f"setp.lt.{boolean}.s32 d, a, b, c", "s32 s32 pred -> pred", one)


def test_setp_pair_and_sink() -> None:
    rows = [(1, 2, 1, 0), (2, 1, 0, 1)]
    check("setp.lt.s32 d|e, a, b", "s32 s32 -> pred pred", rows)
    check("setp.lt.s32 _|d, a, b", "s32 s32 -> pred", [(1, 2, 0), (2, 1, 1)])
    check("setp.lt.s32 d|_, a, b", "s32 s32 -> pred", [(1, 2, 1), (2, 1, 0)])
    # NaN: the complement of a false ordered comparison is true.
    check("setp.lt.f32 d|e, a, b", "f32 f32 -> pred pred", [(NAN, 0.0, 0, 1)])


@pytest.mark.parametrize("kind", ["f16x2", "bf16x2"])
def test_setp_of_pairs(kind: str) -> None:
    """p compares the lower halves, q the upper halves."""
    rows = [
        ((1.0, 2.0), (2.0, 1.0), 1, 0),
        ((1.0, 1.0), (1.0, 2.0), 0, 1),
        ((NAN, -0.0), (0.0, 0.0), 0, 0),
    ]
    check(f"setp.lt.{kind} d|e, a, b", f"{kind} {kind} -> pred pred", rows)


def test_setp_guarded() -> None:
    # d starts out true here
    rows = [(5, 5, 1, 1), (5, 6, 1, 0), (5, 6, 0, 1)]
    check("@c setp.eq.s32 d, a, b", "s32 s32 pred -> pred", rows)


@pytest.mark.parametrize("result, yes", [("u32", 0xFFFFFFFF), ("s32", 0xFFFFFFFF), ("f32", 1.0)])
def test_set(result: str, yes: Any) -> None:
    zero = 0.0 if result == "f32" else 0
    rows = [(1, 2, yes), (2, 1, zero), (-1, 0, yes)]
    check(f"set.lt.{result}.s32 d, a, b", f"s32 s32 -> {result}", rows)
    rows = [(1.0, 2.0, zero), (NAN, 1.0, yes), (2.0, 1.0, yes)]
    check(f"set.gtu.{result}.f32 d, a, b", f"f32 f32 -> {result}", rows)
    rows = [(1, 2, 1, yes), (1, 2, 0, zero), (2, 1, 1, zero)]
    check(f"set.lt.and.{result}.s32 d, a, b, c", f"s32 s32 pred -> {result}", rows)


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "u32", "s32", "s64", "f32", "f64"])
def test_selp(kind: str) -> None:
    bits = f"b{kind[1:]}"
    top = (1 << int(kind[1:])) - 1
    check(
        f"selp.{kind} d, a, b, c",
        f"{bits} {bits} pred -> {bits}",
        [(top, 5, 1, top), (top, 5, 0, 5)],
    )


def test_selp_of_immediates() -> None:
    check("selp.b32 d, 1, 0, a", "pred -> b32", [(1, 1), (0, 0)])
    check("selp.f32 d, a, 0fFF800000, b", "f32 pred -> f32", [(2.0, 1, 2.0), (2.0, 0, -INF)])
    # The bits pass unchanged, even those of a NaN.
    check("selp.f32 d, a, b, c", "f32 f32 pred -> f32", [(0x7F800001, 1.0, 1, 0x7F800001)])


def test_slct() -> None:
    rows = [(7, 9, 0, 7), (7, 9, 5, 7), (7, 9, -1, 9), (7, 9, -(2**31), 9)]
    check("slct.b32.s32 d, a, b, c", "b32 b32 s32 -> b32", rows)
    rows = [(7, 9, 0.0, 7), (7, 9, -0.0, 7), (7, 9, -1.0, 9), (7, 9, NAN, 9), (7, 9, INF, 7)]
    check("slct.b64.f32 d, a, b, c", "b64 b64 f32 -> b64", rows)
    tiny = 0x80000001  # the negative subnormal next to zero
    check("slct.b32.f32 d, a, b, c", "b32 b32 f32 -> b32", [(7, 9, tiny, 9)])
    check("slct.ftz.b32.f32 d, a, b, c", "b32 b32 f32 -> b32", [(7, 9, tiny, 7)])


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_testp(kind: str) -> None:
    """Zeros count as normal."""
    form = FORMATS[kind]
    table: dict[str, list[tuple[int, bool]]] = {}
    for bits in EDGES[kind]:
        magnitude = bits & (form.sign_bit - 1)
        kinds = {
            "finite": magnitude < form.infinity,
            "infinite": magnitude == form.infinity,
            "number": magnitude <= form.infinity,
            "notanumber": magnitude > form.infinity,
            "normal": 1 << form.mantissa <= magnitude < form.infinity or magnitude == 0,
            "subnormal": 0 < magnitude < 1 << form.mantissa,
        }
        for name, want in kinds.items():
            table.setdefault(name, []).append((bits, want))
    for name, rows in table.items():
        check(f"testp.{name}.{kind} d, a", f"{kind} -> pred", rows)
