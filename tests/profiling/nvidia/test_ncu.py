"""Test ncu's command line, its raw page, and the reasons for a missing page. The samples are from
an H200."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forgekit.errors import PlatformError, UsageError
from forgekit.profiling.nvidia import ncu
from tests.profiling.nvidia.conftest import SAMPLES

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / "week0_copy_transpose" / "recorded" / "ncu_metrics.csv"


def measured(text: str, *asked: str) -> dict[str, dict[str, Any]]:
    return {k["function"]: k for k in ncu.kernels(ncu.launches(text), asked)}


def test_numbers_of_a_report():
    found = measured((SAMPLES / "ncu_raw.csv").read_text())
    assert list(found) == ["naive_kernel", "tile_kernel"]
    naive, tile = found.values()
    assert (naive["launches"], naive["grid"], naive["block"]) == (2, "(32, 32, 1)", "(32, 32, 1)")
    assert naive["duration_ns"] == (17728 + 17952) / 2
    assert naive["dram_percent"] == pytest.approx((4.93 + 4.87) / 2)
    assert naive["dram_gbps"] == pytest.approx((4198912 + (1536 + 1024) / 2) / 17840)
    assert naive["load_sectors_per_request"] == 4
    assert naive["store_sectors_per_request"] == 32
    assert tile["shared_load_bank_conflicts"] == pytest.approx(1_016_000, rel=1e-3)
    wavefronts = tile["shared_load_wavefronts"]
    assert wavefronts - tile["shared_load_bank_conflicts"] == 32768
    assert (naive["registers"], naive["occupancy_limit_percent"]) == (16, 100)
    assert naive["occupancy_percent"] == pytest.approx((56.45 + 56.26) / 2)


def test_stalls_are_shares_of_a_warps_time():
    naive = measured((SAMPLES / "ncu_raw.csv").read_text())["naive_kernel"]
    assert list(naive["stalls"])[:3] == ["drain", "long scoreboard", "mio throttle"]
    assert "selected" not in naive["stalls"] and "sleeping" not in naive["stalls"]
    # 94.96 of 156.61 and 93.41 of 154.34 warps for each issued instruction
    assert naive["stalls"]["drain"] == pytest.approx(60.6, abs=0.05)


def test_another_report_has_other_columns_and_names():
    found = measured(RECORDED.read_text(), "dram__bytes_read.sum", "no__such.sum")
    assert len(found) == 11
    rows = found["transpose_padded_4_0"]
    assert rows["duration_ns"] == 147968 and rows["dram_percent"] == 72.44
    assert rows["metrics"] == {"dram__bytes_read.sum": 268443392, "no__such.sum": None}


def test_launches_of_another_size_are_another_row():
    text = (SAMPLES / "ncu_raw.csv").read_text().replace("(32, 32, 1)", "(64, 32, 1)", 2)
    assert [k["launches"] for k in ncu.kernels(ncu.launches(text))] == [1, 1, 2]


def test_what_ncu_cannot_measure_is_none():
    text = (SAMPLES / "ncu_raw.csv").read_text()
    text = text.replace('"4,198,912"', '"n/a"').replace('"17,728"', '"nan"')
    naive = measured(text)["naive_kernel"]
    assert naive["dram_gbps"] is None and naive["duration_ns"] == 17952
    assert (
        measured((SAMPLES / "ncu_unknown_metric.csv").read_text())["naive_kernel"]["stalls"] == {}
    )
    assert "–" in ncu.as_table([naive])


def test_no_page_has_no_rows():
    assert ncu.launches("==PROF== Connected\n") == []


@pytest.mark.parametrize("sample", [SAMPLES / "ncu_raw.csv", RECORDED])
def test_table(sample):
    found = ncu.kernels(ncu.launches(sample.read_text()))
    table = ncu.as_table(found)
    assert max(map(len, table.splitlines())) <= 100
    if sample == RECORDED:
        assert "transpose_shared_tile_0  520 µs    996    21      4.0      4.0   65,352 k" in table
        assert "conflicts: 97 % of load, 8 % of store wavefronts" in table
        assert "waits: drain 61 %, long scoreboard 30 %, mio throttle 2 %" in table
    else:
        assert "naive_kernel  17.8 µs   235     5      4.0     32.0          0" in table
        assert "  2 launches, grid (32, 32, 1), block (32, 32, 1)\n" in table


def test_table_of_chosen_metrics():
    found = ncu.kernels(ncu.launches(RECORDED.read_text()), ["dram__bytes_read.sum"])
    table = ncu.as_table(found[:1], ["dram__bytes_read.sum"])
    assert "dram__bytes_read.sum  280,089,344" in table and "conflicts" not in table


def options(line: list[str]) -> dict[str, str]:
    return dict(zip(line[::2], line[1::2], strict=True))


def test_options():
    line = ncu.options_of()
    given = options(line)
    assert "gpu__time_duration.sum" in given["--metrics"]
    assert "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum" in given["--metrics"]
    assert "WarpStateStats" in line and "--launch-skip" not in line
    chosen = ncu.options_of(kernel="a|b", skip=5, count=1, metrics=("a", "b"))
    given = options(chosen)
    assert given["--kernel-name"] == "regex:a|b" and "--section" not in chosen
    assert (given["--launch-skip"], given["--launch-count"]) == ("5", "1")
    full = ncu.options_of(full=True)
    assert full[full.index("--set") + 1] == "full" and "--section" not in full


@pytest.mark.parametrize(
    ("log", "kind", "words"),
    [
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
            "Performance Counters on the target device 0.\n==WARNING== No kernels were profiled.",
            PlatformError,
            ["https://developer.nvidia.com/ERR_NVGPUCTRPERM", "SYS_ADMIN", "use fk.profile"],
        ),
        (
            "==ERROR== Failed to find metric regex:^dram__bites(\\.(sum|min|max))?$",
            UsageError,
            ["--metrics: got dram__bites,", "ncu --query-metrics"],
        ),
        (
            "==WARNING== No kernels were profiled.\nAvailable Kernels:\n"
            "1. kernel_cutlass_naive_kernel_tensorptrf32_0\n2. void f(int)",
            UsageError,
            ["got 'nothing', which matches none of the launched kernels: naive_kernel, f(int),"],
        ),
        ("==WARNING== No kernels were profiled.", UsageError, ["(or none was launched on the GPU"]),
        ("==ERROR== Driver resource unavailable.", Exception, ["no report: Driver resource un"]),
        ("", Exception, ["its log is empty"]),
    ],
)
def test_why_there_is_no_report(log, kind, words):
    error = ncu.explain(log, "nothing")
    assert isinstance(error, kind)
    for word in words:
        assert word in str(error)
