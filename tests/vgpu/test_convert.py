"""Test `cvt` between every pair of types, and `cvta`, against exact arithmetic."""

from __future__ import annotations

import itertools
import math
import random
import struct
from collections.abc import Iterable
from fractions import Fraction

import pytest

from forgekit.vgpu.memory import LOCAL_WINDOW, SHARED_WINDOW
from tests.vgpu.exact import BF16, EDGES, F32, F64, FORMATS, Format, convert, encode, value
from tests.vgpu.hard_floats import near_ties
from tests.vgpu.harness import INF, NAN, check, limits, wrap

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
NOT_WITH_BF16 = ("u8", "s8")


def pairs(formats: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of a float format and an integer type that PTX converts between."""
    every = itertools.product(formats, INTEGERS)
    return [(f, i) for f, i in every if f != "bf16" or i not in NOT_WITH_BF16]


MODES = ("rn", "rz", "rm", "rp")
ROUND = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def integers(kind: str) -> list[int]:
    low, high = limits(kind)
    values = {low, low + 1, high, high - 1, 0, 1, 2, 100, -1, -2, -100, 127, 128, 255, 256}
    return sorted(v for v in values if low <= v <= high)


# -- integers to integers -------------------------------------------------------------------------
@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_between_integers(target: str, source: str) -> None:
    """A wider result is extended with the source's sign; a narrower one is truncated or, with .sat,
    clamped."""
    values = integers(source)
    signature = f"{source} -> {target}"
    check(f"cvt.{target}.{source} d, a", signature, [(v, wrap(v, target)) for v in values])
    low, high = limits(target)
    if limits(source)[0] < low or limits(source)[1] > high:  # otherwise .sat is not allowed
        rows = [(v, max(low, min(high, v))) for v in values]
        check(f"cvt.sat.{target}.{source} d, a", signature, rows)


@pytest.mark.parametrize(
    "target, result", [("s8", "b32"), ("u8", "b32"), ("s16", "b32"), ("u16", "b32")]
)
def test_narrow_results_fill_the_register(target: str, result: str) -> None:
    """A result narrower than its register is extended with the result's sign."""
    rows = [(v, wrap(v, target)) for v in (0, 1, 127, 128, 255, 0x8000, 0xFFFF, 0x12345)]
    check(f"cvt.{target}.s32 d, a", f"s32 -> {result}", rows)


def test_narrow_sources_in_wide_registers() -> None:
    check("cvt.s32.s8 d, a", "b32 -> b32", [(0xFFFFFF80, -128), (0x0000017F, 127)])
    check("cvt.u32.u16 d, a", "b32 -> b32", [(0xABCD1234, 0x1234)])


# -- integers to floats ---------------------------------------------------------------------------
@pytest.mark.parametrize(("target", "source"), pairs(FORMATS))
def test_integer_to_float(target: str, source: str) -> None:
    """Many large integers lie between two floats; integers on and next to ties reveal the rounding
    direction."""
    rng = random.Random(19)
    form = FORMATS[target]
    low, high = limits(source)
    values = set(integers(source))
    for power in range(form.mantissa, int(source[1:])):
        one = 1 << max(power - form.mantissa - 1, 0)  # half a unit in the last place
        for k in (
            1 << form.mantissa + 1,
            (1 << form.mantissa + 1) + 1,
            (1 << form.mantissa + 2) - 1,
        ):
            values |= {s * (k * one + d) for d in (-1, 0, 1) for s in (1, -1)}
    values |= {rng.randint(low, high) for _ in range(100)}
    inside = sorted(v for v in values if low <= v <= high)
    modes = ("rn",) if target == "bf16" else MODES
    for mode in modes:
        rows = [(v, encode(Fraction(v), form, mode)) for v in inside]
        check(f"cvt.{mode}.{target}.{source} d, a", f"{source} -> {target}", rows)


# -- floats to integers ---------------------------------------------------------------------------
def nan_result(source: str, target: str) -> int:
    """Return the PTX manual's result for NaN: 0, or 100…0 from .f64 or to a 64-bit integer."""
    bits = int(target[1:])
    return 1 << bits - 1 if source == "f64" or bits == 64 else 0


@pytest.mark.parametrize(("source", "target"), pairs(["f16", "bf16", "f32", "f64"]))
def test_float_to_integer(target: str, source: str) -> None:
    rng = random.Random(23)
    form = FORMATS[source]
    low, high = limits(target)
    values = set(EDGES[source])
    for x in (0.5, 1.5, 2.5, 0.25, 0.75, 126.5, 127.5, 128.5, 255.5, 1e4 + 0.5):
        values |= {encode(Fraction(s) * Fraction(x), form) for s in (1, -1)}
    for end in (low, high, low - 1, high + 1):  # also the floats next to the range's ends
        bits = encode(Fraction(end), form)
        values |= {max(bits + d, 0) for d in (-1, 0, 1)}
    values |= {rng.getrandbits(form.bits) for _ in range(100)}
    for name, fn in ROUND.items():
        rows = []
        for v in sorted(values):
            x = value(v & (1 << form.bits) - 1, form)
            if isinstance(x, str):
                want = {"nan": nan_result(source, target), "inf": high, "-inf": low}[x]
            else:
                want = max(low, min(high, fn(x)))
            rows.append((v, want))
        check(f"cvt.{name}.{target}.{source} d, a", f"{source} -> {target}", rows)


def test_float_to_integer_flushes() -> None:
    check("cvt.rpi.s32.f32 d, a", "f32 -> s32", [(1, 1), (0x80000001, 0)])
    check("cvt.rpi.ftz.s32.f32 d, a", "f32 -> s32", [(1, 0), (0x80000001, 0)])
    check("cvt.rmi.s32.f32 d, a", "f32 -> s32", [(0x80000001, -1)])


# -- floats to floats -----------------------------------------------------------------------------
NARROWING = [("f64", "f32"), ("f64", "f16"), ("f32", "f16"), ("f32", "bf16")]


@pytest.mark.parametrize("source, target", NARROWING)
@pytest.mark.parametrize("mode", MODES)
def test_narrowing(source: str, target: str, mode: str) -> None:
    a, b = FORMATS[source], FORMATS[target]
    rows = [(v, convert(v, a, b, mode)) for v in EDGES[source] + near_ties(a, b)]
    check(f"cvt.{mode}.{target}.{source} d, a", f"{source} -> {target}", rows)


def test_bf16_from_double_rounds_once() -> None:
    rows = [(v, convert(v, F64, BF16)) for v in EDGES["f64"] + near_ties(F64, BF16)]
    check("cvt.rn.bf16.f64 d, a", "f64 -> bf16", rows)


@pytest.mark.parametrize("source, target", [(b, a) for a, b in NARROWING] + [("bf16", "f64")])
def test_widening_is_exact(source: str, target: str) -> None:
    a, b = FORMATS[source], FORMATS[target]
    values = range(1 << 16) if a.bits == 16 else EDGES[source]
    rows = [(v, convert(v, a, b)) for v in list(values)[::31] + EDGES[source]]
    if (source, target) == ("bf16", "f32"):  # only a shift: NaN keeps its bits
        rows = [(v, v << 16) for v, _ in rows]
    check(f"cvt.{target}.{source} d, a", f"{source} -> {target}", rows)


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
@pytest.mark.parametrize("mode", ROUND)
def test_to_integral_floats(mode: str, kind: str) -> None:
    """`cvt.rmi.f32.f32` is floor, and a zero result has the operand's sign."""
    form = FORMATS[kind]
    values = list(EDGES[kind])
    for x in (0.5, 1.5, 2.5, 0.25, 1e3 + 0.5):
        values += [encode(Fraction(s) * Fraction(x), form) for s in (1, -1)]
    rows = []
    for v in values:
        x = value(v, form)
        if isinstance(x, str):
            rows.append((v, form.nan if x == "nan" else v))
        else:
            negative = bool(v & form.sign_bit)
            rows.append((v, encode(Fraction(ROUND[mode](x)), form, negative_zero=negative)))
    check(f"cvt.{mode}.{kind}.{kind} d, a", f"{kind} -> {kind}", rows)


def test_saturation() -> None:
    rows = [(-1.0, 0.0), (-0.0, 0.0), (0.25, 0.25), (1.5, 1.0), (INF, 1.0), (-INF, 0.0), (NAN, 0.0)]
    check("cvt.sat.f32.f32 d, a", "f32 -> f32", rows)
    check("cvt.rn.sat.f16.f32 d, a", "f32 -> f16", rows)
    check("cvt.sat.f32.f16 d, a", "f16 -> f32", rows)
    check("cvt.ftz.sat.f32.f32 d, a", "f32 -> f32", [(1, 0.0), (0.5, 0.5)])


def test_flush_to_zero() -> None:
    least = 1
    check("cvt.ftz.f64.f32 d, a", "f32 -> f64", [(least, 0.0), (0x80000001, -0.0)])
    check("cvt.rn.ftz.f32.f64 d, a", "f64 -> f32", [(2.0**-140, 0.0), (-(2.0**-140), -0.0)])
    check("cvt.rn.f32.f64 d, a", "f64 -> f32", [(2.0**-140, 2.0**-140)])


# -- pairs ----------------------------------------------------------------------------------------
PAIRS = [
    (1.0, 2.0),
    (1.0 + 2**-9, 65520.0),
    (-0.0, 1e-8),
    (INF, NAN),
    (-3.0, -1e30),
    (2.0**-25, -(2.0**-24)),
]


def nearest_f32(x: float) -> int:
    return int.from_bytes(struct.pack("<f", x), "little")


@pytest.mark.parametrize("mode", ["rn", "rz"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_to_pairs(kind: str, mode: str) -> None:
    """The first operand becomes the upper half."""
    form = FORMATS[kind]
    plain, relu = [], []
    for x, y in [(nearest_f32(x), nearest_f32(y)) for x, y in PAIRS]:
        high, low = convert(x, F32, form, mode), convert(y, F32, form, mode)
        plain.append((x, y, high << 16 | low))
        high, low = (0 if v & form.sign_bit else v for v in (high, low))
        relu.append((x, y, high << 16 | low))
    signature = f"f32 f32 -> {kind}x2"
    check(f"cvt.{mode}.{kind}x2.f32 d, a, b", signature, plain)
    check(f"cvt.{mode}.relu.{kind}x2.f32 d, a, b", signature, relu)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_relu_and_satfinite(kind: str) -> None:
    largest = FORMATS[kind].largest
    rows = [(-1.0, 0.0), (1.5, 1.5), (-INF, 0.0), (INF, INF), (NAN, NAN), (-0.0, 0.0)]
    check(f"cvt.rn.relu.{kind}.f32 d, a", f"f32 -> {kind}", rows)
    top = 0x7F7FFFFF
    rows = [(INF, largest), (-INF, largest | 0x8000), (top, largest), (NAN, NAN), (1.5, 1.5)]
    check(f"cvt.rn.satfinite.{kind}.f32 d, a", f"f32 -> {kind}", rows, target="sm_100a")
    rows = [(INF, 1.0, largest << 16 | encode(Fraction(1), FORMATS[kind]))]
    check(f"cvt.rn.satfinite.{kind}x2.f32 d, a, b", f"f32 f32 -> {kind}x2", rows, target="sm_100a")


@pytest.mark.parametrize("mode", ["rna", "rn", "rz"])
def test_tf32(mode: str) -> None:
    """tf32 is a float32 with 10 bits of mantissa, in the float32's upper bits."""
    tf32 = Format(19, 10, -126)
    rows, relu = [], []
    for v in [*EDGES["f32"], *near_ties(F32, tf32), 0xFFC12345]:
        if value(v, F32) == "nan":  # as on an H200
            want = v & 0xFFFFE000 if mode == "rna" else 0x7FFFE000
        else:
            want = convert(v, F32, tf32, mode) << 13
        rows.append((v, want))
        relu.append((v, 0 if want >> 31 else want))
    check(f"cvt.{mode}.tf32.f32 d, a", "f32 -> b32", rows)
    if mode != "rna":
        check(f"cvt.{mode}.relu.tf32.f32 d, a", "f32 -> b32", relu)


FP8 = {"e4m3x2": (0x38, 0x40, 0x7E, 448.0), "e5m2x2": (0x3C, 0x40, 0x7B, 57344.0)}


@pytest.mark.parametrize("kind", FP8)
def test_fp8(kind: str) -> None:
    """test_floats.py compares the values with torch's in detail."""
    one, two, largest, top = FP8[kind]
    rows = [
        (1.0, 2.0, one << 8 | two), (1e6, -INF, largest << 8 | largest | 0x80), (NAN, -0.0, 0x7F80),
        (top, 0.0, largest << 8),
    ]  # fmt: skip
    rows = [(nearest_f32(a), nearest_f32(b), c) for a, b, c in rows]
    check(f"cvt.rn.satfinite.{kind}.f32 d, a, b", f"f32 f32 -> {kind}", rows)
    rows = [(nearest_f32(-1.0), nearest_f32(2.0), two)]
    check(f"cvt.rn.satfinite.relu.{kind}.f32 d, a, b", f"f32 f32 -> {kind}", rows)
    rows = [((1.0, 2.0), two << 8 | one), ((INF, NAN), 0x7F00 | largest)]
    check(f"cvt.rn.satfinite.{kind}.f16x2 d, a", f"f16x2 -> {kind}", rows)
    rows = [(two << 8 | one, (1.0, 2.0)), (0x807F, (NAN, -0.0)), (0x8001, (tiny(kind), -0.0))]
    check(f"cvt.rn.f16x2.{kind} d, a", f"{kind} -> f16x2", rows)
    rows = [((one | 0x80) << 8 | one, (1.0, 0.0))]
    check(f"cvt.rn.relu.f16x2.{kind} d, a", f"{kind} -> f16x2", rows)


def tiny(kind: str) -> float:
    return 2.0**-9 if kind == "e4m3x2" else 2.0**-16


def test_e5m2_infinity() -> None:
    check("cvt.rn.f16x2.e5m2x2 d, a", "e5m2x2 -> f16x2", [(0x7CFC, (-INF, INF))])


# -- address spaces -------------------------------------------------------------------------------
def test_cvta() -> None:
    rows = [(0x400, 0x400), (2**40, 2**40)]
    check("cvta.global.u64 d, a", "b64 -> b64", rows)
    check("cvta.to.global.u64 d, a", "b64 -> b64", rows)
    check("cvta.shared.u64 d, a", "b64 -> b64", [(0x400, SHARED_WINDOW + 0x400)])
    check("cvta.to.shared.u64 d, a", "b64 -> b64", [(SHARED_WINDOW + 0x400, 0x400)])
    check("cvta.local.u64 d, a", "b64 -> b64", [(8, LOCAL_WINDOW + 8)])
    check("cvta.to.local.u64 d, a", "b64 -> b64", [(LOCAL_WINDOW + 8, 8)])
