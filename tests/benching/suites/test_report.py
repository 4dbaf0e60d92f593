"""Test the Markdown report."""

from __future__ import annotations

import pytest

from forgekit.benching.suites.report import geometric_means, markdown
from forgekit.benching.suites.results import SuiteResults, SuiteRow
from tests.benching.suites.suite_made import CASES, GPU, VIRTUAL, results
from tests.benching.suites.test_results import COUNTERS

TIMES = {"forgekit": (0.002, 0.001, 1.0), "torch": (0.004, 0.002, 0), "quack": (0.001, 0.004, 0)}


def line(text: str, start: str) -> list[str]:
    [found] = [x for x in text.splitlines() if x.startswith(f"| {start}")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_a_table_for_each_operator() -> None:
    text = markdown(results(TIMES))
    assert "NVIDIA H200 (driver 570.1, ceiling 4,000 GB/s), 2026-01-02, commit abc" in text
    assert text.index("## softmax\n") < text.index("## reduce_sum, dim 0\n")
    head = line(text, "M × N | dtype | forgekit | torch")
    assert head[2:5] == ["forgekit", "torch", "quack"]
    cells = line(text, "1024×1000")  # 4,096,000 bytes in 2 µs
    assert cells[1:4] == ["float16", "2,048\u00a0(51\u00a0%)", "1,024\u00a0(26\u00a0%)"]
    assert cells[-2:] == ["2.0 (2.0 to 2.0)", "0.50×"]
    assert line(text, "8×8192")[-1] == "2.00×"
    widths = {x.count("|") for x in text.split("## ")[1].splitlines() if x.startswith("|")}
    assert len(widths) == 1


def test_geometric_means_over_what_both_were_timed_at() -> None:
    means = geometric_means(results(TIMES).rows)
    assert means["forgekit", "torch"] == pytest.approx((2.0, 2.0, 2))
    assert means["forgekit", "quack"] == pytest.approx((2**0.5, 0.5, 2))
    assert "forgekit is 1.41× as fast as quack (geometric mean of 2 cases; at least 0.50×)" in (
        markdown(results(TIMES))
    )


def test_trouble_is_listed() -> None:
    made = results({"forgekit": (1.0, 0, 0)})
    made.add([SuiteRow(CASES[1], "quack", "error", 5, error="E: a | b")], GPU, ["quack: not there"])
    made.add([SuiteRow(CASES[1], "forgekit", "wrong", 5, error="2 of 9 elements")], None)
    made.interrupted = True
    text = markdown(made)
    assert "- error: quack, softmax 8×8192 float16: E: a \\| b" in text
    assert "- wrong: forgekit, softmax 8×8192 float16: 2 of 9 elements" in text
    assert "- left out: quack: not there" in text and "- interrupted" in text
    assert line(text, "8×8192")[2:4] == ["wrong", "error"]
    assert "## Left out" not in markdown(results({"forgekit": (1.0, 1.0, 1.0)}))


def test_counters_of_the_virtual_gpu() -> None:
    made = SuiteResults("smoke", "2026-01-02")
    rows = [
        SuiteRow(CASES[0], "forgekit", "ok", 3840, counters=COUNTERS),
        SuiteRow(CASES[1], "forgekit", "error", 5, error="no"),
        SuiteRow(CASES[2], "forgekit", "ok", 5),
    ]
    made.add(rows, VIRTUAL)
    text = markdown(made)
    assert "No GPU is available" in text and "virtual GPU (sm_90a), 2026-01-02" in text
    cells = line(text, "1024×1000")
    assert cells[2:] == ["1", "1.00×", "8.0", "8.0", "2", "900", "7.3"]
    assert line(text, "8×8192")[2:4] == ["error", "–"]
    assert line(text, "512×300")[2:4] == ["nothing launched", "–"]


def test_host_times_and_nothing() -> None:
    made = SuiteResults("none", "2026-01-02")
    assert "no measurements" in markdown(made)
    made.add((), GPU)
    made.host_us = {"softmax": {"forgekit": 7.13, "torch": 6.6}, "reduce_sum": {"forgekit": 5.0}}
    text = markdown(made)
    assert line(text, "softmax")[2:] == ["7.1", "6.6"]
    assert line(text, "reduce_sum")[2:] == ["5.0", "–"]
