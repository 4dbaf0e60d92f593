"""Test grading: the group at which it stops, the report's text, and the stored record."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import forgekit as fk
from forgekit.errors import UsageError
from forgekit.lessons import progress, records
from forgekit.lessons.exercise import Exercise, all_exercises, exercise
from forgekit.lessons.gates import GateError, Group
from forgekit.lessons.report import GradeReport
from tests.lessons.submitted import load

NAME = "week0/scale"


@pytest.fixture(autouse=True)
def own_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGEKIT_PROGRESS", str(tmp_path / "progress.json"))


OF_WEEK_0 = sum(e.week == "week0" for e in all_exercises())


def made(*outcomes: Any, praise: str = "") -> tuple[Exercise, list[int]]:
    """Return an exercise whose groups return a text (a pass) or raise an exception, and the list of
    the groups that ran."""
    ran: list[int] = []

    def group(number: int, outcome: Any) -> Group:
        def run(_: Any) -> str:
            ran.append(number)
            if isinstance(outcome, Exception):
                raise outcome
            return str(outcome)

        return Group(f"Group {number}", run)

    groups = tuple(group(k, outcome) for k, outcome in enumerate(outcomes, start=1))
    return replace(exercise(NAME), groups=groups, praise=praise), ran


def test_a_replaced_comparison_makes_no_pass(monkeypatch):
    passing, ran = made("")
    monkeypatch.setattr("forgekit.checking.compare.compare", lambda *args, **kwargs: True)
    report = passing.grade(passing.reference())
    assert not report and not ran
    assert "compare.compare was replaced" in repr(report)
    monkeypatch.undo()
    assert passing.grade(passing.reference())


@pytest.mark.parametrize(
    "code",
    [
        "from {}.solution import scale",
        "from {}.solution import scale_kernel\n{launch}",
        "import {}.solution as it\nscale = lambda x, y: it.scale(x, y)",
        "import functools\nimport {}.solution as it\nscale = functools.partial(it.scale)",
    ],
)
def test_the_course_s_own_solution_is_refused(code, monkeypatch):
    passing, ran = made("")
    monkeypatch.syspath_prepend(passing.folder.parents[2])
    source = passing.source.solution
    code = code.replace("{launch}", source[source.index("@cute.jit") :])
    report = passing.grade(load(passing, code.format("week0_copy_transpose.exercises.scale")))
    assert not report and not ran
    assert "own solution, week0_copy_transpose/exercises/scale/solution.py" in repr(report)
    assert passing.grade(load(passing, source))


# -- the group at which grading stops ---------------------------------------------------------
def test_a_pass_runs_all_groups_and_gives_joy():
    e, ran = made("8 sizes", "", praise="Well forged.")
    report = e.grade(1)
    assert report and ran == [1, 2]
    assert repr(report).splitlines() == [
        "PASSED  week0/scale: scale a vector",
        "  [x] Group 1: 8 sizes",
        "  [x] Group 2",
        f"Well forged. Passed so far: 1 of {OF_WEEK_0} in week0.",
    ]
    assert "All gates passed." in repr(made("")[0].grade(1))


def test_it_stops_at_the_first_group_that_fails():
    failure = GateError("It is 3.\n  quoted from a tool", "off by one", "the last element")
    e, ran = made("fine", failure, "never", GateError("neither"))
    report = e.grade(1)
    assert not report and ran == [1, 2]
    assert repr(report).splitlines() == [
        "NOT YET  week0/scale: 1 of 4 groups passed",
        "  [x] Group 1: fine",
        "  [!] Group 2",
        "      It is 3.",
        "        quoted from a tool",
        "",
        "      Why: off by one",
        "",
        "      Next: the last element",
        "  [ ] Group 3",
        "  [ ] Group 4",
        'Stuck? fk.exercise("week0/scale").hint()',
    ]
    assert "Passed so far" not in repr(report)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (UsageError("x: got 3, needed 4"), "x: got 3, needed 4"),
        (TypeError("no such thing"), "cannot be graded. TypeError: no such thing"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
    ],
)
def test_no_error_of_a_gate_reaches_the_student_as_a_traceback(error, says):
    e, ran = made(error, "never")
    report = e.grade(1)
    assert not report and ran == [1] and says in repr(report) and "[ ] Group 2" in repr(report)


def test_an_error_raised_by_the_submission_names_its_line():
    e, _ = made("")
    of = Group("Call", lambda submission: submission.value((1, 2)))
    submitted = load(replace(e, entry="third"), "def third(values):\n    return values[2]\n")
    text = repr(replace(e, groups=(of,)).grade(submitted))
    assert "cell.py, line 7: return values[2]\n" in text
    assert "This line raises IndexError: tuple index out of range" in text


def test_a_missing_answer_is_no_failure_and_no_try():
    e, _ = made("fine", GateError("Write it down.", unanswered=True), "never")
    report = e.grade(1)
    assert not report and report.untouched and records.record(NAME).tries == 0
    assert repr(report).splitlines() == [
        "OPEN  week0/scale: scale a vector",
        "  [x] Group 1: fine",
        "      Write it down.",
        "  [ ] Group 2",
        "  [ ] Group 3",
    ]
    assert "&#10007;" not in report._repr_mimebundle_()["text/html"]


def test_the_skeleton_is_known_as_such():
    e, ran = made("fine")
    code = e.source.skeleton
    report = e.grade(load(e, code))
    assert report.untouched and not ran and "Fill in the lines marked FILL ME IN" in repr(report)
    spaced = code.replace("mY[i] = mX[i]", "mY[ i ]  =  mX[i]")
    assert e.grade(load(e, spaced)).untouched
    begun = code.replace("mY[i] = mX[i]", "mY[i] = 2 * mX[i]")
    assert not e.grade(load(e, begun)).untouched
    assert e.grade(load(e, e.source.solution))


# -- display -----------------------------------------------------------------------------
def shown(report: GradeReport) -> str:
    bundle = report._repr_mimebundle_()
    assert bundle["text/plain"] == repr(report)
    return bundle["text/html"]


def test_html_says_the_same_and_escapes():
    e, _ = made("a < b", GateError("is <b>3</b>\n <pre> & so on", "a & b", "x < y"), "never")
    html = shown(e.grade(1))
    for text in ("a &lt; b", "is &lt;b&gt;3", "&lt;pre&gt; &amp; so on", "a &amp; b", "x &lt; y"):
        assert text in html
    assert "NOT YET" in html and "Group 3" in html and "hint()" in html
    assert html.count("<div") == html.count("</div") and html.count("<pre") == html.count("</pre")
    code = shown(made(GateError("no", "the predicate is `i < n`", "`a`, `b"))[0].grade(1))
    assert "<code>i &lt; n</code>" in code and "<code>a</code>, `b" in code
    passed = shown(made("x")[0].grade(1))
    assert "PASSED" in passed and passed.count("<div") == passed.count("</div")


def test_no_line_is_longer_than_a_notebook_shows():
    words = "word " * 60
    e, _ = made(words, GateError(f"{words}\n    {words}\n{'x' * 150}", words, words))
    lines = repr(e.grade(1)).splitlines()
    assert max(len(x) for x in lines if "xxx" not in x) <= 102
    assert any(x == "      " + "x" * 150 for x in lines)  # does not break a long word
    assert sum(x.startswith("          word") for x in lines) >= 2  # keeps a quoted indent


# -- stored results -----------------------------------------------------------------------------
def test_tries_count_up_to_the_first_pass_and_on():
    bad, good = made(GateError("no"))[0], made("yes")[0]
    good = dataclasses.replace(good, praise="Well done.")
    reports = [e.grade(1) for e in (bad, bad, good, bad, good)]
    assert [r.closing.startswith("Well done.") for r in reports if r] == [True, False]
    known = records.record(NAME)
    assert (known.tries, known.passed_at_try, known.passed) == (5, 3, True)
    assert repr(exercise(NAME)) == "week0/scale: scale a vector (00_start_here; passed)"
    exercise(NAME).hint()
    note = exercise(NAME).reset()
    assert records.record(NAME) == records.Record(hints=1)  # keeps the record of hints
    assert "week0/scale is open again" in repr(note) and exercise(NAME).source.skeleton in note.text
    assert repr(exercise(NAME)).endswith("; open)")


def test_hints_come_one_by_one_and_the_last_stays():
    e = exercise("week0/reverse")
    notes = [e.hint() for _ in range(4)]
    assert [n.title for n in notes] == [
        "Hint 1 (2 more)", "Hint 2 (1 more)", "Hint 3 (the last)", "Hint 3 (the last)"
    ]  # fmt: skip
    assert [n.text for n in notes] == [*e.hints, e.hints[2]]
    assert repr(notes[0]) == f"Hint 1 (2 more)\n\n{e.hints[0]}"
    markdown = notes[0]._repr_mimebundle_()["text/markdown"]
    assert markdown == f"**Hint 1 (2 more)**\n\n{e.hints[0]}"
    assert records.record(e.name).hints == 3


def test_the_solution_is_shown_with_its_analysis_and_remembered():
    e = exercise(NAME)
    note = e.solution()
    assert "mY[i] = 3.0 * mX[i] + 1.0" in note.text and "fused" in note.text
    assert "[fill]" not in note.text and "#|" not in note.text
    assert records.record(NAME).solution_seen and not records.record(NAME).passed


def test_a_solution_read_after_the_pass_was_no_help():
    e = made("yes")[0]
    assert e.grade(1)
    e.solution()
    assert not records.record(NAME).solution_seen


def test_an_architecture_that_is_none_is_not_a_mistake_of_the_kernel():
    with pytest.raises(UsageError, match="arch: got 'sm_1', needed one of sm_80"):
        exercise("week0/scale").grade(lambda x, y: None, arch="sm_1")


def test_nothing_handed_in_is_told():
    with pytest.raises(UsageError, match=r"write \.grade\(scale\)"):
        exercise(NAME).grade()


def test_progress_of_one_week():
    assert {row.exercise.week for row in progress.progress("week0").rows} == {"week0"}
    with pytest.raises(UsageError, match="one of 'week0'"):
        progress.progress("week9")


# -- names ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("week0/scales", "did you mean 'week0/scale'"),
        ("scale", "did you mean 'week0/scale'"),
        ("week0/", "exercise: got 'week0/', needed the name of an exercise"),
        ("zzz", 'see fk.progress("week0")'),
        (None, "exercise: got None"),
        ("week0/solutions", "needed the name of an exercise"),  # a module, not an exercise
    ],
)
def test_an_unknown_name_is_refused_with_near_ones(name, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        fk.exercise(name)


def test_every_exercise_is_named_in_a_notebook_that_exists():
    exercises = all_exercises()
    order = [(e.week, e.notebook) for e in exercises]
    assert len(exercises) >= 19 and order == sorted(order)
    check: Callable[[str], Any] = re.compile(r"\d\d_[a-z_]+").fullmatch
    assert all(check(e.notebook) for e in all_exercises())
