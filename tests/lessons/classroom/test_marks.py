"""Points, the roster, reviews, and what is written for students and for other systems."""

from __future__ import annotations

import csv
import os

import pytest

from forgekit.commands.cli import main
from forgekit.errors import UsageError
from forgekit.lessons.classroom import pages, running
from forgekit.lessons.classroom.found import NO_EXERCISE
from forgekit.lessons.classroom.marks import read_roster
from forgekit.lessons.classroom.results import ClassReport
from forgekit.lessons.classroom.rows import Row, Verdict
from tests.lessons.classroom.test_classroom import GRADE, no_judges, notebook

__all__ = ["no_judges"]  # a fixture

SCALE, RAMP, OTHER = "week0/scale", "week0/ramp", "week2/softmax_operator"


def verdict(name, kind, passed=0, left=0):
    gates = [(f"g{k}", "") for k in range(passed)]
    return Verdict(name, kind, group="g", passed=gates, left=["l"] * left)


def table(file):
    return list(csv.DictReader(file.open(encoding="utf-8")))


# -- points ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("of", "share"),
    [
        (verdict(SCALE, "passed", 3), 1), (verdict(SCALE, "failed", 3, 2), 0.5),
        (verdict(SCALE, "failed", 0, 1), 0), (verdict(SCALE, "open", 2, 1), 0.5),
        (verdict(SCALE, "open", 0, 3), 0), (verdict(SCALE, "stopped", 3), 0),
        (verdict(SCALE, "missing"), 0), (verdict(SCALE, "review"), 0),
        (verdict(SCALE, "unknown"), 0),
    ],
)  # fmt: skip
def test_an_exercise_earns_the_share_of_its_gates(of, share):
    assert of.share == share


def test_one_row_per_student_with_all_times(tmp_path):
    rows = [
        Row("ana", "a", "1", "", [verdict(SCALE, "failed", 1, 1)], handed_in=["a 1"]),
        Row("ana", "b", "2", "", [verdict(RAMP, "passed"), verdict("week0/x", "unknown")],
            handed_in=["b 2"]),
        Row("bob", "c", "3", "it is a link"),
    ]  # fmt: skip
    report = ClassReport(rows)
    pages.write_all(report, tmp_path)
    assert table(tmp_path / "grades.csv") == [
        {"student": "ana", "points": "1.33", "of": "2", "handed in": "a 1; b 2", "comment": "",
         SCALE: "0.33", RAMP: "1"},
        {"student": "bob", "points": "0", "of": "2", "handed in": "c: it is a link", "comment": "",
         SCALE: "0", RAMP: "0"},
    ]  # fmt: skip
    page = (tmp_path / "index.html").read_text()
    assert page.count("<tr") == 3 and "1.33 of 2" in page
    assert "1.33 of 2" in (tmp_path / "students/ana.html").read_text()
    assert [line.split()[0] for line in report.lines()] == ["student", "ana", "bob"]


def test_the_latest_answer_counts_or_the_best(tmp_path):
    first = [verdict(SCALE, "passed"), verdict(RAMP, "failed", 1, 0)]
    second = [verdict(SCALE, "failed"), verdict(RAMP, "failed", 1, 2)]
    rows = [Row("ana", "a", "1", "", first), Row("ana", "b", "2", "", second)]
    (latest,), (best,) = ClassReport(rows).students, ClassReport(rows, best=True).students
    assert latest.points == {SCALE: 0, RAMP: 0.25} and best.points == {SCALE: 1, RAMP: 0.5}
    pages.write_all(ClassReport(rows), tmp_path)
    page = (tmp_path / "students/ana.html").read_text()
    assert page.count("Another submission of this exercise counts.") == 2


def test_best_grades_every_submission(tmp_path, no_judges):
    for name, time_s in (("b", 90_000), ("a", 100_000)):
        notebook(tmp_path / f"c/ana/{name}.ipynb", f"# {name}", GRADE)
        os.utime(tmp_path / f"c/ana/{name}.ipynb", (time_s, time_s))
    call = ["grade", str(tmp_path / "c"), "--out", str(tmp_path / "out"), "--cores", "1"]
    assert main(call) == 0 and len(no_judges) == 1
    assert main([*call, "--best"]) == 0 and len(no_judges) == 2
    (row,) = table(tmp_path / "out/grades.csv")
    assert row["handed in"].startswith("b.ipynb 1970") and "; a.ipynb 1970" in row["handed in"]


