"""Test that the values recorded for notebook 09 equal the virtual GPU's counts and are from the
current kernels."""

from __future__ import annotations

import csv
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import forgekit as fk
from forgekit.course import load_part
from forgekit.lessons.exercise import exercise

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

NUMBERS = load_part(exercise("week0/read_the_report").folder, "exercise").NUMBERS
RECORDED = Path(__file__).parents[2] / "week0_copy_transpose" / "recorded"
SIZE = 256  # recorded: 1024 and 8192, with 16 and 1,024 times as many elements


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"recorded_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


kernels = _load(RECORDED / "kernels.py")
record = _load(RECORDED / "record.py")


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((RECORDED / name).read_text().splitlines()))


def raw(name: str) -> dict[str, dict[str, float]]:
    """Map each kernel's name to its metrics and their recorded values."""
    return {
        row["Kernel Name"].removesuffix("_0"): {
            m: float(v.replace(",", "") or 0) for m, v in row.items() if "__" in m
        }
        for row in rows(name)[1:]
    }


COUNTED = raw("ncu_counters.csv")
MEASURED = raw("ncu_metrics.csv")


@pytest.fixture(scope="module")
def profiles() -> dict[str, Any]:
    """Map each recorded kernel's name to its profile on a smaller matrix."""
    found = {}
    with fk.use_target("virtual"):
        x, y = fk.rand(SIZE, SIZE), fk.empty(SIZE, SIZE)
        tables = (("transpose_", kernels.transposes()), ("transpose_", kernels.suspects()),
                  ("", kernels.turns()))  # fmt: skip
        for prefix, table in tables:
            for name, (fn, more) in table.items():
                found[prefix + name] = fk.profile(fk.compile(fn, x, y, *more), x, y)
    return found


def test_every_kernel_was_recorded(profiles):
    assert set(MEASURED) == set(profiles)
    assert set(COUNTED) == {f"transpose_{name}" for name in kernels.transposes()}


@pytest.mark.parametrize("name", COUNTED)
def test_counters_of_global_memory_are_equal(name, profiles):
    for metric in record.COUNTERS:
        times = 1 if metric.endswith(".ratio") else 16
        ours, theirs = times * profiles[name][metric], COUNTED[name][metric]
        if "shared" in metric:  # ncu counts a few additional bank conflicts
            assert ours <= theirs <= ours + 0.06 * 32768
        else:
            assert ours == theirs


def test_lines_are_equal(profiles):
    """Sectors and wavefronts per Python line, which ncu counts by instrumenting instructions, are
    equal."""
    compared = 0
    for row in rows("ncu_source.csv"):
        p = profiles[row["Kernel Name"].removesuffix("_0")]
        line = next((x for x in p.all_lines if x.number == int(row["Line No"])), None)
        if line is None:
            continue
        sectors = line["global_load_sectors"] + line["global_store_sectors"]
        wavefronts = line["shared_load_wavefronts"] + line["shared_store_wavefronts"]
        assert 1024 * sectors == int(row["L2 Theoretical Sectors Global"])
        assert 1024 * wavefronts == int(row["L1 Wavefronts Shared"] or 0)
        assert line.text.strip() == row["Source"].strip()
        compared += bool(sectors or wavefronts)
    assert compared == 11


def test_large_matrices_are_as_the_book_says():
    """At 8192 x 8192, ncu's counts for shared memory are too high, and its counts for global memory
    are right except for scattered stores."""
    loads = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
    assert round(100 * COUNTED["transpose_padded"][loads] / 32768) == 105
    assert round(100 * MEASURED["transpose_padded"][loads] / (64 * 32768)) == 109
    for name, measured in MEASURED.items():
        for op in ("ld", "st"):
            requests = measured[f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"]
            each = round(
                measured[f"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{op}.ratio"]
            )
            off = abs(
                measured[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"] - each * requests
            )
            assert off <= (0.0003 * each * requests if op == "st" and each == 32 else 1), name


def test_gains_and_promises_are_as_the_notebook_says():
    us = {name: m["gpu__time_duration.sum"] for name, m in MEASURED.items()}
    naive = us["transpose_scatter"]
    assert round(naive / us["transpose_padded"], 1) == 3.1
    assert round(naive / us["transpose_padded_4"], 1) == 6.5
    rules = [row for row in rows("ncu_details.csv") if row["Kernel Name"] == "transpose_scatter_0"]
    promised = {row["Rule Name"]: float(row["Estimated Speedup"] or 0) for row in rules}
    assert round(promised["MemoryCacheAccessPattern"]) == 47
    assert round(promised["UncoalescedGlobalAccess"]) == 78


def test_numbers_of_the_five_reports():
    for letter, numbers in NUMBERS.items():
        m = MEASURED[f"transpose_{letter}"]
        loads = m["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]
        asked = (
            m["gpu__time_duration.sum"] / 1000,
            m["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"],
            m["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"],
            m["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] / loads,
            m["smsp__thread_inst_executed_per_inst_executed.ratio"],
            m["sm__maximum_warps_per_active_cycle_pct"],
        )
        assert numbers == tuple(round(value) for value in asked)


def test_the_slow_kernel_is_the_skeleton(profiles):
    """The report in the exercise fix_the_turn is about the kernel that a student receives."""
    body = exercise("week0/fix_the_turn").source.skeleton.splitlines()
    ours = {line.strip().replace("TILE", "32") for line in
            (RECORDED / "kernels.py").read_text().splitlines()}  # fmt: skip
    code = [line.strip() for line in body if line.strip() and "FILL" not in line]
    missing = [line for line in code if line not in ours and "turn" not in line]
    assert not missing
    assert profiles["turn_slow"]["global_store_sectors_per_request"] == 32


def test_mistakes_stand_where_the_sanitizer_says():
    source = (RECORDED / "kernels.py").read_text().splitlines()
    said = json.loads((RECORDED / "sanitizer.json").read_text())
    assert set(said) == {*kernels.BUGS, "overhang_cached"}
    for bug, line in (("overhang", "mY[i] = mX[i]"), ("race_shared", "sRow[tidx] = mX[bidx, tidx]"),
                      ("unset_global", "mY[i] = mX[i] + mZ[i]")):  # fmt: skip
        number = int(said[bug]["text"].partition("kernels.py:")[2].split()[0])
        assert source[number - 1].strip().startswith(line)


@pytest.mark.parametrize("bug", kernels.BUGS)
def test_the_virtual_gpu_finds_every_mistake(bug):
    fn, (first, *others) = kernels.BUGS[bug]
    with fk.use_target("virtual"):
        x = fk.ones(*first)
        rest = [fk.empty(*shape) for shape in others]
        report = fk.sanitize(fk.compile(fn, x, *rest), x, *rest)
    assert len({finding.kind for finding in report.errors}) == 1
