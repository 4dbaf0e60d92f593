"""Test the comparison with a baseline: noise, slower rows, and failures that count as slower."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from forgekit.benching.suites.compare import check_baseline, compare
from forgekit.benching.suites.results import SuiteResults, SuiteRow
from forgekit.commands.bench import bench
from forgekit.errors import UsageError
from tests.benching.suites.suite_made import CASES, GPU, VIRTUAL, results
from tests.benching.suites.test_results import COUNTERS

BEFORE = {"forgekit": (1.0, 1.0, 1.0), "torch": (2.0, 2.0, 2.0)}


def test_slower_and_faster_beyond_threshold_and_noise() -> None:
    now = results({"forgekit": (1.04, 1.2, 0.8), "torch": (2.2, 2.2, 2.2)})
    found = compare(now, results(BEFORE), 5.0)
    assert [str(c) for c in found.slower] == [
        "forgekit, softmax 8×8192 float16: +20.0 %, 1.0000 ms before, 1.2000 ms now"
    ]
    assert [c.row.case for c in found.faster] == [CASES[2]]
    assert found.compared == 3 and found.peers_percent == pytest.approx(10)
    text = "\n".join(found.lines())
    assert (
        "1 slower and 1 faster by more than 5 %" in text
        and "peers' times changed by +10.0 %" in text
    )


def test_percentiles_that_overlap_are_noise() -> None:
    before = results(BEFORE, noise=0.15)
    assert not compare(results({"forgekit": (1.2, 1.2, 1.2)}, noise=0.15), before, 5.0).slower
    assert len(compare(results({"forgekit": (1.4, 1.4, 1.4)}, noise=0.15), before, 5.0).slower) == 3


def test_the_worst_is_first() -> None:
    found = compare(results({"forgekit": (1.2, 1.5, 1.3)}), results(BEFORE), 5.0)
    assert [round(c.percent) for c in found.slower] == [50, 30, 20]


def test_only_what_both_have_is_compared() -> None:
    now = results({"forgekit": (1.0, 9.0, 0), "forgekit online": (9.0, 0, 0)})
    found = compare(now, results({"forgekit": (1.0, 0, 1.0)}), 5.0)
    assert not found.slower and (found.compared, found.new, found.gone) == (1, 2, 1)
    text = "\n".join(found.lines())
    assert "2 new rows and 1 row only in the baseline" in text and text.startswith("1 row compared")


def test_a_row_that_fails_now_is_slower() -> None:
    now = results({"forgekit": (1.0, 1.0, 0)})
    now.add([SuiteRow(CASES[2], "forgekit", "wrong", 5, error="3 of 9")], GPU)
    [change] = compare(now, results(BEFORE), 5.0).slower
    assert "was correct, but is now wrong: 3 of 9" in str(change) and change.percent == math.inf
    now.rows[-1] = dataclasses.replace(now.rows[-1], status="skipped")
    assert not compare(now, results(BEFORE), 5.0).slower  # for example, for lack of memory


def counted(**changes: int) -> SuiteResults:
    made = SuiteResults("mine", "2026-01-02")
    counters = dataclasses.replace(COUNTERS, **changes)
    made.add([SuiteRow(CASES[0], "forgekit", "ok", 5, counters=counters)], VIRTUAL)
    return made


def test_counters_have_no_noise() -> None:
    assert not compare(counted(load_sectors=83), counted(), 5.0).slower
    [change] = compare(counted(load_sectors=100, warp_instructions=990), counted(), 5.0).slower
    assert "load_sectors +25.0 %, 80 before, 100 now" in change.said
    [change] = compare(counted(atomic_sectors=3), counted(), 5.0).slower
    assert "atomic_sectors" in change.said
    [change] = compare(counted(warp_instructions=450), counted(), 5.0).faster
    assert "warp_instructions -50.0 %" in change.said


def test_counters_that_are_gone_are_worse() -> None:
    now = counted()
    now.rows[0] = dataclasses.replace(now.rows[0], counters=None)
    [change] = compare(now, counted(), 5.0).slower
    assert change.said == "was counted, but now launches no kernel"
    assert not compare(counted(), now, 5.0).slower


def test_noise_is_spoken_of_where_there_are_times() -> None:
    assert (
        "by more than 5 % and beyond the noise."
        in compare(results(BEFORE), results(BEFORE), 5.0).lines()[0]
    )
    assert compare(counted(), counted(), 5.0).lines()[0].endswith("faster by more than 5 %.")


def test_a_baseline_that_is_another_suite_or_a_part_of_one_is_noted() -> None:
    before = counted()
    assert len(compare(counted(), before, 5.0).lines()) == 1
    before.suite, before.interrupted = "short", True
    _, suite, part = compare(counted(), before, 5.0).lines()
    assert (
        suite == "Note: the baseline comes from the suite short, but these results come from mine."
    )
    assert "the baseline was interrupted" in part


def test_a_gate_without_rows_is_refused() -> None:
    before = results(BEFORE)
    check_baseline(before, ["NVIDIA H200"], [(CASES[0], "forgekit")], "mine")
    for keys in ([], [(CASES[0], "torch")], [(CASES[0], "forgekit online")]):
        check_baseline(before, [], None, "short")
        with pytest.raises(UsageError, match=r"suite mine, 3 rows\) without any row from short"):
            check_baseline(before, [], keys, "short")
    before.rows.clear()
    with pytest.raises(UsageError, match="0 rows"):
        check_baseline(before, [], [(CASES[0], "forgekit")], "mine")


def test_percentages() -> None:
    def parsed(text: str) -> Any:
        return bench.make_context("bench", ["--fail-on-regression", text]).params

    found = [parsed(text)["fail_on_regression"] for text in ("5%", "2.5 %", "0%")]
    assert found == [5, 2.5, 0]
    for text in ("5", "0.05", "-1%", "%", "nan%", "inf%"):
        with pytest.raises(UsageError, match="--fail-on-regression"):
            parsed(text)
