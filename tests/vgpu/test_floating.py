"""Test floating-point instructions against exact rational arithmetic, and approximate functions
against the largest errors that the PTX manual allows."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from tests.vgpu.exact import (
    EDGES,
    F32,
    FORMATS,
    Format,
    add,
    divide,
    encode,
    fma,
    multiply,
    square_root,
    subtract,
    value,
)
from tests.vgpu.hard_floats import hard_triples, random_triples
from tests.vgpu.harness import INF, NAN, check, decode, run

EXACT = {"add": add, "sub": subtract, "mul": multiply, "div": divide}


def sample(kind: str, count: int, operands: int) -> list[tuple[int, ...]]:
    rng, bits = random.Random(f"{kind} {operands}"), FORMATS[kind].bits
    return [tuple(rng.getrandbits(bits) for _ in range(operands)) for _ in range(count)]


def compare(name: str, kind: str, exact: Callable[..., int], inputs: list[tuple[int, ...]]) -> None:
    """Assert the results of an instruction whose operands all have the same type, for all
    inputs."""
    count = len(inputs[0])
    operands, signature = ", ".join("abc"[:count]), f"{' '.join([kind] * count)} -> {kind}"
    check(f"{name}.{kind} d, {operands}", signature, [(*t, exact(*t)) for t in inputs])


def pairs_of(kind: str) -> list[tuple[int, ...]]:
    return [*itertools.product(EDGES[kind], repeat=2)]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_sums_and_products(name: str, kind: str) -> None:
    for spelling in (name, f"{name}.rn"):
        exact = functools.partial(EXACT[name], form=FORMATS[kind])
        compare(spelling, kind, exact, pairs_of(kind) + sample(kind, 500, 2))


def test_bf16_products_that_are_subnormal() -> None:
    some = (0x3B80, 0x3B81, 0x3BFF, 0x3F81, 0x3F00)  # 0x3F81: 1.0078125
    pairs = [(0x0080 + i, b) for i in range(128) for b in some]
    compare("mul", "bf16", functools.partial(multiply, form=FORMATS["bf16"]), pairs)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_rounding_modes(name: str, mode: str) -> None:
    hard = [(a, c) for a, _, c in hard_triples(F32, 600) + random_triples(F32, 600)]
    exact = functools.partial(EXACT[name], form=F32, mode=mode)
    compare(f"{name}.{mode}", "f32", exact, pairs_of("f32") + hard)


def flushed(bits: int, form: Format) -> int:
    return bits if bits & form.infinity else bits & form.sign_bit


def flushing(exact: Callable[..., int], form: Format) -> Callable[..., int]:
    """Apply `.ftz` to operands and result."""
    return lambda *t: flushed(exact(*(flushed(v, form) for v in t), form), form)


@pytest.mark.parametrize("spelling", ["add.f32", "sub.f32", "mul.f32", "div.rn.f32", "add.f16",
                                      "mul.f16"])  # fmt: skip
def test_flush_to_zero(spelling: str) -> None:
    name, _, kind = spelling.rpartition(".")
    compare(f"{name}.ftz", kind, flushing(EXACT[name[:3]], FORMATS[kind]), pairs_of(kind))


def clamped(bits: int, form: Format) -> int:
    """Apply `.sat`: clamp to [0, 1], NaN becomes +0."""
    x = value(bits, form)
    if x in ("nan", "-inf") or (bits & form.sign_bit):
        return 0
    one = encode(Fraction(1), form)
    return one if x == "inf" or x > 1 else bits


@pytest.mark.parametrize("kind", ["f16", "f32"])
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_saturation(name: str, kind: str) -> None:
    form = FORMATS[kind]
    exact = lambda a, b: clamped(EXACT[name](a, b, form), form)  # noqa: E731
    compare(f"{name}.sat", kind, exact, pairs_of(kind))


@pytest.mark.parametrize("kind", FORMATS)
def test_fma(kind: str) -> None:
    form = FORMATS[kind]
    # combine each pair with ten of the other values
    edges = [*itertools.product(EDGES[kind], repeat=3)][::3]
    triples = [*edges, *hard_triples(form, 1500), *random_triples(form, 1500)]
    exact = functools.partial(fma, form=form)
    compare("fma.rn", kind, exact, triples)
    if kind in ("f32", "f64"):
        compare("mad.rn", kind, exact, triples[::9])


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_fma_directed(mode: str) -> None:
    triples = hard_triples(F32, 1000) + random_triples(F32, 1000)
    triples += list(itertools.product(EDGES["f32"], repeat=3))[::9]
    compare(f"fma.{mode}", "f32", functools.partial(fma, form=F32, mode=mode), triples)


def test_fma_modifiers() -> None:
    triples = list(itertools.product(EDGES["f32"][::3], repeat=3))
    compare("fma.rn.sat", "f32", lambda *t: clamped(fma(*t, F32), F32), triples)
    compare("fma.rn.ftz", "f32", flushing(fma, F32), triples)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_fma_relu(kind: str) -> None:
    """Negative results become +0, and NaN becomes the canonical NaN."""
    form = FORMATS[kind]

    def exact(*t: int) -> int:
        result = fma(*t, form)
        return 0 if result & form.sign_bit else result

    triples = list(itertools.product([*EDGES[kind][::2], EDGES[kind][-1]], repeat=3))
    compare("fma.rn.relu", kind, exact, triples)


def extremum(name: str, a: int, b: int, form: Format, *, nan: bool) -> int:
    """Return min or max by bits: -0 is below +0; a NaN loses, or wins with `.NaN`."""
    numbers = [v for v in (a, b) if value(v, form) != "nan"]
    if not numbers or (nan and len(numbers) < 2):
        return form.nan
    keys = [(-(v & form.nan) - 1 if v & form.sign_bit else v) for v in numbers]
    best = (min if name == "min" else max)(keys)
    return numbers[keys.index(best)]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", ["min", "max"])
def test_extrema(name: str, kind: str) -> None:
    exact = functools.partial(extremum, name, form=FORMATS[kind])
    compare(name, kind, functools.partial(exact, nan=False), pairs_of(kind))
    if kind != "f64":
        compare(f"{name}.NaN", kind, functools.partial(exact, nan=True), pairs_of(kind))


def test_extrema_in_words() -> None:
    check("max.ftz.f32 d, a, b", "f32 f32 -> f32", [(1, 0.0, 0.0), (0x80000001, -1.0, -0.0)])
    # .xorsign.abs returns the larger magnitude with the product's sign
    rows = [(-3.0, 2.0, -3.0), (-1.0, -2.0, 2.0), (1.0, 2.0, 2.0), (-0.0, 0.0, -0.0)]
    rows += [(0x7FC00000, -1.0, -1.0), (0xFFC00000, 1.0, -1.0), (NAN, NAN, NAN)]
    check("max.xorsign.abs.f32 d, a, b", "f32 f32 -> f32", rows)
    rows = [(-3.0, 2.0, -2.0), (3.0, -2.0, -2.0), (-2.0, -2.0, 2.0)]
    for kind in ("f32", "f16", "bf16"):
        check(f"min.xorsign.abs.{kind} d, a, b", f"{kind} {kind} -> {kind}", rows)


def test_three_operand_extrema() -> None:
    rows = [(1.0, 3.0, 2.0, 3.0), (NAN, 1.0, NAN, 1.0), (-0.0, 0.0, -0.0, 0.0)]
    check("max.f32 d, a, b, c", "f32 f32 f32 -> f32", rows, target="sm_100a")
    rows = [(1.0, 3.0, 2.0, 1.0), (NAN, 1.0, 2.0, NAN)]
    check("min.NaN.f32 d, a, b, c", "f32 f32 f32 -> f32", rows, target="sm_100a")


@pytest.mark.parametrize("kind", FORMATS)
def test_signs(kind: str) -> None:
    form = FORMATS[kind]
    bits = [(v,) for v in EDGES[kind] if value(v, form) != "nan"]
    compare("neg", kind, lambda v: v ^ form.sign_bit, bits)
    compare("abs", kind, lambda v: v & form.nan, bits)
    if kind in ("f32", "f64"):
        pairs = [(a, b) for (a,), (b,) in itertools.product(bits, repeat=2)]
        compare("copysign", kind, lambda a, b: a & form.sign_bit | b & form.nan, pairs)
    if kind == "f32":
        compare("neg.ftz", kind, lambda v: flushed(v, form) ^ form.sign_bit, bits)
        compare("abs.ftz", kind, lambda v: flushed(v, form) & form.nan, bits)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma.rn"])
def test_packed(name: str, kind: str) -> None:
    """The parts are computed separately and do not interact."""
    form, packed = FORMATS[kind], f"{kind}x2"
    count = 3 if name == "fma.rn" else 2
    exact = fma if name == "fma.rn" else EXACT[name]
    edges = itertools.product(EDGES[kind], repeat=2)
    low = [(*pair, pair[0])[:count] for pair in edges]
    high = sample(kind, len(low), count)
    rows = []
    for x, y in zip(low, high, strict=True):
        inputs = tuple(zip(x, y, strict=True))
        rows.append((*inputs, (exact(*x, form), exact(*y, form))))
    operands = ", ".join("abc"[:count])
    # f32x2 requires sm_100a.
    target = "sm_100a" if kind == "f32" else "sm_90a"
    signature = f"{' '.join([packed] * count)} -> {packed}"
    check(f"{name}.{packed} d, {operands}", signature, rows, target=target)
    if kind == "f32" and name != "fma.rn":
        check(f"{name}.rn.{packed} d, {operands}", signature, rows, target=target)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_packed_signs_and_extrema(kind: str) -> None:
    pair = f"{kind}x2"
    check(f"neg.{pair} d, a", f"{pair} -> {pair}", [((1.0, -0.0), (-1.0, 0.0))])
    check(f"abs.{pair} d, a", f"{pair} -> {pair}", [((-1.0, -INF), (1.0, INF))])
    rows = [((1.0, NAN), (2.0, 3.0), (2.0, 3.0)), ((-0.0, NAN), (0.0, NAN), (0.0, NAN))]
    check(f"max.{pair} d, a, b", f"{pair} {pair} -> {pair}", rows)
    rows = [((1.0, NAN), (2.0, 3.0), (1.0, NAN))]
    check(f"min.NaN.{pair} d, a, b", f"{pair} {pair} -> {pair}", rows)


def test_bf16_on_sm_80() -> None:
    """sm_80 has no add.bf16, so the compiler emits a multiplication by one and an addition."""
    rows = [((1.0, 2.0), (0.5, -2.0), (1.5, 0.0)), ((256.0, 1.0), (1.0, 256.0), (256.0, 256.0))]
    text = "mov.b32 d, 0x3F803F80; fma.rn.bf16x2 d, a, d, b"
    check(text, "bf16x2 bf16x2 -> bf16x2", rows, target="sm_80")
    rows = [(1.0, 1.0078125, 2.0)]
    check("add.bf16 d, a, b", "bf16 bf16 -> bf16", rows)  # ties go to even


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["add", "sub"])
def test_mixed_precision(name: str, kind: str) -> None:
    """On sm_100a the 16-bit operand is widened, and the sum is computed in float32."""
    form = FORMATS[kind]
    rows = []
    for a, b in itertools.product(EDGES[kind], EDGES["f32"][::2]):
        wide = value(a, form)
        if isinstance(wide, str):
            wide_bits = {"nan": F32.nan, "inf": 0x7F800000, "-inf": 0xFF800000}[wide]
        else:
            negative = bool(a & form.sign_bit)
            wide_bits = encode(wide, F32, negative_zero=negative)
        rows.append((a, b, EXACT[name](wide_bits, b, F32)))
    signature = f"{kind} f32 -> f32"
    check(f"{name}.rn.f32.{kind} d, a, b", signature, rows, target="sm_100a")
    check(f"{name}.f32.{kind} d, a, b", signature, rows, target="sm_100a")


def test_mixed_precision_fma() -> None:
    rows = [(1.5, 2.0, 2.0**-24, 3.0), (1.5, 2.0, 0.25, 3.25), (NAN, 1.0, 1.0, NAN)]
    check("fma.rn.f32.bf16 d, a, b, c", "bf16 bf16 f32 -> f32", rows, target="sm_100a")
    check("fma.rz.f32.f16 d, a, b, c", "f16 f16 f32 -> f32", rows, target="sm_100a")


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_division_and_roots(kind: str) -> None:
    form = FORMATS[kind]
    one = encode(Fraction(1), form)
    compare(
        "div.rn", kind, functools.partial(divide, form=form), pairs_of(kind) + sample(kind, 500, 2)
    )
    values = [(v,) for v in EDGES[kind]] + sample(kind, 500, 1)
    compare("rcp.rn", kind, lambda v: divide(one, v, form), values)
    compare("sqrt.rn", kind, lambda v: square_root(v, form), values)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_reciprocals_and_roots(mode: str) -> None:
    values = [(v,) for v in EDGES["f32"]] + sample("f32", 500, 1)
    compare(f"rcp.{mode}", "f32", lambda v: divide(0x3F800000, v, F32, mode), values)
    values += [(v & 0x7FFFFFFF,) for (v,) in sample("f32", 1000, 1)]
    squares = [multiply(v, v, F32) for (v,) in values[:300]]
    values += [(max(v + d, 0),) for v in squares for d in (-1, 0, 1)]
    root = functools.partial(square_root, mode=mode)
    compare(f"sqrt.{mode}", "f32", lambda v: root(v, F32), values)
    compare(f"sqrt.{mode}.ftz", "f32", flushing(root, F32), values)


# -- approximate functions ------------------------------------------------------------------------
# The largest error per opcode that the PTX manual allows, relative unless marked as absolute.
RELATIVE = {
    "ex2.approx.f32": 2**-22, "ex2.approx.ftz.f32": 2**-22,
    "lg2.approx.f32": 2**-22, "lg2.approx.ftz.f32": 2**-22,  # absolute between 0.5 and 2
    "rcp.approx.f32": 2**-23, "rcp.approx.ftz.f32": 2**-23,
    "rsqrt.approx.f32": 2**-22.9, "rsqrt.approx.ftz.f32": 2**-22.9,
    "sqrt.approx.f32": 2**-23, "sqrt.approx.ftz.f32": 2**-23,
    "tanh.approx.f32": 2**-11,
}  # fmt: skip
TRUE: dict[str, Callable[[float], float]] = {
    "ex2": lambda x: 2.0**x, "lg2": math.log2, "rcp": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / math.sqrt(x), "sqrt": math.sqrt, "tanh": math.tanh,
    "sin": math.sin, "cos": math.cos,
}  # fmt: skip


def f32(x: float) -> int:
    return encode(Fraction(x), F32)


def approximations(name: str, inputs: list[int]) -> list[tuple[float, float]]:
    got = run(f"{name} d, a", "f32 -> f32", [(v,) for v in inputs])
    return [(decode(v, "f32"), decode(g, "f32")) for v, (g,) in zip(inputs, got, strict=True)]


@pytest.mark.parametrize("name", RELATIVE)
def test_relative_error(name: str) -> None:
    rng, root = random.Random(17), name.split(".")[0]
    if root in ("ex2", "tanh"):
        inputs = [f32(rng.uniform(-126, 127.9)) for _ in range(1000)]
        inputs += [f32(rng.uniform(-1, 1)) for _ in range(1000)]
    else:  # any positive normal number whose result is normal
        inputs = [rng.randint(0x00800000, 0x7E800000) for _ in range(2000)]
        inputs += [rng.randint(f32(0.5), f32(2.0)) for _ in range(1000)]
    for x, got in approximations(name, inputs):
        want = TRUE[root](x)
        allowed = RELATIVE[name] * abs(want)
        if root == "lg2" and 0.5 < x < 2:
            allowed = 2**-22
        assert abs(got - want) <= allowed, (name, x, got, want)


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("ftz", ["", ".ftz"])
def test_absolute_error(name: str, ftz: str) -> None:
    rng = random.Random(17)
    for bound, allowed in ((2 * math.pi, 2**-20.5), (100 * math.pi, 2**-14.7)):
        inputs = [f32(rng.uniform(-bound, bound)) for _ in range(1000)]
        for x, got in approximations(f"{name}.approx{ftz}.f32", inputs):
            assert abs(got - TRUE[name](x)) <= allowed, (name, x, got)


@pytest.mark.parametrize("name", ["div.approx", "div.full", "div.approx.ftz", "div.full.ftz"])
def test_approximate_division(name: str) -> None:
    """The result is within 2 units in the last place for a divisor from 2**-126 to 2**126."""
    rng = random.Random(17)
    pairs = [(rng.randint(0x20000000, 0x5F000000), rng.randint(0x20000000, 0x5F000000))
             for _ in range(1000)]  # fmt: skip
    for (a, b), (got,) in zip(
        pairs, run(f"{name}.f32 d, a, b", "f32 f32 -> f32", pairs), strict=True
    ):
        exact = divide(a, b, F32)
        assert abs(got - exact) <= 2, (decode(a, "f32"), decode(b, "f32"))
    rows = [(1.0, 0.0, INF), (-1.0, 0.0, -INF), (0.0, 0.0, NAN), (1.0, INF, 0.0), (NAN, 1.0, NAN)]
    check(f"{name}.f32 d, a, b", "f32 f32 -> f32", rows)


def test_approximate_division_by_large_numbers() -> None:
    """Beyond 2**126, div.approx returns 0, or NaN for infinity; div.full scales its operands."""
    huge = 2.0**127
    rows = [(1.0, huge, 0.0), (-1.0, huge, -0.0), (INF, huge, NAN), (huge, huge, 0.0)]
    check("div.approx.f32 d, a, b", "f32 f32 -> f32", rows)
    check("div.full.f32 d, a, b", "f32 f32 -> f32", [(huge, huge, 1.0), (INF, huge, INF)])


LEAST = 1  # bits of the smallest subnormal, 2**-149
MINUS_LEAST = 0x80000001
SPECIAL: dict[str, list[tuple[Any, Any]]] = {
    "ex2.approx": [(-INF, 0.0), (INF, INF), (0.0, 1.0), (-0.0, 1.0), (NAN, NAN), (1.0, 2.0),
                   (128.0, INF), (-1000.0, 0.0), (-126.0, 2.0**-126), (127.0, 2.0**127)],
    "lg2.approx": [(0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (-1.0, NAN), (NAN, NAN),
                   (1.0, 0.0), (2.0, 1.0)],
    "rcp.approx": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0), (NAN, NAN), (1.0, 1.0),
                   (-4.0, -0.25)],
    "rsqrt.approx": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, NAN), (-1.0, NAN), (NAN, NAN),
                     (4.0, 0.5)],
    "sqrt.approx": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, NAN), (-1.0, NAN), (NAN, NAN),
                    (4.0, 2.0)],
    "sin.approx": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "cos.approx": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
}  # fmt: skip
# The results with subnormal inputs and outputs flushed to zero.
FLUSHED: dict[str, list[tuple[Any, Any]]] = {
    "ex2.approx": [(LEAST, 1.0), (MINUS_LEAST, 1.0), (-127.0, 0.0), (-149.0, 0.0)],
    "lg2.approx": [(LEAST, -INF), (MINUS_LEAST, -INF)],
    "rcp.approx": [(LEAST, INF), (MINUS_LEAST, -INF), (2.0**127, 0.0), (-(2.0**127), -0.0)],
    "rsqrt.approx": [(LEAST, INF), (MINUS_LEAST, -INF)],
    "sqrt.approx": [(LEAST, 0.0), (MINUS_LEAST, -0.0)],
    "sin.approx": [(LEAST, 0.0), (MINUS_LEAST, -0.0)],
    "cos.approx": [(LEAST, 1.0), (MINUS_LEAST, 1.0)],
}
KEPT: dict[str, list[tuple[Any, Any]]] = {
    "ex2.approx": [(-149.0, LEAST)],
    "lg2.approx": [(LEAST, -149.0)],
    "rcp.approx": [(LEAST, INF), (2.0**127, 2.0**-127)],
    "rsqrt.approx": [(2, 2.0**74)],
    "sqrt.approx": [(2, 2.0**-74)],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str) -> None:
    check(f"{name}.f32 d, a", "f32 -> f32", SPECIAL[name])
    check(f"{name}.ftz.f32 d, a", "f32 -> f32", SPECIAL[name] + FLUSHED[name])


@pytest.mark.parametrize("name", KEPT)
def test_subnormals_are_kept_without_ftz(name: str) -> None:
    check(f"{name}.f32 d, a", "f32 -> f32", KEPT[name])


def test_tanh() -> None:
    rows = [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (100.0, 1.0)]
    check("tanh.approx.f32 d, a", "f32 -> f32", rows)


@pytest.mark.parametrize("kind, ex2, tanh", [("f16", 2**-9.9, 2**-10.987), ("bf16", 2**-7, 2**-8)])
def test_half_precision_functions(kind: str, ex2: float, tanh: float) -> None:
    """The PTX manual states the largest errors: relative for ex2, absolute for tanh."""
    rng = random.Random(17)
    form = FORMATS[kind]
    inputs = [encode(Fraction(rng.uniform(-10, 10)), form) for _ in range(300)]
    rows = [(v,) for v in inputs]
    ftz = ".ftz" if kind == "bf16" else ""
    results = run(f"ex2.approx{ftz}.{kind} d, a", f"{kind} -> {kind}", rows)
    for bits, (got,) in zip(inputs, results, strict=True):
        want = 2.0 ** decode(bits, kind)
        assert abs(decode(got, kind) - want) <= ex2 * want
    results = run(f"tanh.approx.{kind} d, a", f"{kind} -> {kind}", rows)
    for bits, (got,) in zip(inputs, results, strict=True):
        assert abs(decode(got, kind) - math.tanh(decode(bits, kind))) <= tanh
    rows = [(0.0, 1.0), (-INF, 0.0), (INF, INF), (NAN, NAN), (1.0, 2.0)]
    check(f"ex2.approx{ftz}.{kind} d, a", f"{kind} -> {kind}", rows)
    rows = [((0.0, 1.0), (1.0, 2.0)), ((-INF, NAN), (0.0, NAN))]
    check(f"ex2.approx{ftz}.{kind}x2 d, a", f"{kind}x2 -> {kind}x2", rows)


def test_nan_is_canonical() -> None:
    """NaN results have one pattern, regardless of the operands' payloads."""
    odd = [0x7F800001, 0xFFC12345, 0x7FC00000, 0xFFFFFFFF]
    for name in ("neg", "abs"):
        check(f"{name}.f32 d, a", "f32 -> f32", [(v, NAN) for v in odd])
        check(f"{name}.f16 d, a", "f16 -> f16", [(0x7C01, NAN), (0xFE12, NAN)])
        check(f"{name}.bf16 d, a", "bf16 -> bf16", [(0x7F81, NAN), (0xFFC1, NAN)])
    for name in ("add", "sub", "mul", "max.NaN", "min.NaN", "add.rz", "mul.rp", "div.rn"):
        rows = [(v, 1.0, NAN) for v in odd] + [(1.0, v, NAN) for v in odd]
        check(f"{name}.f32 d, a, b", "f32 f32 -> f32", rows)
    half = [0x7C01, 0xFE12, 0x7E00, 0xFFFF]
    for name in ("add", "mul", "max.NaN"):
        check(f"{name}.f16 d, a, b", "f16 f16 -> f16", [(v, 1.0, NAN) for v in half])
    for name in ("rcp.rn", "sqrt.rn", "ex2.approx", "lg2.approx", "sin.approx"):
        check(f"{name}.f32 d, a", "f32 -> f32", [(v, NAN) for v in odd])


