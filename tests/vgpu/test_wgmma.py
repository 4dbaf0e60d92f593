"""Test wgmma: operands by descriptor and in registers, late results, the executing threads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from ptx_launch import launch

cutlass = pytest.importorskip("cutlass")
from cutlass import (  # noqa: E402
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Int32,
    Uint8,
)
from cutlass.cute.nvgpu import warpgroup  # noqa: E402

import forgekit as fk  # noqa: E402
import forgekit.vgpu  # noqa: E402
from forgekit.vgpu.errors import KernelError, MemoryAccessError  # noqa: E402
from forgekit.vgpu.memory import swizzles  # noqa: E402
from tests.vgpu.kernels import wgmma  # noqa: E402
from tests.vgpu.test_matrix_kernels import drawn  # noqa: E402

K, MN, SMEM, RMEM = wgmma.K, wgmma.MN, wgmma.SMEM, wgmma.RMEM
F16, E4M3, E5M2 = torch.float16, torch.float8_e4m3fn, torch.float8_e5m2


@pytest.fixture(autouse=True)
def on_hopper():
    """Use the only architecture for which CuTe DSL makes warpgroup operations."""
    with fk.use_target("virtual"), forgekit.vgpu.installed("sm_90a"):
        yield


def half(n, source=SMEM, a=K, b=K, kind=Float16, sums=Float32):
    return warpgroup.MmaF16BF16Op(kind, sums, (64, n, 16), source, a, b)


def byte(n, kind):
    if kind is Uint8:
        return warpgroup.MmaI8Op(kind, kind, Int32, (64, n, 32), RMEM, K, K)
    return warpgroup.MmaF8Op(kind, kind, Float32, (64, n, 32), RMEM, K, K)


# The operation, the type, and the swizzle spans of A and B in bytes; each span and orientation of
# A and B occurs once. test_matrix_parity.py compares more types bit by bit.
PRODUCTS = {
    "K 16, K 32": (lambda: half(64), F16, (16, 32)),
    "MN 32, MN 16": (lambda: half(64, SMEM, MN, MN), F16, (32, 16)),
    "MN 64, K 128": (lambda: half(64, SMEM, MN, K), F16, (64, 128)),
    "K 128, MN 64": (lambda: half(64, SMEM, K, MN), F16, (128, 64)),
    "MN 128, MN 128": (lambda: half(128, SMEM, MN, MN), F16, (128, 128)),
    "MN 16, K 64": (lambda: half(32, SMEM, MN, K), F16, (16, 64)),
    "registers, MN 32": (lambda: half(64, RMEM, K, MN), F16, (16, 32)),
    "bf16, n 8": (lambda: half(8, kind=BFloat16), torch.bfloat16, (64, 16)),
    "bf16, n 256": (lambda: half(256, RMEM, kind=BFloat16), torch.bfloat16, (64, 16)),
    "f16 to f16": (lambda: half(40, sums=Float16), F16, (64, 16)),
    "tf32": (lambda: wgmma.MmaTF32Op((64, 32, 8), SMEM), torch.float32, (128, 32)),
    "tf32 registers": (lambda: wgmma.MmaTF32Op((64, 8, 8), RMEM), torch.float32, (16, 64)),
    "e5m2 registers": (lambda: byte(32, Float8E5M2), E5M2, (16, 32)),
    "e4m3 registers": (lambda: byte(24, Float8E4M3FN), E4M3, (64, 16)),
    "u8 registers": (lambda: byte(24, Uint8), torch.uint8, (16, 64)),
}
# Tolerance per added product, relative to the sum of the terms' magnitudes.
ERRORS = {torch.float16: 2.0**-10, torch.float32: 2.0**-23, torch.int32: 0}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    make, dtype, spans = PRODUCTS[name]
    op, k = make(), 128 // dtype.itemsize
    n = op.shape_mnk[1]
    a, b = drawn((128, k), dtype, 1).view(2, 64, k), drawn((2 * n, k), dtype, 2).view(2, n, k)
    sums = {Float16: F16, Int32: torch.int32}.get(getattr(op, "acc_dtype", None), torch.float32)
    c = drawn((128, n), torch.float32, 3).view(2, 64, n).to(sums)
    d = torch.full_like(c, 77)
    specs = [fk.spec(t, static=True) for t in (a, b, c, d)]
    fk.compile(wgmma.product, *specs, op, spans)(a, b, c, d)
    if dtype == torch.float32:  # tf32
        a, b = ((x.view(torch.int32) & ~0x1FFF).view(torch.float32) for x in (a, b))
    a, b = a.double(), b.double().mT
    size = a.abs() @ b.abs() + c.double().abs()
    error = 2.0**-13 if name.startswith("e") else ERRORS[sums]
    assert ((d.double() - (c.double() + a @ b)).abs() <= k * error * size).all()


@pytest.mark.parametrize("schedule", ["default", "adversarial"])
def test_gemm(schedule):
    a, b = drawn((256, 320), F16, 1), drawn((128, 320), F16, 2)
    c = torch.full((256, 128), 77, dtype=F16)
    run = fk.compile(wgmma.gemm, *(fk.spec(t, divisible={1: 16}) for t in (a, b, c)), half(128))
    with forgekit.vgpu.options(schedule=schedule, seed=3):
        run(a, b, c)
    fk.check(c, (a.double() @ b.double().T).half())


# -- by hand --------------------------------------------------------------------------------------
FILL = """.shared .align 1024 .b8 s[8192]; mov.b32 %r1, s; mad.lo.s32 %r2, %r0, 32, %r1;
mov.b32 %r3, 0x3c003c00; st.shared.v4.b32 [%r2], {%r3, %r3, %r3, %r3};
st.shared.v4.b32 [%r2+16], {%r3, %r3, %r3, %r3}; fence.proxy.async.shared::cta; bar.sync 0;
shr.u32 %r4, %r1, 4; cvt.u64.u32 %rd10, %r4; or.b64 %rd10, %rd10, %rd11; setp.eq.u32 %p1, 0, 0;
mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0; wgmma.fence.sync.aligned;
"""
# Eight rows of 16 bytes are followed by the next 8 elements of K, then by the next eight rows.
PLAIN = "mov.b64 %rd11, 0x0000001000080000;" + FILL
SHAPE = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
MMA = SHAPE + " {%r10, %r11, %r12, %r13}, %rd10, %rd10, %p1, 1, 1, 0, 0;"
STORE = "mul.wide.u32 %rd2, %r0, 4; add.s64 %rd3, %rd0, %rd2; st.global.b32 [%rd3], %r10; ret;"
COMMIT = "wgmma.commit_group.sync.aligned; "


def ones(body: str, **options) -> np.ndarray:
    """Return %r10 of each thread; A and B hold ones, and the accumulator starts at 0."""
    x = np.zeros(128, np.float32)
    launch(body, x, block=128, **options)
    return x


@pytest.mark.parametrize("waits, result", [
    ("", 0), ("wgmma.wait_group.sync.aligned 0;", 0), (COMMIT, 0),
    (COMMIT + "wgmma.wait_group.sync.aligned 1;", 0),
    (COMMIT + "wgmma.wait_group.sync.aligned 0;", 16),
    (COMMIT + MMA + COMMIT + "wgmma.wait_group.sync.aligned 1;", 0),
    (COMMIT + MMA + COMMIT + "wgmma.wait_group.sync.aligned 0;", 32),
])  # fmt: skip
def test_results_come_with_the_wait_for_their_group(waits, result):
    assert (ones(PLAIN + MMA + waits + STORE) == result).all()


@pytest.mark.parametrize("stored, found", [(96, False), (128, True)])
def test_undefined_rows_go_to_their_rows_of_the_accumulator(stored, found):
    """Rows 40 to 63 of A, including all rows of the fourth warp, come from unwritten shared
    memory."""
    body = PLAIN.replace("st.shared", "setp.lt.u32 %p4, %r0, 40; @%p4 st.shared", 1)
    body = body.replace("; st.shared", "; @%p4 st.shared")
    wait = COMMIT + "wgmma.wait_group.sync.aligned 0;"
    store = STORE.replace("st.global", f"setp.lt.u32 %p5, %r0, {stored}; @%p5 st.global")
    findings = []
    ones(body + MMA + MMA + wait + store, sanitize=True, findings=findings)
    assert [f.kind for f in findings] == ["uninitialised-shared"] * found


def test_constants_scale_and_negate():
    wait = COMMIT + "wgmma.wait_group.sync.aligned 0;"
    minus = MMA.replace("1, 1, 0, 0", "-1, 1, 0, 0")
    dropped = "setp.eq.u32 %p1, 0, 1;" + MMA
    assert (ones(PLAIN + MMA + minus + minus + wait + STORE) == -16).all()
    assert (ones(PLAIN + MMA + MMA + dropped + wait + STORE) == 16).all()


def test_a_warp_that_comes_later_is_waited_for():
    late = """mov.b32 %r20, 0; setp.lt.u32 %p2, %r0, 96; @%p2 bra JOIN;
    LOOP: add.s32 %r20, %r20, 1; setp.lt.u32 %p3, %r20, 50; @%p3 bra LOOP; bra JOIN; JOIN: """
    wait = COMMIT + "wgmma.wait_group.sync.aligned 0;"
    assert (ones(PLAIN + late + MMA + wait + STORE) == 16).all()


@pytest.mark.parametrize("body, block, text", [
    (PLAIN + MMA + STORE, 96, "executes wgmma without the rest of its warpgroup"),
    (PLAIN + "setp.lt.u32 %p2, %r0, 96; @%p2 " + MMA + STORE, 128, "the rest of its warpgroup"),
    (PLAIN + "setp.ge.u32 %p2, %r0, 96; @%p2 bra SKIP;" + MMA + "SKIP: bar.sync 0; ret;", 128,
     "for warps of its warpgroup at other instructions"),
    (PLAIN + "shr.u32 %r5, %r0, 5; cvt.u64.u32 %rd5, %r5; add.s64 %rd10, %rd10, %rd5;" + MMA +
     STORE, 128, "passes a different descriptor from the rest of its warpgroup"),
    (PLAIN + "setp.lt.u32 %p1, %r0, 32;" + MMA + STORE, 128, "different scale-d"),
    (PLAIN + "or.b64 %rd10, %rd10, 0x0002000000000000;" + MMA + STORE, 128, "base offset"),
])  # fmt: skip
def test_who_may_execute_it(body, block, text):
    with pytest.raises(KernelError, match=text):
        launch(body, np.zeros(128, np.float32), block=block)


def test_descriptors_stay_within_shared_memory():
    body = PLAIN.replace("0x0000001000080000", "0x0000020000080000") + MMA + STORE
    with pytest.raises(MemoryAccessError) as error:
        ones(body)
    assert error.value.kind == "out-of-bounds"


def test_pieces_are_swizzled_within_their_span():
    """In row r of a tile swizzled over 128 bytes, piece p is at p ^ r."""
    found = swizzles.pieces(1 << 62 | 0x40 << 32 | 0x1000 >> 4, 16, False)
    rows = np.arange(16)[:, None]
    assert (found == 0x1000 + rows * 128 + (np.arange(2) ^ rows % 8) * 16).all()


def test_lines_that_use_it_are_counted_and_drawn():
    """Eight warps compute the 128 by 128 by 128 product, with two tiles of K, four steps each, and
    no loads."""
    a, b, c = drawn((128, 128), F16, 1), drawn((128, 128), F16, 2), torch.zeros(128, 128).half()
    run = fk.compile(wgmma.gemm, *(fk.spec(t, divisible={1: 16}) for t in (a, b, c)), half(128))
    p = fk.profile(run, a, b, c)
    texts = [i.text for line in p.lines for i in line.instructions
             for _ in range(i.warp_instructions)]  # fmt: skip
    assert sum(t.startswith("wgmma.mma_async") for t in texts) == 2 * 4 * 8
    assert p["shared_load_requests"] == p["shared_load_wavefronts"] == 0
    assert "64 warp-wide" in str(fk.timeline(run, a, b, c))
