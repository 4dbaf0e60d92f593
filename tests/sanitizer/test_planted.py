"""Test that every planted bug is found with the right kind and lines."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from tests.sanitizer import bank
from tests.sanitizer.judge import is_found_alone, judge, results_are_right
from tests.sanitizer.planted import leftovers

pytestmark = pytest.mark.usefixtures("on_the_virtual_gpu")

ROOT = Path(__file__).parents[2]
FAMILIES = bank.families()
PLANTED = bank.planted()
# These bugs are found in every order of threads and with any content of memory.
LEFTOVERS = bank.families_of(leftovers)
ALWAYS = [p for p in PLANTED if p.bug.kinds[0] == "divergent-barrier" or p.family in LEFTOVERS]
HARMLESS_LOOKING = [p for p in PLANTED if p.bug.changes_result]
MOST_SEEDS = 12  # within this number of runs, a bug that looks harmless must change a result

# Mistakes in a launch, and elements that no line writes.
WITHOUT_LINES = ("launch-limits", "unwritten-output")


def by_name(case):
    return case.name


# -- the bank itself -------------------------------------------------------------------------------
def test_the_bank_is_large_enough():
    assert len(PLANTED) >= 200
    assert len(FAMILIES) >= 100


@pytest.mark.parametrize("page", ["README.md", "book/virtual_gpu.md"])
def test_pages_give_its_size(page):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    found = re.search(r"(\d+) planted bugs.{0,40}? (\d+) correct kernels", text)
    assert found and tuple(map(int, found.groups())) == (len(PLANTED), len(FAMILIES))


def test_names_are_unique():
    for names in ([f.name for f in FAMILIES], [p.name for p in PLANTED]):
        assert not [name for name, count in Counter(names).items() if count > 1]


def test_lines_are_marked():
    for planted in PLANTED:
        has_lines = planted.bug.kinds[0] not in WITHOUT_LINES
        assert bool(planted.lines()) is has_lines, planted.name


def test_marks_name_bugs():
    for family in FAMILIES:
        marked = {name for name, _, _ in bank.marks(family)}
        assert marked <= {bug.name for bug in family.bugs}, family.name


# -- the sanitizer ---------------------------------------------------------------------------------
@pytest.mark.parametrize("planted", PLANTED, ids=by_name)
def test_planted_bug_is_found(planted):
    verdict = judge(planted)
    assert verdict.found, f"{planted.bug.what} Found: {verdict}"
    assert verdict.lines, f"marked: {sorted(planted.lines())}; found: {verdict}"
    assert not verdict.stray, verdict.stray


@pytest.mark.parametrize("planted", ALWAYS, ids=by_name)
def test_found_in_adversarial_schedules_alone(planted):
    for seed in range(4):
        assert is_found_alone(planted, seed), seed


@pytest.mark.parametrize("planted", HARMLESS_LOOKING, ids=by_name)
def test_bug_that_looks_harmless_shows_in_an_adversarial_schedule(planted):
    assert results_are_right(planted)
    assert not all(
        results_are_right(planted, schedule="adversarial", seed=seed) for seed in range(MOST_SEEDS)
    )
