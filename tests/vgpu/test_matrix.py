"""ldmatrix and mma.sync: fragments by the PTX manual, who executes them, what is refused.

The bits of their results are an H200's: test_matrix_parity.py.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from ptx_launch import kernel, launch

from forgekit.vgpu import fp8
from forgekit.vgpu.errors import MemoryAccessError, SanitizerError, UnsupportedPtxError
from forgekit.vgpu.program import load

LANES = range(32)
rng = np.random.default_rng


# -- ldmatrix, stmatrix ---------------------------------------------------------------------------
FILL = """.shared .align 16 .b8 s[1536]; mov.b32 %r1, s; mad.lo.s32 %r2, %r0, 48, %r1;
mul.wide.u32 %rd10, %r0, 16; add.s64 %rd11, %rd0, %rd10; add.s64 %rd12, %rd1, %rd10;
ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd11]; """


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


@pytest.mark.parametrize("k", [16, 32])
@pytest.mark.parametrize("a, b", [("s8", "u8"), ("u8", "s8")])
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
@pytest.mark.parametrize("b, other", [("e4m3", "e5m2"), ("e5m2", "e4m3")])
def test_fp8_of_both_types(b, other):
    """Numbers that both types hold give the same, whichever B has."""
    draw = rng(5)
    x, y = (draw.integers(4, 8, s) * 2.0 ** draw.integers(-6, 5, s) for s in ((16, 32), (32, 8)))
    y = (y * draw.choice([-1, 1], y.shape)).astype(np.float32)
    given = fp8.from_f32(x.astype(np.float32), b)
    c = draw.standard_normal((16, 8)).astype(np.float32).view(np.uint32)
    same, mixed = (
        mma(name_of(32, b, kind, "f32"), given, fp8.from_f32(y, kind), c) for kind in (b, other)
    )
    assert (same == mixed).all() and len(np.unique(same)) > 100


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
