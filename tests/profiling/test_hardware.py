"""Test each kernel in the table: its result must be correct, and its counters must equal an H200's
or differ for a stated reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forgekit as fk
from forgekit.profiling.profile import of_recording
from forgekit.tracing.recordings import recorded

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from tests.profiling import measure
from tests.profiling.counter_kernels import KERNELS

_GOLDEN = Path(__file__).parent / "golden" / "h200_counters.json"
GOLDEN = json.loads(_GOLDEN.read_text())["kernels"]
for _of in ("matrix", "tensor"):
    GOLDEN |= json.loads(_GOLDEN.with_name(f"h200_{_of}_counters.json").read_text())["kernels"]

MACHINE_CODE = ("instructions", "thread_instructions")  # differ from the counts of PTX instructions
UNNAMED = "shared_async_bank_conflicts"  # a counter of ncu that varies between runs
NAMES = {"async_requests": "global_async_requests", "async_sectors": "global_async_sectors"}

# The differences on the H200: reason -> case -> counter -> [counted, measured].
DIFFERENCES = json.loads((_GOLDEN.parent / "differences.json").read_text())


def difference(case: str, counter: str) -> list[int] | None:
    found = (cases.get(case, {}).get(counter) for cases in DIFFERENCES.values())
    return next((pair for pair in found if pair is not None), None)


@pytest.mark.parametrize("name", KERNELS)
def test_results_are_right_and_counters_equal_the_hardware(name):
    case = KERNELS[name]
    with fk.use_target("virtual"):
        tensors = case.make()
        call = recorded(case.compile(tensors), tensors)
        after = call.result()
    assert case.problem(after) is None
    p = of_recording(name, call.recording)
    unequal = {}
    for counter, measured in GOLDEN[name].items():
        if counter in MACHINE_CODE or measured is None:
            continue
        counted = p[NAMES.get(counter, counter)]
        assert counter == UNNAMED or p[measure.METRICS[counter]] == counted
        if counted != measured and difference(name, counter) != [counted, measured]:
            unequal[counter] = f"counted {counted}, an H200 {measured}"
    assert not unequal, case.why


def test_differences_are_few_and_real():
    """No entry is for values that are equal."""
    for cases in DIFFERENCES.values():
        for case, counters in cases.items():
            for counter, (counted, measured) in counters.items():
                assert counted != measured == GOLDEN[case][counter]
    assert sum(len(c) for cases in DIFFERENCES.values() for c in cases.values()) < 100


# -- the measurement, as far as tests without a GPU can check it ----------------------------------
NCU = {"loads": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "other": "x__y.sum"}
ROWS = [
    {"Kernel Name": "kernel_cutlass_copy_kernel_tensorptr_0", NCU["loads"]: "2,560"},
    {"Kernel Name": "kernel_cutlass_gather_kernel_tensorptr_0", NCU["loads"]: "32",
     NCU["other"]: "nan"},
]  # fmt: skip


def test_rows_are_matched_with_the_launches():
    values = measure.match({"one": "copy_kernel", "two": "gather_kernel"}, ROWS, NCU)
    assert values == {"one": {"loads": 2560}, "two": {"loads": 32}}
    with pytest.raises(RuntimeError, match="1 launches, but ncu has 2 rows"):
        measure.match({"one": "copy_kernel"}, ROWS, NCU)
    with pytest.raises(RuntimeError, match="two launched copy_kernel, but ncu's row is kernel_"):
        measure.match({"one": "copy_kernel", "two": "copy_kernel"}, ROWS, NCU)


def test_file_of_results(tmp_path):
    record = {"about": "x", "kernels": {"a": {"b": 1}, "c": {}}, "problems": {}}
    measure.write(tmp_path / "out.json", record)
    assert json.loads((tmp_path / "out.json").read_text()) == record
