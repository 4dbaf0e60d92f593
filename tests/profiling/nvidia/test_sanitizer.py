"""Test the parsing of compute-sanitizer's logs; the samples are from an H200."""

from __future__ import annotations

import pytest

from forgekit.profiling.nvidia import sanitizer
from forgekit.profiling.nvidia.tools import short_name
from tests.profiling.nvidia.conftest import SAMPLES

READ = "Invalid __global__ read of size 4 bytes"
UNSET = "Uninitialized __global__ memory read of size 4 bytes"


@pytest.mark.parametrize(
    ("sample", "errors", "kind", "kernel", "line"),
    [
        ("memcheck", 28, READ, "overhang_kernel", 177),
        ("memcheck_backtrace", 26, READ, "overhang_kernel", 177),
        ("racecheck", 1, "Race reported", "race_shared_kernel", 191),
        ("initcheck", 256, UNSET, "unset_global_0", 220),
    ],
)
def test_findings(sample, errors, kind, kernel, line):
    log = (SAMPLES / f"{sample}.txt").read_text()
    found = sanitizer.result(sample.partition("_")[0], log, 1)
    assert (found.errors, found.warnings, found.status) == (errors, 0, 1)
    assert (found.kind, found.file, found.line) == (kind, "kernels.py", line)
    assert short_name(str(found.kernel)) == kernel


@pytest.mark.parametrize("tool", sanitizer.TOOLS)
def test_nothing_found(tool):
    found = sanitizer.result(tool, (SAMPLES / f"{tool}_clean.txt").read_text(), 3)
    assert found == sanitizer.Result(tool, 0, 0, 3)


# These messages follow the manual, because some of them could not be provoked.
OTHERS = {
    "Barrier error detected. Divergent thread(s) in block": (
        "    at kernel_cutlass_gemm_kernel_tensorptrf16_0+0x2c8 in gemm.py:41\n"
        "    by thread (32,0,0) in block (0,0,0)\n",
        ("gemm_kernel", "gemm.py", 41),
    ),
    "Invalid __local__ write of size 8 bytes": (
        "    at oob(float*)+0x120\n    Address 0x8 is misaligned\n",
        ("oob(float*)", None, None),
    ),
    "Program hit cudaErrorInvalidValue on CUDA API call to cudaMemcpy": (
        "    Saved host backtrace up to driver entry point at error\n",
        (None, None, None),
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_findings(kind):
    text, (kernel, file, line) = OTHERS[kind]
    why = ' (error 1) due to "invalid argument" on CUDA'
    head = kind.replace(" on CUDA", why)
    said = [f"========= {t}" for t in ("COMPUTE-SANITIZER", head + ".", *text.splitlines(), "")]
    log = "\n".join([*said, "========= ERROR SUMMARY: 1 error"])
    found = sanitizer.result("memcheck", log, 0)
    assert (found.errors, found.kind, found.file, found.line) == (1, kind, file, line)
    assert (found.kernel and short_name(found.kernel)) == kernel


def test_warnings_are_no_errors():
    log = "========= Warning: Race reported between Read access at f+0x1 in a.py:2\n"
    log += "========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)\n"
    found = sanitizer.result("racecheck", log, 0)
    assert (found.errors, found.warnings, found.line) == (0, 1, 2)
    assert "0 (+1 warning)" in sanitizer.as_table([found])


def test_the_programs_own_words_are_not_read():
    log = "ERROR SUMMARY: 7 errors\n" + (SAMPLES / "memcheck_clean.txt").read_text()
    assert sanitizer.result("memcheck", log, 0).errors == 0


def test_a_tool_that_did_not_end():
    log = "========= COMPUTE-SANITIZER\n========= Error: Device not supported\n"
    found = sanitizer.result("memcheck", log, 1)
    assert found.errors is None
