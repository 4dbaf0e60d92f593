"""ldmatrix, stmatrix and mma.sync: fragments by the PTX manual, arithmetic by the published model.

Everything here is computed a second time, an element at a time, in plain Python.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from ptx_launch import kernel, launch

from forgekit.errors import MemoryAccessError, SanitizerError, UnsupportedPtxError
from forgekit.vgpu import fp8
from forgekit.vgpu.program import load

LANES = range(32)
rng = np.random.default_rng


# -- ldmatrix, stmatrix ---------------------------------------------------------------------------
FILL = """.shared .align 16 .b8 s[1536]; mov.b32 %r1, s; mad.lo.s32 %r2, %r0, 48, %r1;
mul.wide.u32 %rd10, %r0, 16; add.s64 %rd11, %rd0, %rd10; add.s64 %rd12, %rd1, %rd10;
ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd11]; """
FORMS = list(itertools.product((1, 2, 4), (False, True)))


def moved(count: int, transposed: bool) -> dict[tuple[int, int, int], tuple[int, int]]:
    """(lane, register, half) -> (lane that names the row, element of the row)."""
    result = {}
    for lane, register, half in itertools.product(LANES, range(count), range(2)):
        row, column = lane // 4, lane % 4 * 2 + half
        if transposed:
            row, column = column, row
        result[lane, register, half] = (8 * register + row, column)
    return result


def named(count: int, transposed: bool) -> str:
    registers = ", ".join(f"%r{20 + j}" for j in range(count))
    return f".sync.aligned.m8n8.x{count}{'.trans' * transposed}.shared.b16", "{" + registers + "}"


@pytest.mark.parametrize("count, transposed", FORMS)
def test_ldmatrix(count, transposed):
    x = rng(1).integers(0, 2**16, (32, 8), np.uint16)
    y = np.zeros((32, 4, 2), np.uint16)
    form, registers = named(count, transposed)
    launch(
        FILL + "st.shared.v4.b32 [%r2], {%r10, %r11, %r12, %r13}; bar.sync 0; "
        "mov.b32 %r20, 0; mov.b32 %r21, 0; mov.b32 %r22, 0; mov.b32 %r23, 0;"
        f"ldmatrix{form} {registers}, [%r2]; "
        "st.global.v4.b32 [%rd12], {%r20, %r21, %r22, %r23}; ret;",
        x, y, sanitize=True,
    )  # fmt: skip
    want = np.zeros_like(y)
    for place, (row, element) in moved(count, transposed).items():
        want[place] = x[row, element]
    assert (y == want).all()


@pytest.mark.parametrize("count, transposed", FORMS)
def test_stmatrix(count, transposed):
    x = rng(2).integers(0, 2**16, (32, 4, 2), np.uint16)
    y = np.zeros((32, 8), np.uint16)
    form, registers = named(count, transposed)
    launch(
        FILL + "mov.b32 %r20, %r10; mov.b32 %r21, %r11; mov.b32 %r22, %r12; mov.b32 %r23, %r13;"
        "mov.b32 %r30, 0; st.shared.v4.b32 [%r2], {%r30, %r30, %r30, %r30}; bar.warp.sync -1; "
        f"stmatrix{form} [%r2], {registers}; bar.warp.sync -1; "
        "ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r2]; "
        "st.global.v4.b32 [%rd12], {%r20, %r21, %r22, %r23}; ret;",
        x, y, sanitize=True,
    )  # fmt: skip
    want = np.zeros_like(y)
    for place, at in moved(count, transposed).items():
        want[at] = x[place]
    assert (y == want).all()


def test_addresses_of_other_lanes_do_not_count():
    x, y = np.zeros((32, 8), np.uint16), np.zeros((32, 4, 2), np.uint16)
    body = FILL + (
        "st.shared.v4.b32 [%r2], {%r10, %r11, %r12, %r13}; bar.sync 0; setp.ge.u32 %p1, %r0, 8;"
        "selp.b32 %r3, 7, %r2, %p1; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r3];"
        "st.global.b32 [%rd12], %r20; ret;"
    )
    launch(body, x, y, sanitize=True)


def test_rows_are_aligned_and_within_shared_memory():
    x, y = np.zeros((32, 8), np.uint16), np.zeros((32, 4, 2), np.uint16)
    for address, kind in (("s+8", "misaligned"), ("s+1536", "out-of-bounds")):
        body = FILL + (
            f"mov.b32 %r3, {address}; "
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r3]; ret;"
        )
        with pytest.raises(MemoryAccessError) as error:
            launch(body, x, y)
        assert error.value.kind == kind


# -- mma: fragments -------------------------------------------------------------------------------
WIDTH = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8}


def element_of_a(lane: int, i: int, width: int) -> tuple[int, int]:
    """Row and column of element i of A: PTX manual, "Matrix fragments for mma.m16n8k…"."""
    packed = 32 // width
    register, within = divmod(i, packed)
    row = lane // 4 + 8 * (register % 2)
    return row, lane % 4 * packed + within + 4 * packed * (register // 2)


def element_of_b(lane: int, i: int, width: int) -> tuple[int, int]:
    """Row (of K) and column of element i of B."""
    packed = 32 // width
    register, within = divmod(i, packed)
    return lane % 4 * packed + within + 4 * packed * register, lane // 4


def element_of_c(lane: int, i: int) -> tuple[int, int]:
    return lane // 4 + 8 * (i // 2), lane % 4 * 2 + i % 2


def mma(name: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, **options) -> np.ndarray:
    """D of one warp for matrices of codes: A (16, K), B (K, 8), C (16, 8)."""
    *_, kind_a, kind_b, _ = name.split(".")
    k = a.shape[1]
    wa, wb, wc = WIDTH[kind_a], WIDTH[kind_b], c.dtype.itemsize * 8
    fragments = [
        np.array([[a[element_of_a(x, i, wa)] for i in range(16 * k // 32)] for x in LANES]),
        np.array([[b[element_of_b(x, i, wb)] for i in range(8 * k // 32)] for x in LANES]),
        np.array([[c[element_of_c(x, i)] for i in range(4)] for x in LANES]),
    ]
    parts = zip(fragments, (wa, wb, wc), strict=True)
    words = np.concatenate([f.astype(f"u{w // 8}").view(np.uint32) for f, w in parts], axis=1)
    y = np.zeros((32, wc // 8), np.uint32)
    n = words.shape[1]
    sizes = [16 * k * wa // 1024, 8 * k * wb // 1024, wc // 8]
    starts = np.cumsum([10, *sizes])
    lists = ["{" + ", ".join(f"%r{r}" for r in range(s, s + size)) + "}"
             for s, size in zip(starts, sizes, strict=False)]  # fmt: skip
    results = "{" + ", ".join(f"%r{60 + i}" for i in range(sizes[2])) + "}"
    body = [f"mul.wide.u32 %rd10, %r0, {4 * n}; add.s64 %rd11, %rd0, %rd10;",
            *(f"ld.global.b32 %r{10 + i}, [%rd11+{4 * i}];" for i in range(n)),
            f"{name} {results}, {', '.join(lists)};",
            f"mul.wide.u32 %rd10, %r0, {4 * sizes[2]}; add.s64 %rd12, %rd1, %rd10;",
            *(f"st.global.b32 [%rd12+{4 * i}], %r{60 + i};" for i in range(sizes[2])),
            "ret;"]  # fmt: skip
    launch("\n".join(body), np.ascontiguousarray(words), y, sanitize=True, **options)
    d = np.zeros((16, 8), c.dtype)
    for lane, i in itertools.product(LANES, range(4)):
        d[element_of_c(lane, i)] = y[lane].view(c.dtype)[i]
    return d


def name_of(k: int, a: str, b: str, c: str, saturate: bool = False) -> str:
    return f"mma.sync.aligned.m16n8k{k}.row.col{'.satfinite' * saturate}.{c}.{a}.{b}.{c}"


INTEGERS = [(k, a, b) for k in (16, 32) for a in ("s8", "u8") for b in ("s8", "u8")]


@pytest.mark.parametrize("k, a, b", INTEGERS)
@pytest.mark.parametrize("saturate", [False, True])
def test_integers(k, a, b, saturate):
    draw = rng(k)
    x, y = (draw.integers(0, 256, s, np.uint8) for s in ((16, k), (k, 8)))
    x[:2], y[:, :2] = 255, 255
    x[2:4], y[:, 2:4] = 128, 128
    c = draw.integers(-(2**31), 2**31, (16, 8), np.int64).astype(np.int32)
    c[::2] = np.where(c[::2] % 2, 2**31 - 1, -(2**31))
    got = mma(name_of(k, a, b, "s32", saturate), x, y, c.view(np.uint32)).view(np.int32)
    signed = [v.view(np.int8) if t == "s8" else v for v, t in ((x, a), (y, b))]
    want = signed[0].astype(object) @ signed[1].astype(object) + c.astype(object)
    limit = lambda v: min(max(v, -(2**31)), 2**31 - 1) if saturate else (v + 2**31) % 2**32 - 2**31  # noqa: E731
    assert (got == np.vectorize(limit)(want)).all()


# -- mma: floating point --------------------------------------------------------------------------
# Bits of the fraction, bias, least exponent.
FORMATS = {"f16": (10, 15), "bf16": (7, 127), "tf32": (23, 127), "f32": (23, 127), "e4m3": (3, 7),
           "e5m2": (2, 15)}  # fmt: skip


def read(code: int, kind: str) -> tuple[Fraction | float, int]:
    """(value, exponent) of a code; of zero, infinity and NaN any exponent."""
    fraction_bits, bias = FORMATS[kind]
    width = WIDTH.get(kind, 32)
    if kind == "tf32":
        code &= 0xFFFFE000
    sign = -1 if code >> (width - 1) else 1
    field = code >> fraction_bits & ((1 << (width - 1 - fraction_bits)) - 1)
    fraction = code & ((1 << fraction_bits) - 1)
    if kind == "e4m3":
        if code & 0x7F == 0x7F:
            return float("nan"), 0
    elif field == (1 << (width - 1 - fraction_bits)) - 1:
        return (float("nan") if fraction else sign * float("inf")), 0
    exponent = max(field, 1) - bias
    whole = fraction + (1 << fraction_bits if field else 0)
    return sign * Fraction(whole) * Fraction(2) ** (exponent - fraction_bits), exponent


def towards_zero(x: Fraction, place: int) -> Fraction:
    unit = Fraction(2) ** place
    return int(x / unit) * unit


def fused(a: list[int], b: list[int], c: int, kinds: tuple[str, str], kind_c: str) -> int:
    """The code of a dot product as the published model of Hopper has it."""
    x, y, z = [read(v, kinds[0]) for v in a], [read(v, kinds[1]) for v in b], read(c, kind_c)
    values = [v for v, _ in (*x, *y, z)]
    if any(isinstance(v, float) for v in values):
        terms = [float(p) * float(q) for (p, _), (q, _) in zip(x, y, strict=True)]
        plain = float(np.float64(sum(terms)) + float(z[0]))
        if plain != plain:
            return 0x7FFF if kind_c == "f16" else 0x7FFFFFFF
        return int(np.array(plain, np.float16 if kind_c == "f16" else np.float32).view(
            np.uint16 if kind_c == "f16" else np.uint32))  # fmt: skip
    terms = [(p * q, e + f) for (p, e), (q, f) in zip(x, y, strict=True)] + [z]
    top = max([-126, *(e for v, e in terms if v)])
    total = sum(towards_zero(v, top - 25) for v, _ in terms)
    if kind_c == "f16":
        with np.errstate(over="ignore"):
            return int(np.float64(float(total)).astype(np.float16).view(np.uint16))
    if not total:
        return 0
    magnitude = abs(total)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > magnitude
    cut = towards_zero(magnitude, max(exponent, -126) - 23)
    bits = np.float32(float(cut)) if exponent < 128 else np.float32(np.inf)
    return int(np.copysign(bits, -1.0 if total < 0 else 1.0).astype(np.float32).view(np.uint32))


def fp8_fused(a: list[int], b: list[int], c: int, kinds: tuple[str, str], kind_c: str) -> int:
    """The same of FP8, as an H200 does it: in fp16, half of each register first, c last."""
    x, y = (
        [int(np.float16(float(read(code, kind)[0])).view(np.uint16)) for code in given]
        for given, kind in zip((a, b), kinds, strict=True)
    )
    total = 0
    for half in (0, 1):
        at = [k for k in range(len(x)) if k % 4 // 2 == half]
        total = fused([x[k] for k in at], [y[k] for k in at], total, ("f16", "f16"), kind_c)
    bits, value = (np.uint16, np.float16) if kind_c == "f16" else (np.uint32, np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        result = bits(total).view(value) + bits(c).view(value)
    if result != result:
        return 0x7FFF if kind_c == "f16" else 0x7FFFFFFF
    return int(result.view(bits))


def codes(draw: np.random.Generator, kind: str, shape: tuple[int, int], what: str) -> np.ndarray:
    """Unsigned codes of a type: `normal` numbers, `any` bits, or `far` apart but finite."""
    width = WIDTH.get(kind, 32)
    if what == "normal":
        x = draw.standard_normal(shape).astype(np.float32)
        if kind == "f16":
            return x.astype(np.float16).view(np.uint16)
        if kind in ("e4m3", "e5m2"):
            return fp8.from_f32(x, kind)
        return (x.view(np.uint32) >> (32 - width)).astype(f"u{width // 8}")
    drawn = draw.integers(0, 2**width, shape, np.uint64).astype(f"u{width // 8}")
    finite = np.vectorize(lambda v: not isinstance(read(int(v), kind)[0], float))
    sparse = draw.random(shape) < 0.2
    if what == "any":  # not all of it, so that some results are finite
        return np.where(
            finite(drawn) | sparse & (draw.random(shape) < 0.1), drawn, drawn.dtype.type(0)
        )
    return np.where(finite(drawn) & ~sparse, drawn, drawn.dtype.type(0))


FLOATS = [(8, "f16", "f16", "f32"), (16, "f16", "f16", "f32"), (8, "f16", "f16", "f16"),
          (16, "f16", "f16", "f16"), (8, "bf16", "bf16", "f32"), (16, "bf16", "bf16", "f32"),
          (4, "tf32", "tf32", "f32"), (8, "tf32", "tf32", "f32"), (16, "e4m3", "e4m3", "f16"),
          (32, "e4m3", "e4m3", "f32"), (32, "e4m3", "e5m2", "f32"), (16, "e5m2", "e4m3", "f32"),
          (32, "e5m2", "e5m2", "f16")]  # fmt: skip


@pytest.mark.parametrize("what", ["normal", "far", "any"])
@pytest.mark.parametrize("k, a, b, c", FLOATS)
def test_floats(k, a, b, c, what):
    draw = rng(k + len(what))
    x, y, z = (codes(draw, *s, what) for s in ((a, (16, k)), (b, (k, 8)), (c, (16, 8))))
    z[::3] = 0
    got = mma(name_of(k, a, b, c), x, y, z)
    for m, n in itertools.product(range(16), range(0, 8, 2)):
        row, column = x[m].tolist(), y[:, n].tolist()
        want = (fp8_fused if WIDTH[a] == 8 else fused)(row, column, int(z[m, n]), (a, b), c)
        assert int(got[m, n]) == want, (m, n, hex(got[m, n]), hex(want))


def test_terms_are_cut_off_25_places_below_the_largest():
    """1 + 2**-25 - 1 keeps the small term, 1 + 2**-26 - 1 does not; sums are not rounded."""
    a, b, c = np.zeros((16, 16), np.float16), np.zeros((16, 8), np.float16), np.zeros((16, 8), "f4")
    a[:, 0], b[0], b[1], c[:] = 1, -1, 2.0**-12, 1
    a[0, 1], a[1, 1] = 2.0**-13, 2.0**-14
    a[2, 0], a[2, 1], b[2], a[2, 2] = 0, 2.0**-12, 2.0**-13, 2.0**-12 * (1 - 2.0**-10)
    got = mma(name_of(16, "f16", "f16", "f32"), a.view("u2"), b.view("u2"), c.view("u4")).view("f4")
    assert got[0, 0] == 2.0**-25 and got[1, 0] == 0
    assert got[2, 0] == 1  # 1 + 2**-24 + almost 2**-25: nearest would be 1 + 2**-23


# -- who may execute it ---------------------------------------------------------------------------
def test_lanes_that_are_missing_are_found():
    x = np.zeros(32, np.int32)
    body = """setp.ge.u32 %p1, %r0, 16; @%p1 bra END; mov.b32 %r1, 0;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r2, %r3, %r4, %r5}, {%r1, %r1, %r1, %r1},
    {%r1, %r1}, {%r1, %r1, %r1, %r1};
    END: ret;"""
    with pytest.raises(SanitizerError) as error:
        launch(body, x, sanitize=True)
    assert error.value.findings[0].kind == "partial-warp"
    assert "executes `mma` with 16 of the 32 lanes" in str(error.value)


def test_undefined_rows_go_to_their_rows_of_the_result():
    """Rows 8 to 15 of A come from shared memory that nobody wrote; rows 0 to 7 may be stored."""
    body = """.shared .align 16 .b8 s[512]; mov.b32 %r1, s; mad.lo.s32 %r2, %r0, 16, %r1;
    mov.b32 %r3, 0; setp.lt.u32 %p1, %r0, 8;
    @%p1 st.shared.v4.b32 [%r2], {{%r3, %r3, %r3, %r3}}; bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%r10, %r11}}, [%r2];
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {{%r20, %r21, %r22, %r23}}, {{%r10, %r11}},
    {{%r3}}, {{%r3, %r3, %r3, %r3}};
    mul.wide.u32 %rd10, %r0, 4; add.s64 %rd11, %rd0, %rd10; st.global.b32 [%rd11], {stored}; ret;"""
    launch(body.format(stored="%r21"), np.zeros(32, np.float32), sanitize=True)
    with pytest.raises(SanitizerError, match="has written") as error:
        launch(body.format(stored="%r22"), np.zeros(32, np.float32), sanitize=True)
    assert error.value.findings[0].kind == "uninitialised-shared"


@pytest.mark.parametrize("name, operands", [
    ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "{%r1}, {%r1}, {%r1}, {%r1}"),
    ("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32", "{%r1}, {%r1}, {%r1}, {%r1}"),
    ("mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16", "{%r1}, {%r1}, {%r1}, {%r1}"),
    ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "{%r1}, {%r1}, {%r1}, {%r1}"),
    ("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "{%r1}, {%r1}, {%r1}, {%r1}"),
    ("mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32", "{%r1}, {%r1}, {%r1}, {%r1}"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "{%r1}, {%r1}, {%r1}, {%r1}"),
    ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", "{%r1, %r1}, [%r1]"),
    ("ldmatrix.sync.aligned.m8n8.x2.shared.b16", "{%r1}, [%r1]"),
])  # fmt: skip
def test_others_are_refused_by_name(name, operands):
    with pytest.raises(UnsupportedPtxError, match=name.replace(".", r"\.")):
        load(kernel(f"{name} {operands}; ret;", 1))