def test_immediates() -> None:
    check("add.f32 d, a, 0f3F800000", "f32 -> f32", [(1.5, 2.5)])
    check("mul.f64 d, a, 0d4000000000000000", "f64 -> f64", [(1.5, 3.0)])
    check("fma.rn.f32 d, a, 0fBF800000, 0f40000000", "f32 -> f32", [(1.5, 0.5)])
    check("max.f32 d, a, 0fFF800000", "f32 -> f32", [(NAN, -INF), (-5.0, -5.0)])
    check("mov.b32 d, 0; @b add.f32 d, a, a", "f32 pred -> f32", [(1.0, 1, 2.0), (1.0, 0, 0.0)])


QUIET, SIGNALING = 0xFFF8000000000005, 0x7FF0000000000001  # float64 NaN with payloads
INFINITE, ZERO, INVALID = 0x7FF << 52, 0, 0xFFF8 << 48


def quiet(nan: int) -> int:
    return nan | 1 << 51


@pytest.mark.parametrize("text, invalid", [
    ("add.f64 d, a, b", (INFINITE, INFINITE | 1 << 63)), ("sub.f64 d, a, b", (INFINITE, INFINITE)),
    ("mul.f64 d, a, b", (ZERO, INFINITE)), ("div.rn.f64 d, a, b", (ZERO, ZERO)),
    ("fma.rn.f64 d, a, b, 0d0000000000000000", (ZERO, INFINITE)),
    ("min.f64 d, a, b", None), ("max.f64 d, a, b", None),
])  # fmt: skip
def test_float64_nans_are_the_same_on_every_processor(
    text: str, invalid: tuple[int, int] | None
) -> None:
    """The result is the first NaN operand, made quiet; without a NaN operand, Intel and Arm
    processors differ."""
    pairs = [(QUIET, SIGNALING), (SIGNALING, QUIET)]
    wanted = [QUIET, quiet(SIGNALING)]
    if invalid:
        pairs += [invalid, (ZERO, QUIET)]
        wanted += [INVALID, QUIET]
    got = run(text, "f64 f64 -> f64", pairs)
    assert [hex(bits) for (bits,) in got] == [hex(bits) for bits in wanted]


@pytest.mark.parametrize("text, kind, nan, wanted", [
    ("sqrt.rn.f64 d, a", "f64", 0xBFF << 52, INVALID), ("sqrt.rn.f64 d, a", "f64", QUIET, QUIET),
    ("rsqrt.approx.f64 d, a", "f64", SIGNALING, quiet(SIGNALING)),
    ("cvt.f64.f16 d, a", "f16", 0xFC01, 0xFFF8_0400_0000_0000),
    ("cvt.f64.f32 d, a", "f32", 0x7F800001, 0x7FF8_0000_2000_0000),
])  # fmt: skip
def test_float64_nans_of_one_operand(text: str, kind: str, nan: int, wanted: int) -> None:
    assert hex(run(text, f"{kind} -> f64", [(nan,)])[0][0]) == hex(wanted)
