"""Test that mutated PTX raises only forgekit's own errors."""

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from forgekit.vgpu.errors import UsageError
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


# -- refusals that name the unsupported part ------------------------------------------------------
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
