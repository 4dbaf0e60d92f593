"""Mutated PTX ends in forgekit's own errors."""

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from forgekit.vgpu.errors import UnsupportedPtxError, UsageError
from forgekit.vgpu.program import load
from tests.vgpu import fuzz


@pytest.fixture(scope="module")
def launches() -> list[fuzz.Launch]:
    return fuzz.corpus(fuzz.KERNELS)


def test_every_kernel_runs_unchanged(launches):
    assert len(launches) >= len(fuzz.KERNELS)
    for launch in launches:
        fuzz.run(launch, launch.text, sanitize=True)


def test_mutants_end_in_errors_of_forgekit(launches):
    report = fuzz.fuzz(launches, 300, seed=3)
    assert not report.bad, report.bad[0]
    assert report.outcomes["ran to its end"] > 75, report


# -- what is malformed is refused where it is decoded ----------------------------------------------
HEAD = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .b64 p)
{ .reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b128 %rq<2>;
"""
TENSOR_COPY = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize(
    "line, what",
    [
        ("add.s32 %r1, %r2", "2 operands"),
        ("add %r1, %r2, %r3", ".add where a type is meant"),
        ("mov.b32 %r1", "1 operands, not 2"),
        ("mov.b64 {}, %rd1", "0 parts of .b64"),
        ("shfl.sync.b32 %r1, %r2, 0, 31, -1", "no mode"),
        ("vote.sync.b32 %r1, %p1, -1", "no mode"),
        ("redux.sync.and.f32 %r1, %r2, -1", ".and.f32"),
        ("match.any.sync.u8 %r1, %r2, -1", ".u8"),
        ("bar.sync", "0 operands, not 1 or 2"),
        ("bar.sync.foo 0", ".foo"),
        ("st.global.b32 %r1, %r2", "no address"),
        ("st.global.b32 [%rd1], {%r1, %r2}", "a list in braces as an operand"),
        ("add.s32 5, %r1, %r2", "a number as the result"),
        ("add.s32 %p1, %r1, %r2", "%p1, a predicate"),
        ("and.pred %p1, %r1, %p2", "%r1, no predicate"),
        ("ld.global.pred %p1, [%rd1]", "type .pred"),
        ("ld.global.b128 %rq0, [%rd1]", "type .b128"),
        ("mov.b64 %rd1, %rq1", "%rq1, a register of type .b128"),
        ("add.s32 %rq1, %r1, %r2", "%rq1, a register of type .b128"),
        ("mov.b128 %rq1, 5", "a number as an operand of .b128"),
        ("mov.b128 %rq1, p", "a name as an operand of .b128"),
        ("mul.wide.s64 %rd1, %rd2, %rd3", ".wide of .s64"),
        ("cvt.rn.f32 %r1, %r2", ".f32"),
        ("cvt.rz.bf16.f64 %rs1, %rd1", ".rz from .f64 to .bf16"),
        ("atom.global.xor.f32 %r1, [%rd1], %r2", ".xor.f32"),
        ("atom.global.cas.b32 %r1, [%rd1], %r2", "3 operands, not 4 or 5"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 5", "5 bytes, not 4, 8 or 16"),
        ("cp.async.wait_group %r1", "no number"),
        ("cp.async.bulk", "neither source nor target"),
        (f"{TENSOR_COPY} [%r1], [%rd1, {{%r2}}], [%r3]", "1 coordinates"),
        (f"{TENSOR_COPY} [%r1], [%rd1], [%r3]", "without a tensor map"),
        (f"{TENSOR_COPY} [%r1], [%rd1, {{%r1, %r2}}]", "2 operands, not 3"),
        (f"{TENSOR_COPY}.cta_group::2 [%r1], [%rd1, {{%r1, %r2}}], [%r3]", ".cta_group:2"),
        (
            "cp.reduce.async.bulk.tensor.1d.global.shared::cta.sub.bulk_group [%rd1, {%r2}], [%r1]",
            "no operation",
        ),
        ("mbarrier.init.shared.b64 [%r1]", "1 operands, not 2"),
        ("isspacep.param %p1, %rd1", ".param"),
        ("setp.s32 %p1, %r1, %r2", "no comparison"),
        ("lop3.b32 %r1, %r2, %r3, %r4, %r5", "no number"),
        ("bfind.shiftamt %r1, %r2", ".shiftamt where a type is meant"),
    ],
)
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
        (".local .align 3 .b8 x[4];", "alignment 3 is no power of two"),
        (".local .align 0 .b8 x[4];", "alignment 0"),
        ("ld.param.b64 %rd1, [p+4];", "bytes outside the 8 of parameter p"),
        ("ld.param.b64 %rd1, [nobody];", "unknown parameter nobody"),
        ("mov.b64 %rd1, nobody;", "unknown symbol nobody"),
        ("add.s32 %r1, %r9, 1;", "undeclared register %r9"),
        (f"add.s32 %r1, %r2, {'9' * 5000};", "a number of 5000 characters"),
        (f"mov.b32 %r1, {'{' * 50}%r2{'}' * 50};", "brackets in brackets"),
        ("ld.global.b32 %r1, [WARP_SZ];", "cannot read the address"),
    ],
)
def test_other_malformed_text_is_refused_with_its_line(text, what):
    with pytest.raises(fuzz.KernelError, match=r"PTX line \d+: ") as raised:
        load(f"{HEAD}{text}\nret;\n}}\n")
    assert what in str(raised.value)


# -- refusals that name what is not supported ------------------------------------------------------
def test_calls_of_the_host_code_are_refused_by_name():
    from cutlass._mlir import ir

    from forgekit.vgpu.host import cuda_runtime as host

    text = """module {
      llvm.func @_cuTensorMapEncodeIm2col() -> i32
      llvm.func @cuda_dialect_assert_success(i32)
      llvm.func @_mlir_ciface_make() {
        %0 = llvm.call @_cuTensorMapEncodeIm2col() : () -> i32
        llvm.call @cuda_dialect_assert_success(%0) : (i32) -> ()
        llvm.return
      }
    }"""
    with ir.Context(), ir.Location.unknown():
        engine = host.make_engine(ir.Module.parse(text), "", "sm_90a")
        host.take_launches()
        engine.invoke("make")
    (refusal,) = host.take_launches()
    with pytest.raises(UsageError, match="calls cuTensorMapEncodeIm2col, which the virtual GPU"):
        refusal.run(None)
