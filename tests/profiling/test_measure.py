"""What can be tested of the measuring without a GPU: right results, ncu's CSV, the rules."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("cutlass")
from tests.profiling import measure, ncu, patterns

CSV = """==PROF== Connected to process 77 (/opt/torch/.venv/bin/python3.12)
==PROF== Profiling "kernel_cutlass_copy_kernel_te..." - 0: 0%....50%....100% - 9 passes
==PROF== Disconnected from process 77
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid \
Size","Device","CC","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","dram__bytes_read.sum","x__y.sum"
"","","","","","","","","","","","","byte",""
"0","77","python3.12","127.0.0.1","kernel_cutlass_copy_kernel_tensorptr_0","1","7","(128, 1, 1)",\
"(8, 1, 1)","0","9.0","2,560","1024.5","n/a"
"1","77","python3.12","127.0.0.1","kernel_cutlass_gather_kernel_tensorptr_0","1","7",\
"(128, 1, 1)","(8, 1, 1)","0","9.0","32","0","nan"
"""
LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"


def test_csv_of_ncu():
    rows = ncu.parse(CSV)
    assert [r.values[LOADS] for r in rows] == [2560, 32]
    assert [r.values["dram__bytes_read.sum"] for r in rows] == [1024.5, 0]
    assert [r.values["x__y.sum"] for r in rows] == [None, None]
    assert (rows[0].block, rows[0].grid) == ("(128, 1, 1)", "(8, 1, 1)")
    values = measure.match({"one": "copy_kernel", "two": "gather_kernel"}, rows)
    assert measure.counters(values["two"]) == {"global_load_requests": 32}


def test_rows_that_are_not_the_launches():
    rows = ncu.parse(CSV)
    with pytest.raises(RuntimeError, match="1 launches, but ncu has 2 rows"):
        measure.match({"one": "copy_kernel"}, rows)
    with pytest.raises(RuntimeError, match="two launched copy_kernel, but ncu's row is kernel_"):
        measure.match({"one": "copy_kernel", "two": "copy_kernel"}, rows)
    with pytest.raises(ValueError, match="no CSV"):
        ncu.parse("==ERROR== Failed to find metric x\n")


def test_metrics_are_those_that_exist():
    base = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"
    known = [base, base + "_lookup_hit", "smsp__inst_executed", "smsp__inst_issued"]
    assert ncu.chosen(ncu.GROUPS["core"], known) == [base + ".sum", "smsp__inst_executed.sum"]
    plain = ncu.chosen(ncu.GROUPS["core"], [])
    assert LOADS in plain and len(plain) == 8


def test_file_of_results(tmp_path):
    record = {"about": "x", "kernels": {"a": {"b": 1}, "c": {}}, "problems": {}}
    measure.write(tmp_path / "deep" / "out.json", record)
    assert json.loads((tmp_path / "deep" / "out.json").read_text()) == record


def test_documented_rules():
    lane = np.arange(32)
    assert patterns.sectors(lane * 4, 4) == 4
    assert patterns.sectors(lane * 4 + 4, 4) == 5
    assert patterns.sectors(np.arange(100) * 4, 4, block=100) == 4 + 4 + 4 + 1
    assert patterns.requests(np.full(64, patterns.OUT)) == 0
    assert [patterns.wavefronts(lane * s * 4, 4) for s in (0, 1, 2, 3, 32)] == [1, 1, 2, 1, 32]
    assert [patterns.wavefronts(lane * s * 8, 8) for s in (0, 1, 2, 16)] == [2, 2, 4, 32]
    assert [patterns.wavefronts(lane * s * 16, 16) for s in (0, 1, 2, 8)] == [4, 4, 8, 32]
