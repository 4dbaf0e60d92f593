"""Test every exercise: its skeleton fails with a clear message, its solution passes, and the grader
identifies each mistake."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import symtable
from collections.abc import Iterator, Mapping

import pytest

import forgekit as fk
from forgekit.lessons.exercise import Exercise, all_exercises
from forgekit.lessons.report import GradeReport
from forgekit.lessons.skeleton import PLACEHOLDER
from forgekit.lessons.wrong import alternatives, wrong_solutions
from tests.lessons.submitted import load

EXERCISES = all_exercises()
# In these exercises, the submission is Python code that receives the exercise's own kernels.
NO_KERNEL = ("week0/one_kernel_per_n", "week2/softmax_operator")
exercises = pytest.mark.parametrize("e", EXERCISES, ids=lambda e: e.name)


def bank() -> Iterator[object]:
    """Yield every wrong solution. Mark a solution as weekly if an earlier one is also explained by
    a text of the same exercise, or by the same text of a gate, regardless of numbers."""
    seen: set[object] = set()
    for e in EXERCISES:
        own = words_of(e)
        for wrong in wrong_solutions(e):
            words = tuple(re.findall("[a-z]+", wrong.says.lower()))
            kind = e.name if wrong.says in own else words
            yield pytest.param(e, wrong, marks=pytest.mark.weekly if kind in seen else ())
            seen.add(kind)


def words_of(e: Exercise) -> str:
    """Return the strings in an exercise's exercise.py as one text."""
    file = ast.parse((e.folder / "exercise.py").read_text(encoding="utf-8"))
    texts = (n.value for n in ast.walk(file) if isinstance(n, ast.Constant))
    return " ".join(" ".join(text for text in texts if isinstance(text, str)).split())


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGEKIT_PROGRESS", "off")


def polite(report: GradeReport) -> bool:
    """Return True if a report contains no library internals and is not too long."""
    text = repr(report)
    inside = ("Traceback", "site-packages", "forgekit/", "object at 0x")
    return not any(word in text for word in inside) and len(text.splitlines()) < 60


@exercises
def test_skeleton_fails_politely(e):
    submission = load(e, e.source.skeleton)
    report = e.grade(submission)
    assert not report
    assert polite(report)
    assert e.source.skeleton.count(PLACEHOLDER) >= 1
    if callable(submission):
        assert report.untouched
        # the text differs from the skeleton
        swapped = e.source.skeleton.replace(PLACEHOLDER, "fill me in")
        again = e.grade(load(e, swapped))
        assert not again and not again.untouched and polite(again)


@exercises
@pytest.mark.parametrize("arch", [pytest.param("sm_80", marks=pytest.mark.weekly), None])
def test_solution_passes(e, arch):
    submission = e.reference()  # gates compare with the same kernel, which is compiled once
    if e.arch or not callable(submission):  # requires an architecture, or is not a kernel
        arch = None
    report = e.grade(submission, arch=arch)
    assert report, report
    assert polite(report)


@exercises
def test_the_solution_shown_is_the_reference(e):
    shown = ast.parse(e.source.solution).body
    whole = ast.parse(e.source.path.read_text(encoding="utf-8")).body
    assert [*map(ast.dump, shown)] == [*map(ast.dump, whole[-len(shown) :])]


@pytest.mark.gpu
@exercises
def test_solution_passes_on_a_gpu(e):
    with fk.use_target("gpu"):
        report = e.grade(load(e, e.source.solution))
    assert report, report
    if any(outcome.name == "Values" for outcome in report.passed) and e.name not in NO_KERNEL:
        assert "and on this GPU" in repr(report)


@pytest.mark.parametrize(("e", "wrong"), list(bank()), ids=lambda x: x.name.replace(" ", "-"))
def test_wrong_solution_is_told_its_mistake(e, wrong):
    report = e.grade(load(e, wrong.of(e.source.solution), "wrong"))
    assert not report
    assert wrong.says in " ".join(repr(report).split())
    assert polite(report)


OTHERS = [(e, other) for e in EXERCISES for other in alternatives(e)]
DAILY = {e.week: other for e, other in reversed(OTHERS)}.values()  # one per week
OTHERS = [pytest.param(*x, marks=() if x[1] in DAILY else pytest.mark.weekly) for x in OTHERS]


@pytest.mark.parametrize(("e", "other"), OTHERS, ids=lambda x: x.name.replace(" ", "-"))
def test_alternative_passes(e, other):
    report = e.grade(load(e, other.of(e.source.solution), "other"))
    assert report, report


@exercises
def test_a_whole_kernel_has_two_alternatives(e):
    others = [other.of(e.source.solution) for other in alternatives(e)]
    assert len({*others} - {e.source.solution}) == len(others) >= 2 * e.is_whole_kernel


def used(table: symtable.SymbolTable) -> set[str]:
    """Return the global names that code uses but does not bind."""
    names = {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    return names.union(*map(used, table.get_children()))


def bound(code: str) -> set[str]:
    table = symtable.symtable(code, "cells", "exec")
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}


@exercises
def test_solutions_use_names_that_their_notebook_has_by_then(e):
    notebook = (e.folder.parents[1] / f"{e.notebook}.py").read_text(encoding="utf-8")
    before, found, _ = notebook.partition(f'# %% exercise="{e.name}" part="skeleton"')
    assert found
    known = bound(before) | set(dir(builtins))
    for code in (e.source.solution, *(other.of(e.source.solution) for other in alternatives(e))):
        assert used(symtable.symtable(code, "cell", "exec")) - bound(code) - known == set()


def answer_table(e: Exercise) -> dict[tuple[str, object], str]:
    """Map each (question, wrong answer) to its explanation, for all groups of `answers` and
    `choices`."""
    tables: dict[tuple[str, object], str] = {}
    for group in e.groups:
        held = inspect.getclosurevars(group.run).nonlocals
        table = held.get("known", held.get("misconceptions"))
        tables |= table if isinstance(table, Mapping) else {}
    return tables


@pytest.mark.parametrize("e", list(filter(answer_table, EXERCISES)), ids=lambda e: e.name)
def test_each_wrong_answer_in_a_table_gets_its_explanation(e):
    for (question, wrong), says in answer_table(e).items():
        report = e.grade(e.reference() | {question: wrong})
        assert not report and polite(report)
        assert report.failure.likely == says, (question, wrong)


@exercises
def test_bank_tells_mistakes_apart(e):
    bank = wrong_solutions(e)
    assert len(bank) >= 3
    assert len({w.says for w in bank}) == len(bank) and all(len(w.says) > 8 for w in bank)


@exercises
def test_texts_are_complete(e):
    assert len(e.hints) == 3 and all(e.hints) and e.analysis.strip() and e.task.strip()
    assert e.title[0].islower() and not e.title.endswith(".")
    text = (e.folder / "exercise.py").read_text(encoding="utf-8")
    assert not re.search("^(import|from) cutlass", text, re.MULTILINE), "all would wait for it"
