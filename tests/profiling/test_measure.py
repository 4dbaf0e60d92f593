"""What can be tested of the measuring without a GPU: rows are matched with launches, the file."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("cutlass")
from tests.profiling import measure

METRICS = {"loads": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "other": "x__y.sum"}
ROWS = [
    {"Kernel Name": "kernel_cutlass_copy_kernel_tensorptr_0", METRICS["loads"]: "2,560"},
    {"Kernel Name": "kernel_cutlass_gather_kernel_tensorptr_0", METRICS["loads"]: "32",
     METRICS["other"]: "nan"},
]  # fmt: skip


def test_rows_are_matched_with_the_launches():
    values = measure.match({"one": "copy_kernel", "two": "gather_kernel"}, ROWS, METRICS)
    assert values == {"one": {"loads": 2560}, "two": {"loads": 32}}
    with pytest.raises(RuntimeError, match="1 launches, but ncu has 2 rows"):
        measure.match({"one": "copy_kernel"}, ROWS, METRICS)
    with pytest.raises(RuntimeError, match="two launched copy_kernel, but ncu's row is kernel_"):
        measure.match({"one": "copy_kernel", "two": "copy_kernel"}, ROWS, METRICS)


def test_file_of_results(tmp_path):
    record = {"about": "x", "kernels": {"a": {"b": 1}, "c": {}}, "problems": {}}
    measure.write(tmp_path / "out.json", record)
    assert json.loads((tmp_path / "out.json").read_text()) == record