# -- the exit status ------------------------------------------------------------------------------
PASSED, OPEN = verdict(SCALE, "passed"), verdict(RAMP, "open", 0, 1)


@pytest.mark.parametrize(
    ("rows", "passed"),
    [
        ([Row("ana", "a", "", "", [PASSED])], True),
        ([Row("ana", "a", "", "", [PASSED]), Row("bob", "a", "", "", [PASSED])], True),
        ([Row("ana", "a", "", "", [PASSED]), Row("ana", "07", "", NO_EXERCISE)], True),
        ([Row("ana", "a", "", "", [PASSED]), Row("ana", "b", "", "it is a link")], False),
        ([Row("ana", "a", "", "", [PASSED, OPEN])], False),
        ([Row("ana", "a", "", "", [PASSED]), Row("bob", "a", "", "", [])], False),
        ([Row("ana", "a", "", "", [PASSED, verdict(OTHER, "review")])], False),
        ([Row("ana", "a", "", NO_EXERCISE)], False), ([], False),
    ],
)  # fmt: skip
def test_all_is_passed(rows, passed):
    assert ClassReport(rows).all_passed is passed
    assert not ClassReport(rows, roster={"ana": {}, "zoe": {}}).all_passed


def test_the_exit_status_says_if_all_is_passed(tmp_path, no_judges, monkeypatch):
    notebook(tmp_path / "c/ana/x.ipynb", GRADE)
    call = ["grade", str(tmp_path / "c"), "--out", str(tmp_path / "out"), "--cores", "1"]
    assert main([*call, "--exit-code"]) == 0
    notebook(tmp_path / "c/lost/x.ipynb", GRADE)
    assert main(call) == 0 and main([*call, "--exit-code"]) == 1

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "on_cores", interrupted)
    assert main([*call, "--exit-code"]) == 130


# -- the roster -----------------------------------------------------------------------------------
CANVAS = """\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,week0 (17)
    Points Possible,,,,,3
"Lee, Ana",4,u4,ana,A,
"Ode, Bob",5,u5,bob,A,
"Test, Student",9,,,A,
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ana\nbob\n\ncarl\n", ["ana", "bob", "carl"]),
        ("student\nbob\nana", ["bob", "ana"]),
        ("name;student\nAna;ana\nBob;bob", ["ana", "bob"]),
        (CANVAS, ["ana", "bob"]),
        ('"identifier","github_username"\n"1","ana"\n"2",""\n', ["ana"]),
        ("email,Username\r\na@x,ana\r\nb@x,zoe\r\n", ["ana", "zoe"]),
    ],
)
def test_rosters_as_others_write_them(text, names, tmp_path):
    (tmp_path / "names.csv").write_text(text, newline="")
    assert list(read_roster(tmp_path / "names.csv", ["ana", "bob"])) == names


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"ana\nana\n", "ana twice"), (b"", "without a name"), (b"\xff\xfe", "utf-8"),
        (b"student,x\n", "without a name"), (b'a"b\0,' + b"x" * 200_000, "field larger"),
        (None, "No such file"),
    ],
)  # fmt: skip
def test_what_is_no_roster(data, said, tmp_path):
    if data is not None:
        (tmp_path / "names.csv").write_bytes(data)
    with pytest.raises(UsageError, match=rf"(?s)--roster.*{said}.*needed a CSV file"):
        read_roster(tmp_path / "names.csv", ["ana"])


def test_who_handed_in_nothing_gets_a_row(tmp_path, no_judges, capsys):
    for student in ("ana", "eve"):
        notebook(tmp_path / "c" / student / "x.ipynb", GRADE)
    (tmp_path / "names.csv").write_text("zoe\nana\n")
    call = ["grade", str(tmp_path / "c"), "--out", str(tmp_path / "out"), "--cores", "1"]
    assert main([*call, "--roster", str(tmp_path / "names.csv")]) == 0
    rows = table(tmp_path / "out/grades.csv")
    assert [(r["student"], r["points"], r["handed in"][:7]) for r in rows] == [
        ("zoe", "0", "nothing"), ("ana", "1", "x.ipynb"), ("eve", "1", "x.ipynb"),
    ]  # fmt: skip
    assert "Nothing was handed in." in (tmp_path / "out/students/zoe.html").read_text()
    said = capsys.readouterr().out
    for text in (said, *((tmp_path / "out" / f).read_text() for f in ("index.html", "results.md"))):
        assert "handed in nothing: zoe" in text and "not in the roster: eve" in text
