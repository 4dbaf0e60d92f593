"""No notebook passes but by its kernels, and none stops another one."""

from __future__ import annotations

import pytest

from forgekit.lessons.classroom.found import HandedIn
from forgekit.lessons.classroom.running import Judge
from forgekit.lessons.classroom.sandbox import Limits, available
from forgekit.lessons.exercise import exercise
from tests.lessons.classroom.hostile import HOSTILE, SLOW

pytestmark = pytest.mark.skipif(bool(available()), reason="no namespaces here")
NAME = "week0/scale"
GRADE = f'fk.exercise("{NAME}").grade(scale)'
START = "import forgekit as fk\nimport cutlass.cute as cute\n"


@pytest.fixture(scope="module")
def judge():
    made = Judge(Limits(seconds=5, total_seconds=40, memory_mib=1500))
    yield made
    made.close()


def verdict(judge, *cells):
    found = judge.verdicts(HandedIn("ann", "x", "x", "", cells, (), (NAME,)), lambda name: None)
    assert found is not None, "the judge was lost"
    return found[0]


def wrong(e):
    return e.source.solution.replace("3.0 * mX[i] + 1.0", "3.0 * mX[i]")


def test_solution_passes(judge):
    assert verdict(judge, START, exercise(NAME).source.solution, GRADE)["verdict"] == "passed"


@pytest.mark.parametrize(
    "cell",
    [*HOSTILE.values(), *(pytest.param(c, marks=pytest.mark.weekly) for c in SLOW.values())],
    ids=[*HOSTILE, *SLOW],
)
def test_hostile(judge, cell):
    e = exercise(NAME)
    process = judge.process
    for order in ((wrong(e), cell), (cell, wrong(e))):
        found = verdict(judge, START, *order, GRADE)
        assert found["verdict"] != "passed", found
    assert judge.process is process, "the judge was lost"
    assert verdict(judge, START, e.source.solution, GRADE)["verdict"] == "passed"
