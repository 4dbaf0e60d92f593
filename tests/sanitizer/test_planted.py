"""Every planted bug is found, by its name and its lines; nothing is found in correct kernels."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import forgekit as fk
from tests.sanitizer import bank
from tests.sanitizer.judge import describe, judge, results_are_right, virtual_gpu

FAMILIES = bank.families()
PLANTED = bank.planted()
HARMLESS_LOOKING = [p for p in PLANTED if p.bug.changes_result]
SEEDS = 4  # of the hostile schedules that correct kernels have to stand
MOST_SEEDS = 12  # until a bug that looks harmless has to show

# Mistakes of a launch, and elements that no line writes.
WITHOUT_LINES = ("launch-limits", "unwritten-output")


def by_name(case):
    return case.name


@pytest.fixture(autouse=True)
def on_the_virtual_gpu():
    with virtual_gpu():
        yield


# -- the bank itself -------------------------------------------------------------------------------
def test_the_bank_is_large_enough():
    assert len(PLANTED) >= 48
    assert len(FAMILIES) >= 25


def test_names_are_unique():
    for names in ([f.name for f in FAMILIES], [p.name for p in PLANTED]):
        assert not [name for name, count in Counter(names).items() if count > 1]


@pytest.mark.parametrize("planted", PLANTED, ids=by_name)
def test_lines_are_marked(planted):
    assert bool(planted.lines()) is (planted.bug.kinds[0] not in WITHOUT_LINES)


@pytest.mark.parametrize("family", FAMILIES, ids=by_name)
def test_marks_name_bugs(family):
    assert {name for name, _, _ in bank.marks(family)} <= {bug.name for bug in family.bugs}


# -- the sanitizer ---------------------------------------------------------------------------------
@pytest.mark.parametrize("planted", PLANTED, ids=by_name)
def test_planted_bug_is_found(planted):
    verdict = judge(planted)
    assert verdict.found, f"{planted.bug.what} Found: {verdict}"
    assert verdict.lines, f"marked: {sorted(planted.lines())}; found: {verdict}"
    assert not verdict.stray, verdict.stray


@pytest.mark.parametrize("family", FAMILIES, ids=by_name)
def test_correct_kernel_has_no_finding(family):
    args = family.args()
    report = fk.sanitize(bank.compile_correct(family, args), *args)
    assert not [describe(f) for f in report.findings if f.kind not in bank.NOTES]
    assert results_are_right(family)


# -- hostile schedules -----------------------------------------------------------------------------
@pytest.mark.parametrize("family", FAMILIES, ids=by_name)
def test_correct_kernel_stands_hostile_schedules(family):
    args = family.args()
    run = bank.compile_correct(family, args)
    report = fk.sanitize(run, *args, schedule="adversarial", seeds=SEEDS)
    assert not [describe(f) for f in report.findings if f.kind not in bank.NOTES]
    for seed in range(SEEDS):
        assert results_are_right(family, schedule="adversarial", seed=seed), seed


@pytest.mark.parametrize("planted", HARMLESS_LOOKING, ids=by_name)
def test_bug_that_looks_harmless_shows_in_a_hostile_schedule(planted):
    assert results_are_right(planted.family, planted)
    assert not all(
        results_are_right(planted.family, planted, schedule="adversarial", seed=seed)
        for seed in range(MOST_SEEDS)
    )
