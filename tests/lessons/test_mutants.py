"""Test mutants of solutions: how they are generated, and that the exercises reject them.

The suite runs one mutant per exercise; `python -m tests.lessons.mutants`, which the weekly workflow
calls, runs all mutants.
"""

from __future__ import annotations

import zlib

import pytest

from forgekit.lessons.exercise import Exercise, all_exercises
from tests.lessons.mutants import equivalent, mutants, survives

SOLUTION = """
    i = bidx * 128 + tidx
    total = Float32(0.0)
    if i < mX.shape[0]:
        sX[tidx] = mX[i]
    cute.arch.sync_threads()
    blocks = cute.ceil_div(mX.shape[0], 128)
    kernel(mX).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
"""


def chosen(e: Exercise) -> tuple[str, str] | None:
    """Return one mutant that is a mistake, the same in every run; None if there is none."""
    made = [(n, t) for n, t in mutants(e.source.solution).items() if n not in equivalent(e)]
    return made[zlib.crc32(e.name.encode()) % len(made)] if made else None


def test_each_kind_of_change_is_made():
    made = mutants(SOLUTION)
    assert set(made) == {
        "line 3: begins with 1.0",
        "line 4: no predicate",
        "line 4: < is <=",
        "line 5: index 1 of sX one further",
        "line 5: index 2 of mX one further",
        "line 6: nothing in its place",
        "line 7: rounded down",
        "line 8: a fixed grid",
    }
    assert all(text != SOLUTION for text in made.values())
    assert "mX[i + 1]" in made["line 5: index 2 of mX one further"]


@pytest.mark.parametrize("e", all_exercises(), ids=lambda e: e.name)
def test_a_mutant_is_refused(e, monkeypatch):
    monkeypatch.setenv("FORGEKIT_PROGRESS", "off")
    known = equivalent(e)
    assert set(known) <= set(mutants(e.source.solution)) and all(known.values())
    mutant = chosen(e)
    if mutant is not None:
        assert not survives(e, mutant[1]), mutant[0]
