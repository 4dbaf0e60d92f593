"""Test ldmatrix and mma.sync: the executing threads, operands of two types, refusals.

test_matrix_parity.py compares fragments and the bits of results with an H200's.
"""

from __future__ import annotations

import numpy as np
import pytest
from ptx_launch import launch

from forgekit.vgpu import fp8
from forgekit.vgpu.errors import MemoryAccessError, SanitizerError

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


# -- mma of two types ------------------------------------------------------------------------------
def mma(k: int, types: tuple[str, str, str], a: int, b: int, c: int, saturate: str = "") -> int:
    """Return one word of D = A B + C, where each byte of A is a, each byte of B is b, and each word
    of C is c."""
    kind = ".".join((types[2], *types))
    name = f"mma.sync.aligned.m16n8k{k}.row.col{saturate}.{kind}"
    held = ["{" + ", ".join([r] * n) + "}" for r, n in (("%r1", k // 8), ("%r2", k // 16))]
    body = f"""mov.b32 %r1, {a * 0x01010101}; mov.b32 %r2, {b * 0x01010101}; mov.b32 %r3, {c};
    {name} {{%r4, %r5, %r6, %r7}}, {held[0]}, {held[1]}, {{%r3, %r3, %r3, %r3}};
    st.global.b32 [%rd0], %r7; ret;"""
    y = np.zeros(1, np.uint32)
    launch(body, y)
    return int(y[0])


@pytest.mark.parametrize("k", [16, 32])
@pytest.mark.parametrize("a, b", [("s8", "u8"), ("u8", "s8"), ("s8", "s8"), ("u8", "u8")])
@pytest.mark.parametrize("saturate", ["", ".satfinite"])
@pytest.mark.parametrize("c", [7, 2**31 - 1, -(2**31)])
def test_integers(k, a, b, saturate, c):
    x, y = (v - 256 * (kind == "s8") for v, kind in ((255, a), (128, b)))
    total = k * x * y + c
    want = min(max(total, -(2**31)), 2**31 - 1) if saturate else total
    assert mma(k, (a, b, "s32"), 255, 128, c, saturate) == want % 2**32


@pytest.mark.parametrize("a, b", [("e4m3", "e5m2"), ("e5m2", "e4m3")])
def test_fp8_of_both_types(a, b):
    x, y = (int(fp8.from_f32(np.float32([v]), kind)[0]) for v, kind in ((1.75, a), (-0.625, b)))
    got = mma(32, (a, b, "f32"), x, y, 0x40400000)
    assert np.uint32(got).view(np.float32) == 3 - 32 * 1.75 * 0.625


# -- the executing threads
# ---------------------------------------------------------------------------
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
    """Rows 8 to 15 of A come from unwritten shared memory, so only rows 0 to 7 may be stored."""
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
