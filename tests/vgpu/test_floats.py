"""`forgekit.vgpu.floats` against exact rational arithmetic, on random and on hard cases.

A case is hard where the exact result lies so near a tie between two floats, or a range's end, that
computing with a few bits too few, or rounding twice, gives the wrong neighbour.
"""

from __future__ import annotations

import functools
import math
import random
import struct
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
import torch

from forgekit.vgpu import floats, fp8
from forgekit.vgpu.opcodes.functions import exp2
from tests.vgpu.exact import (
    BF16,
    E5M2,
    EDGES,
    F16,
    F32,
    F64,
    FORMATS,
    Format,
    add,
    convert,
    divide,
    encode,
    fma,
    multiply,
    square_root,
    value,
)

MODES = ("rn", "rz", "rm", "rp")
NUMPY = {"f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8"}
Triple = tuple[int, int, int]


def array(bits: Iterable[int], kind: str) -> np.ndarray:
    form = FORMATS[kind]
    return np.array(list(bits), f"u{form.bits // 8}").view(NUMPY[kind]).reshape(1, -1)


def bits_of(x: np.ndarray) -> list[int]:
    return [int(v) for v in np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").ravel()]


def compare(got: np.ndarray, want: list[int], form: Format, cases: list) -> None:
    nan = form.infinity
    wrong = [
        f"{[hex(c) for c in case]}: got {g:#x}, expected {w:#x}"
        for g, w, case in zip(bits_of(got), want, cases, strict=True)
        # which NaN is checked where instructions are (test_floating.py)
        if g != w and not (g & form.nan > nan and w & form.nan > nan)
    ]
    assert not wrong, f"{len(wrong)} of {len(cases)}\n" + "\n".join(wrong[:10])


def scaled(significand: int, exponent: int, form: Format) -> int:
    """The bits of significand * 2**exponent, which must be exact."""
    exact = Fraction(significand) * Fraction(2) ** exponent
    bits = encode(exact, form)
    assert value(bits, form) == exact, (significand, exponent)
    return bits


@functools.cache
def hard_triples(form: Format, count: int) -> list[Triple]:
    """a*b + c whose exact value lies on, or by a hair beside, a tie between two floats.

    a*b is 2**k or 2**k ± 1 (times a power of two), as (2**j - 1)(2**j + 1) = 2**2j - 1, scaled to
    half a unit in the last place of c.
    """
    p = form.mantissa + 1
    rng = random.Random(11)
    products = [(1, 1), (3, 3), (2**p - 1, 2**p - 1), (2 ** (p - 1) + 1, 2**p - 1)]
    products += [(2**j - 1, 2**j + 1) for j in range(2, p)]
    if p == 24:
        products += [(8384513, 8392705)]  # 2**46 + 1
    if p == 53:
        products += [(2**53 - 1, 2**53 - 1), (2**27 + 1, 2**27 - 1)]
    low, high = form.emin - form.mantissa, -form.emin + 1
    cases = []
    while len(cases) < count:
        m, n = rng.choice(products)
        size = (m * n + 1).bit_length() - 1
        # c's last place: anywhere from the subnormals' to the largest numbers'
        last = rng.choice([low, low + 1, low + p, rng.randint(low, high - p), high - p])
        significand = rng.choice([2 ** (p - 1), 2**p - 1, 2 ** (p - 1) + 1, rng.getrandbits(p), 1])
        shift = last - 1 - size + rng.choice([0, 0, 0, 1, -1, -p, 2])
        left = rng.randint(low, high - p)
        for _ in range(50):  # split the scale so that both factors exist
            if low <= left <= high - p and low <= shift - left <= high - p:
                break
            left = rng.randint(low, high - p)
        else:
            continue
        signs = [rng.choice((0, form.sign_bit)) for _ in range(3)]
        triple = (
            scaled(m, left, form), scaled(n, shift - left, form), scaled(significand, last, form),
        )  # fmt: skip
        cases.append(tuple(t | s for t, s in zip(triple, signs, strict=True)))
    return cases


@functools.cache
def random_triples(form: Format, count: int) -> list[Triple]:
    """Bits at random: half of them anywhere, half with exponents that make a*b and c meet."""
    rng = random.Random(13)
    cases = []
    for i in range(count):
        a, b, c = (rng.getrandbits(form.bits) for _ in range(3))
        if i % 2:
            bias = 1 - form.emin
            ea = rng.randint(1, 2 * bias)
            eb = max(0, min(2 * bias, rng.randint(-4, 4) + bias + (c >> form.mantissa) % bias - ea))
            keep = (1 << form.mantissa) - 1
            a = a & keep | ea << form.mantissa
            b = b & keep | eb << form.mantissa
        cases.append((a, b, c))
    return cases


def edge_triples(name: str) -> list[Triple]:
    edges = EDGES[name]
    return [(a, b, c) for a in edges for b in edges for c in edges]


FMA = {"f32": floats.fma32, "f16": floats.fma16, "bf16": floats.fma_bf16, "f64": floats.fma64}


@pytest.mark.parametrize("kind", FMA)
@pytest.mark.parametrize("make", [hard_triples, random_triples])
def test_fma_rounds_once(kind: str, make: Callable[[Format, int], list[Triple]]) -> None:
    form = FORMATS[kind]
    cases = make(form, 4000)
    want = [fma(*case, form) for case in cases]
    with np.errstate(all="ignore"):
        got = FMA[kind](*(array(column, kind) for column in zip(*cases, strict=True)))
    compare(got, want, form, cases)


@pytest.mark.parametrize("kind", FMA)
def test_fma_of_special_values(kind: str) -> None:
    form, cases = FORMATS[kind], edge_triples(kind)[::3]  # each pair with ten of the others
    want = [fma(*case, form) for case in cases]
    with np.errstate(all="ignore"):
        got = FMA[kind](*(array(column, kind) for column in zip(*cases, strict=True)))
    compare(got, want, form, cases)


@pytest.mark.parametrize("mode", MODES)
def test_fma32_directed(mode: str) -> None:
    cases = hard_triples(F32, 2000) + random_triples(F32, 2000) + edge_triples("f32")[::9]
    want = [fma(*case, F32, mode) for case in cases]
    columns = [array(column, "f32") for column in zip(*cases, strict=True)]
    with np.errstate(all="ignore"):
        compare(floats.fma32(*columns, mode), want, F32, cases)


def test_fma32_next_to_the_least_normal() -> None:
    """2**-126 - 2**-150 - 2**-196 rounds down; in float64 it looks like a tie and would go up."""
    case = (scaled(8384513, -100, F32), scaled(-8392705, -96, F32), scaled(1, -126, F32))
    want = fma(*case, F32)
    assert want == (1 << 23) - 1
    # alone, and beside values for which the quick way is right
    for company in ([], [(0x3F800000, 0x3F800000, 0x3F800000)]):
        columns = [array(column, "f32") for column in zip(case, *company, strict=True)]
        assert bits_of(floats.fma32(*columns))[0] == want


def test_one_hard_case_among_easy_ones() -> None:
    """The quick way is left for all when one value needs it: both must be right."""
    easy = [(scaled(3, i - 60, F32), scaled(5, 2, F32), scaled(7, i - 50, F32)) for i in range(100)]
    for hard in hard_triples(F32, 50):
        cases = [*easy[:50], hard, *easy[50:]]
        columns = [array(column, "f32") for column in zip(*cases, strict=True)]
        with np.errstate(all="ignore"):
            compare(floats.fma32(*columns), [fma(*c, F32) for c in cases], F32, cases)


PAIRS = [(a, b) for a in EDGES["f32"] for b in EDGES["f32"]]
PAIRS += [(a, c) for a, _, c in hard_triples(F32, 1000) + random_triples(F32, 1500)]


@pytest.mark.parametrize("mode", MODES[1:])
def test_directed_sums_products_quotients(mode: str) -> None:
    a, b = (array(column, "f32") for column in zip(*PAIRS, strict=True))
    for got, exact in ((floats.add32, add), (floats.mul32, multiply), (floats.div32, divide)):
        with np.errstate(all="ignore"):
            compare(got(a, b, mode), [exact(x, y, F32, mode) for x, y in PAIRS], F32, PAIRS)


@pytest.mark.parametrize("mode", MODES)
def test_square_roots(mode: str) -> None:
    rng = random.Random(3)
    values = EDGES["f32"] + [rng.getrandbits(31) for _ in range(2000)]
    values += [multiply(v, v, F32) + d for v in values[:300] for d in (-1, 0, 1) if v]
    values = [v for v in values if v >= 0]
    with np.errstate(all="ignore"):
        got = floats.sqrt32(array(values, "f32"), mode)
    compare(got, [square_root(v, F32, mode) for v in values], F32, [(v,) for v in values])


@functools.cache
def near_ties(source: Format, target: Format) -> list[int]:
    """Bits of `source` on and beside ties of `target` of every kind, and at its range's ends."""
    rng = random.Random(5)
    steps = [0, 1, 2, (1 << target.mantissa) - 1, 1 << target.mantissa, (1 << target.mantissa) + 1]
    steps += [target.largest - 1, target.largest]
    steps += [rng.randrange(target.largest) for _ in range(300)]
    result = []
    for step in steps:
        low = value(step, target)
        high = value(step + 1, target)
        assert isinstance(low, Fraction)
        if isinstance(high, str):  # where infinity would be
            high = low + (low - value(step - 1, target))
        for exact in (low, (low + high) / 2, (3 * low + high) / 4, high):
            middle = encode(exact, source)
            for bits in (middle - 1, middle, middle + 1):
                if bits >= 0:
                    result += [bits, bits | source.sign_bit]
    result += [rng.getrandbits(source.bits) for _ in range(500)]
    return [*result, source.infinity, source.infinity | source.sign_bit, source.nan]


@pytest.mark.parametrize("mode", [*MODES, "rna"])
def test_f32_to_bf16(mode: str) -> None:
    cases = near_ties(F32, BF16)
    want = [convert(v, F32, BF16, mode) for v in cases]
    compare(floats.f32_to_bf16(array(cases, "f32"), mode), want, BF16, [(v,) for v in cases])


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
def test_to_f16(source: str, mode: str) -> None:
    form = FORMATS[source]
    cases = near_ties(form, F16)
    with np.errstate(all="ignore"):
        got = floats.f32_to_f16(array(cases, source), mode)
    compare(got, [convert(v, form, F16, mode) for v in cases], F16, [(v,) for v in cases])


@pytest.mark.parametrize("mode", MODES)
def test_f64_to_f32(mode: str) -> None:
    cases = near_ties(F64, F32)
    with np.errstate(all="ignore"):
        got = floats.round_to_f32(array(cases, "f64"), None, mode)
    compare(got, [convert(v, F64, F32, mode) for v in cases], F32, [(v,) for v in cases])


def test_f64_to_bf16_rounds_once() -> None:
    cases = near_ties(F64, BF16)
    with np.errstate(all="ignore"):
        x = array(cases, "f64")
        got = floats.f64_to_bf16(x, np.zeros_like(x))
    compare(got, [convert(v, F64, BF16) for v in cases], BF16, [(v,) for v in cases])


def test_bf16_agrees_with_torch() -> None:
    bits = torch.randint(
        -(2**31), 2**31, (20000,), dtype=torch.int64, generator=torch.manual_seed(1)
    )
    x = bits.to(torch.int32).view(torch.float32)
    want = x.to(torch.bfloat16).view(torch.int16).numpy().view("u2")
    got = floats.f32_to_bf16(x.numpy()[None])[0]
    number = ~torch.isnan(x).numpy()
    assert (got == want)[number].all()
    assert (got[~number] == 0x7FFF).all()
    back = floats.bf16_to_f32(got[None])[0]
    assert (back[number] == x.to(torch.bfloat16).float().numpy()[number]).all()


@pytest.mark.parametrize(
    "name, dtype", [("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)]
)
def test_fp8_agrees_with_torch(name: str, dtype: torch.dtype) -> None:
    """All 256 values decode to torch's, and every value between them encodes to the nearest."""
    codes = np.arange(256, dtype="u1")
    table = torch.from_numpy(codes.copy()).view(dtype).float().numpy()
    got = fp8.to_f32(codes[None], name)[0]
    assert np.array_equal(got, table, equal_nan=True)
    assert np.array_equal(np.signbit(got), np.signbit(table))
    finite = np.sort(table[np.isfinite(table)])
    middles = (finite[1:] + finite[:-1]) / 2
    inputs = np.concatenate(
        [finite, middles, *(np.nextafter(middles, d) for d in (-np.inf, np.inf))]
    )
    inputs = inputs.astype("f4")
    want = torch.from_numpy(inputs).to(dtype).view(torch.uint8).numpy()
    assert (fp8.from_f32(inputs[None], name)[0] == want).all()
    # .satfinite: beyond the largest number, and infinity, give the largest; NaN stays NaN.
    big = 0x7E if name == "e4m3" else 0x7B
    special = np.array([[1e30, -1e30, np.inf, -np.inf, np.nan]], "f4")
    assert fp8.from_f32(special, name).tolist() == [[big, big | 0x80, big, big | 0x80, 0x7F]]


def test_e5m2_against_exact_arithmetic() -> None:
    cases = [v for v in near_ties(F32, E5M2) if v & 0x7FFFFFFF < 0x7F800000]
    largest = 0x7B
    want = []
    for v in cases:
        code = convert(v, F32, E5M2)
        want.append((code & 0x80 | largest) if code & 0x7F > largest else code)
    assert bits_of(fp8.from_f32(array(cases, "f32"), "e5m2")) == want


def test_flush_keeps_the_sign() -> None:
    bits = [0, 1 << 31, 1, (1 << 31) | 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x7FC00000]
    want = [0, 1 << 31, 0, 1 << 31, 0, 0x00800000, 0x3F800000, 0x7FC00000]
    assert bits_of(floats.flush(array(bits, "f32"))) == want


def test_saturate() -> None:
    x = np.array([[-1.0, -0.0, 0.25, 1.0, 1.5, np.inf, -np.inf, np.nan]], "f4")
    want = [struct.pack("<f", v) for v in (0.0, 0.0, 0.25, 1.0, 1.0, 1.0, 0.0, 0.0)]
    assert floats.saturate(x).tobytes() == b"".join(want)


def test_exp2_is_close_and_exact_for_whole_numbers() -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(-149, 127.9, 50000), rng.uniform(-1, 1, 50000)])
    x = x.astype("f4")[None]
    exact = np.exp2(x.astype("f8"))
    with np.errstate(all="ignore"):
        got = exp2(x)
    allowed = np.maximum(exact * 2.0**-23, 2.0**-149)  # subnormals: a unit in the last place
    assert (np.abs(got - exact) <= allowed).all()
    whole = range(-149, 128)
    with np.errstate(all="ignore"):
        got = exp2(np.array([whole], "f4"))
    assert got[0].tolist() == [math.ldexp(1.0, n) for n in whole]
    ends = np.array([[-np.inf, -1e30, -253, -150, 128, 1e30, np.inf, np.nan]], "f4")
    with np.errstate(all="ignore"):
        got = exp2(ends)
    assert np.array_equal(got, [[0, 0, 0, 0, *[np.inf] * 3, np.nan]], equal_nan=True)
    assert ends[0, 1] == np.float32(-1e30)  # the operand is left as it was
