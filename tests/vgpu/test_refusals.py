"""Test that the decoder refuses unsupported instructions, with their line."""

from __future__ import annotations

import pytest

from forgekit.vgpu.errors import KernelError, UnsupportedPtxError
from forgekit.vgpu.program import load

HEAD = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .b64 p)
{ .reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b128 %rq<2>;
"""
BOXES, SIGNAL = "cp.async.bulk.tensor", "mbarrier::complete_tx::bytes"
TENSOR_COPY = f"{BOXES}.2d.shared::cta.global.tile.{SIGNAL}"
FOUR = "{%r1}, {%r1}, {%r1}, {%r1}"
WGMMA, HELD = "wgmma.mma_async", "{%r1, %r2, %r3, %r4}, %rd1, %rd1, %p1"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("add.s32 %r1, %r2", "2 operands"),
        ("add %r1, %r2, %r3", ".add instead of a type"),
        ("mov.b32 %r1", "1 operands, not 2"),
        ("mov.b64 {}, %rd1", "0 parts of .b64"),
        ("shfl.sync.b32 %r1, %r2, 0, 31, -1", "no mode"),
        ("vote.sync.b32 %r1, %p1, -1", "no mode"),
        ("redux.sync.and.f32 %r1, %r2, -1", ".and.f32"),
        ("match.any.sync.u8 %r1, %r2, -1", ".u8"),
        ("bar.sync", "0 operands, not 1 or 2"),
        ("bar.sync.foo 0", ".foo"),
        ("st.global.b32 %r1, %r2", "not an address"),
        ("st.global.b32 [%rd1], {%r1, %r2}", "a list in braces as an operand"),
        ("add.s32 5, %r1, %r2", "a number as the result"),
        ("add.s32 %p1, %r1, %r2", "%p1, a predicate"),
        ("and.pred %p1, %r1, %p2", "%r1, not a predicate"),
        ("ld.global.pred %p1, [%rd1]", "type .pred"),
        ("ld.global.b128 %rq0, [%rd1]", "type .b128"),
        ("mov.b64 %rd1, %rq1", "%rq1, a register of type .b128"),
        ("add.s32 %rq1, %r1, %r2", "%rq1, a register of type .b128"),
        ("mov.b128 %rq1, 5", "a number as a .b128 operand"),
        ("mov.b128 %rq1, p", "a name as a .b128 operand"),
        ("mul.wide.s64 %rd1, %rd2, %rd3", ".wide for .s64"),
        ("cvt.rn.f32 %r1, %r2", ".f32"),
        ("cvt.rz.bf16.f64 %rs1, %rd1", ".rz from .f64 to .bf16"),
        ("atom.global.xor.f32 %r1, [%rd1], %r2", ".xor.f32"),
        ("atom.global.cas.b32 %r1, [%rd1], %r2", "3 operands, not 4 or 5"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 5", "5 bytes, not 4, 8 or 16"),
        ("cp.async.wait_group %r1", "not a number"),
        ("cp.async.wait_group -1", "-1 groups"),
        ("cp.async.bulk.wait_group.read -1", "-1 groups"),
        ("cp.async.bulk", "neither a source nor a target"),
        (f"{TENSOR_COPY} [%r1], [%rd1, {{%r2}}], [%r3]", "1 coordinates"),
        (f"{TENSOR_COPY} [%r1], [%rd1], [%r3]", "no tensor map"),
        (f"{TENSOR_COPY} [%r1], [%rd1, {{%r1, %r2}}]", "2 operands, not 3"),
        (f"{TENSOR_COPY}.cta_group::2 [%r1], [%rd1, {{%r1, %r2}}], [%r3]", ".cta_group:2"),
        (
            "cp.reduce.async.bulk.tensor.1d.global.shared::cta.sub.bulk_group [%rd1, {%r2}], [%r1]",
            "no operation",
        ),
        ("mbarrier.init.shared.b64 [%r1]", "1 operands, not 2"),
        ("isspacep.param %p1, %rd1", ".param"),
        ("setp.s32 %p1, %r1, %r2", "no comparison"),
        ("lop3.b32 %r1, %r2, %r3, %r4, %r5", "not a number"),
        ("bfind.shiftamt %r1, %r2", ".shiftamt instead of a type"),
        # A qualifier or type that the opcode's function does not use.
        ("add.foo.s32 %r1, %r2, %r3", ".foo"),
        ("add.f32.f64 %rd1, %rd2, %rd3", ".f32"),
        ("mul.lo.b32 %r1, %r2, %r3", ".b32"),
        ("mad.lo.sat.s32 %r1, %r2, %r3, %r4", "saturation other than .hi.sat.s32"),
        ("add.sat.u32 %r1, %r2, %r3", "a type other than .s32"),
        ("min.relu.u32 %r1, %r2, %r3", ".relu"),
        ("add.rz.f64 %rd1, %rd2, %rd3", ".rz for .f64"),
        ("add.sat.bf16 %rs1, %rs2, %rs3", ".sat for .bf16"),
        ("fma.rn.oob.f16 %rs1, %rs1, %rs1, %rs1", ".oob"),
        ("lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 3, %p2", ".or"),
        ("prmt.b32.xyz %r1, %r2, %r3, 0", ".xyz"),
        ("shl.f32 %r1, %r2, 3", ".f32"),
        ("mov.b128 %rd1, %rd2", "narrower than"),
        ("mov.b64 {%r1, %r2, %r3}, %rd1", "3 parts of .b64"),
        ("setp.lo.f32.x %p1, %r1, %r2", ".x"),
        ("setp.ltu.s32 %p1, %r1, %r2", "comparison .ltu for integers"),
        ("set.eq.f16.f16 %rs1, %rs2, %rs3", "result .f16"),
        ("cvt.rs.f16.f32 %rs1, %r2", ".rs"),
        ("cvt.rs.f16x2.f32 %r1, %r2, %r3, %r4", ".rs"),
        ("cvt.rn.tf32.f16 %r1, %rs2", ".tf32"),
        ("cvt.rn.e4m3x2.f32 %rs1, %r2, %r3", ".e4m3x2.f32"),
        ("cvt.rn.ue8m0x2.f32 %rs1, %r2, %r3", ".ue8m0x2"),
        ("cvt.s32.f32 %r1, %r2", "without a rounding mode"),
        ("rcp.approx.f16 %rs1, %rs2", ".f16"),
        ("div.rz.f64 %rd1, %rd2, %rd3", ".rz.f64"),
        ("testp.odd.f32 %p1, %r1", ".odd"),
        ("max.abs.f32 %r1, %r2, %r3", "only one of .abs and .xorsign"),
        ("atom.global.add.v2.f32 {%r1, %r2}, [%rd0], {%r3, %r4}", ".f32"),
        ("atom.global.cas.b128 %rq1, [%rd0], %rq0, %rq1", ".b128"),
        ("bar.red.xor.u32 %r5, 0, %p1", ".xor"),
        ("cp.async.mbarrier.arrive.shared.b64 [%r1]", "without .noinc"),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd0], [%r1], 16", "opcode"),
        ("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd0], [%r1], 16, %rs1", "cp_mask"),
        (f"{BOXES}.3d.shared::cta.global.im2col.{SIGNAL} [%r1], [%rd0, {{%r1, %r1, %r1}}], [%r2]",
         "im2col; only .tile is supported"),
        (f"{BOXES}.2d.shared::cta.global.tile::gather4.{SIGNAL} [%r1], [%rd0, {{%r1}}], [%r2]",
         "tile::gather4; only .tile is supported"),
        # Matrix products.
        (f"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {FOUR}", ".m8n8k4"),
        (f"mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {FOUR}", ".row"),
        (f"mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16 {FOUR}", ".f16.bf16.bf16.f16"),
        (f"mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {FOUR}", ".m16n8k64"),
        (f"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {FOUR}", ".sp"),
        (f"mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32 {FOUR}", ".satfinite for"),
        (f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {FOUR}", "1 registers, not 4"),
        ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r1}, [%r1]", ".m16n16"),
        ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r1]", "1 registers, not 2"),
        (f"{WGMMA}.sp.sync.aligned.m64n8k16.f32.f16.f16 {HELD}, 1, 1, 0, 0", "sparse"),
        (f"{WGMMA}.sync.aligned.m64n12k16.f32.f16.f16 {HELD}, 1, 1, 0, 0", "m64n12k16"),
        (f"{WGMMA}.sync.aligned.m64n8k16.f32.f16.bf16 {HELD}, 1, 1, 0, 0", "f32.f16.bf16"),
        (f"{WGMMA}.sync.aligned.m64n8k16.f32.f16.f16 {HELD}, 1, 1, 0", "7 operands"),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64", "tensor memory"),
        ("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd1, %r2, %p1", "sm_90a"),
        ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd1]", "sm_90a"),
        ("call.uni (%r1), malloc, (%r2)", "a call to malloc"),
    ],
)  # fmt: skip
def test_malformed_instructions_are_refused_with_their_line(line, what):
    with pytest.raises(UnsupportedPtxError) as raised:
        load(f"{HEAD}{line};\nret;\n}}\n")
    text = str(raised.value)
    assert what in text
    assert f"PTX line 6: {line}" in text
    assert "run the kernel on a GPU" in text and "forgekit/" not in text


@pytest.mark.parametrize(
    "text, what",
    [
        (".reg .b32 %q<99999999999999999999999>;", "more than 262,144 registers"),
        (".local .align 4 .b8 x[99999999999];", "99,999,999,999 bytes, more than 524,288"),
        (".local .align 3 .b8 x[4];", "alignment 3 is not a power of two"),
        (".local .align 0 .b8 x[4];", "alignment 0"),
        ("ld.param.b64 %rd1, [p+4];", "bytes outside the 8-byte parameter p"),
        ("ld.param.b64 %rd1, [nobody];", "unknown parameter nobody"),
        ("mov.b64 %rd1, nobody;", "unknown symbol nobody"),
        ("add.s32 %r1, %r9, 1;", "undeclared register %r9"),
        (f"add.s32 %r1, %r2, {'9' * 5000};", "a number with 5000 characters"),
        (f"mov.b32 %r1, {'{' * 50}%r2{'}' * 50};", "nested brackets"),
        ("ld.global.b32 %r1, [WARP_SZ];", "cannot read the address"),
    ],
)
def test_other_malformed_text_is_refused_with_its_line(text, what):
    with pytest.raises(KernelError, match=r"PTX line \d+: ") as raised:
        load(f"{HEAD}{text}\nret;\n}}\n")
    assert what in str(raised.value)
