"""Test points, the roster, reviews, and the files for students and for other systems."""

from __future__ import annotations

import csv
import json
import os
import re

import pytest
from markdown_it import MarkdownIt

from forgekit.commands.cli import main
from forgekit.errors import UsageError
from forgekit.lessons.classroom import pages, running
from forgekit.lessons.classroom.found import NO_EXERCISE
from forgekit.lessons.classroom.marks import Marks, read_marks, read_roster
from forgekit.lessons.classroom.results import ClassReport
from forgekit.lessons.classroom.rows import Row, Verdict, one_line, printable
from tests.lessons.classroom.test_classroom import GRADE, NASTY, no_judges, notebook

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
        {"student": "ana", "points": "1.33", "of": "2", "submitted": "a 1; b 2", "comment": "",
         SCALE: "0.33", RAMP: "1"},
        {"student": "bob", "points": "0", "of": "2", "submitted": "c: it is a link", "comment": "",
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
    assert page.count("A different submission of this exercise counts.") == 2


def test_best_grades_every_submission(tmp_path, no_judges):
    for name, time_s in (("b", 90_000), ("a", 100_000)):
        notebook(tmp_path / f"c/ana/{name}.ipynb", f"# {name}", GRADE)
        os.utime(tmp_path / f"c/ana/{name}.ipynb", (time_s, time_s))
    call = ["grade", str(tmp_path / "c"), "--out", str(tmp_path / "out"), "--cores", "1"]
    assert main(call) == 0 and len(no_judges) == 1
    assert main([*call, "--best"]) == 0 and len(no_judges) == 2
    (row,) = table(tmp_path / "out/grades.csv")
    assert row["submitted"].startswith("b.ipynb 1970") and "; a.ipynb 1970" in row["submitted"]


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


# -- reviews --------------------------------------------------------------------------------------
REVIEW = f"""
[points]
"{SCALE}" = 2
"{OTHER}" = 4

[[review]]
student = "ana"
exercise = "{OTHER}"
points = 4
comment = "Right: <b>the gradient</b>"

[[review]]
student = "bob"
exercise = "{SCALE}"
points = 0.5

[[review]]
student = "bob"
comment = "=Come and see me"

[[review]]
student = "zoe"
comment = "Where are you?"
"""


def test_a_review_settles_an_answer(tmp_path):
    (tmp_path / "review.toml").write_text(REVIEW)
    marks = read_marks(tmp_path / "review.toml")
    answers = [verdict(SCALE, "failed", 1, 2), verdict(RAMP, "passed"), verdict(OTHER, "review")]
    rows = [Row("ana", "a", "", "", [answers[1], answers[2]]), Row("bob", "a", "", "", answers)]
    report = ClassReport(rows, None, marks)
    pages.write_all(report, tmp_path)
    ana, bob = table(tmp_path / "grades.csv")
    assert ana == {"student": "ana", "points": "4", "of": "6", "submitted": "", "comment": "",
                   SCALE: "0", OTHER: "4"}  # fmt: skip
    assert (bob["points"], bob["comment"], bob[SCALE]) == ("0.5", "'=Come and see me", "0.5")
    page = (tmp_path / "students/ana.html").read_text()
    assert "Comment: Right: &lt;b&gt;the gradient" in page and "Points: 4 of 4" in page
    assert f"PASSED  {OTHER}" in page
    assert "=Come and see me" in (tmp_path / "students/bob.html").read_text()
    assert report.remarks == [f"{tmp_path / 'review.toml'}, line 21: the review matches no answer"]
    assert answers[2].verdict == rows[1].verdicts[2].verdict == "review"  # the rows do not change


def test_a_review_is_read_again_without_grading(tmp_path, no_judges, capsys, monkeypatch):
    judged = running.Judge.verdicts

    def review(self, submitted):
        return [{**v, "verdict": "review"} for v in judged(self, submitted)]

    monkeypatch.setattr(running.Judge, "verdicts", review)
    notebook(tmp_path / "c/ana/x.ipynb", GRADE)
    out = tmp_path / "out"
    call = ["grade", str(tmp_path / "c"), "--out", str(out), "--cores", "1", "--exit-code"]
    assert main(call) == 1 and no_judges == ["ana"]
    assert f"1 to review: enter your decisions in {out}/review.toml" in capsys.readouterr().out
    (out / "review.toml").write_text(f'[[review]]\nstudent="ana"\nexercise="{SCALE}"\npoints=1')
    assert main(call) == 0 and no_judges == ["ana"]
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    (out / "review.toml").write_text("[[review]]\nstudent = ana")
    before[out / "review.toml"] = b"[[review]]\nstudent = ana"
    notebook(tmp_path / "c/bob/x.ipynb", GRADE)
    assert main(call) == 2 and no_judges == ["ana"]
    assert "line 2" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before


REMEDIES = {
    'student = ana': "line 1.*put strings in quotes",
    '[[review]]\nstudent = "ana': "line 2, the end.*put strings in quotes",
    "[[review]]\nstudent = \"Jos\xe9\"": "line 2: not UTF-8.*save it as UTF-8",
    '[[review]]\nstudent = "ana"': "line 1: .*points or a comment",
    '\n[[review]]\ncomment = "x"\npoints = 1': "line 2: .*write student",
    '[[review]]\nstudent = 3\ncomment = "x"': "line 1: student = 3.*write student",
    '[[review]]\nstudent = "a"\npoint = 1': "line 1: point = 1.*write student",
    '[[review]]\nstudent = "a"\npoints = true': "line 1: points = True",
    '[[review]]\nstudent = "a"\npoints = 1': "line 1: points = 1.*name the exercise",
    f'[[review]]\nstudent = "a"\nexercise = "{SCALE}"\npoints = 2':
        f"points = 2.*{SCALE} is worth 1",
    f'[[review]]\nstudent = "a"\nexercise = "{SCALE}"\npoints = nan': "points = nan",
    f'[points]\n"{RAMP}" = 1\n[[review]]\nstudent = "a"\nexercise = "{SCALE}"\npoints = 1':
        f"line 3: points = 1.*{SCALE} is worth 0",
    '[[review]]\nstudent = "a"\ncomment = "b"\n' * 2: "line 4: a second review.*merge",
    '[points]\n"week0/scael" = 1': "line 2: .*week0/scael.*such as",
    f'[points]\n"{SCALE}" = 0': "line 2: .*= 0", f'[points]\n"{SCALE}" = "1"': "line 2: .*= '1'",
    f'[points]\n"{SCALE}" = true': "line 2", f'[points]\n"{SCALE}" = inf': "line 2",
    "x = 1": "line 1: 'x'", "[[reviews]]": "line 1: 'reviews'", "review = 3": "contains",
    "points = []": "contains", "review = [3]": "write student", "a = " + "[" * 9999: "review.toml",
    "[[review]]\nstudent = " + "9" * 9999: "review.toml",
}  # fmt: skip


@pytest.mark.parametrize("text", REMEDIES, ids=range(len(REMEDIES)))
def test_a_malformed_review_names_line_and_remedy(text, tmp_path):
    file = tmp_path / "review.toml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=rf"(?s)review.toml.*{REMEDIES[text]}") as caught:
        read_marks(file)
    assert "Nothing was graded or changed" in str(caught.value)
    assert file.read_bytes() == text.encode("latin-1")


# -- feedback and exports -------------------------------------------------------------------------
@pytest.fixture
def nasty(tmp_path):
    """Make a class in which every text consists of characters that files, pages and terminals
    interpret."""
    v = Verdict(SCALE, "failed", NASTY, NASTY, f"{NASTY}\n</pre>{NASTY}", NASTY, NASTY,
                [(NASTY, NASTY)], [NASTY], [NASTY])  # fmt: skip
    key = one_line(NASTY)
    marks = Marks(reviews={(key, ""): (None, printable(NASTY)), (key, SCALE): (0.5, NASTY)})
    roster = {key: dict.fromkeys(("Student", "ID", "Section", "Email address"), one_line(NASTY))}
    rows = [Row(NASTY, NASTY, "", "", [v], handed_in=[NASTY]), Row("=a", "b", "", NASTY)]
    report = ClassReport(rows, {**roster, "=z": {}}, marks)
    pages.write_all(report, tmp_path)
    assert report.students[0].points == {SCALE: 0.5} and len(report.students) == 3
    return tmp_path


def test_no_text_gets_out_of_its_place(nasty):
    for file in (f for f in nasty.rglob("*") if f.is_file()):
        text = file.read_bytes().decode()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ufffe]", text), file
        if file.suffix == ".csv":
            cells = [cell for row in csv.reader(file.open()) for cell in row]
            assert not [c for c in cells if c.strip().startswith(tuple("=+-@\uff1d"))], file
        elif file.suffix in (".html", ".md"):
            shown = MarkdownIt().render(text) if file.suffix == ".md" else text
            links = re.findall(r'<a href="([^"]*)"', shown)
            assert "<img" not in shown and "<b>`" not in shown, file
            assert all(link.startswith("students/") for link in links), file
            assert len(re.findall(r"<pre\b", text)) == text.count("</pre>"), file


def test_feedback_for_each_student(tmp_path):
    words = "wrong\n  0 1\n  2 3", "The + 1 is missing.", "Look"
    failed = Verdict(
        SCALE, "failed", "scale", "Values", *words, [("Form", "1")], ["More"], ["Note"]
    )
    rows = [Row("ana", "a", "", "", [failed], handed_in=["a.ipynb 1", "a.ipynb 2"])]
    pages.write_all(ClassReport(rows, {"ana": {}, "zoe": {}}), tmp_path)
    for kind in ("html", "md"):
        text = (tmp_path / f"students/ana.{kind}").read_text()
        for part in ("0.33 of 1", "wrong", "0 1\n", "The + 1 is missing.", "Look", "More", "Note",
                     "Submitted: a.ipynb 2 (latest of 2; earlier: a.ipynb 1)"):  # fmt: skip
            assert part in text, (kind, part)
        assert "No submission." in (tmp_path / f"students/zoe.{kind}").read_text()
    shown = MarkdownIt().render((tmp_path / "students/ana.md").read_text())
    assert shown.count("<h1>") == shown.count("<h2>") == shown.count("<pre>") == 1


def lines_of(file):
    return list(csv.reader(file.open(encoding="utf-8")))


def test_files_for_other_systems(tmp_path):
    """Compare the columns with those that Canvas, Moodle and Gradescope document."""
    roster = {
        "ana": {"Student": "Lee, Ana", "ID": "4", "SIS Login ID": "ana", "Section": "A"},
        "zoe": {"Username": "z", "Email address": "z@x", "ID number": "7"},
    }
    marks = Marks(reviews={("ana", ""): (None, "Good")})
    answers = [verdict(SCALE, "failed", 1, 1), verdict(RAMP, "passed")]
    rows = [Row(name, "a", "", "", answers) for name in ("ana", "eve")]
    pages.write_all(ClassReport(rows, roster, marks), tmp_path)
    assert lines_of(tmp_path / "canvas.csv") == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Kernel Forge"],
        ["Points Possible", "", "", "", "", "2"],
        ["Lee, Ana", "4", "", "ana", "A", "1.33"], ["zoe", "", "", "zoe", "", "0"],
    ]  # fmt: skip
    assert lines_of(tmp_path / "moodle.csv") == [
        ["Username", "ID number", "Email address", "Kernel Forge", "Feedback"],
        ["ana", "", "", "1.33", f"Good; {SCALE}: g"], ["z", "7", "z@x", "0", ""],
    ]  # fmt: skip
    found = json.loads((tmp_path / "students/ana.gradescope.json").read_text())
    scale, ramp = found.pop("tests")
    assert found == {"score": 1.3333, "output": "Good", "output_format": "text"}
    assert "NOT YET" in scale.pop("output") and "Points: 1 of 1" in ramp["output"]
    assert scale == {"name": SCALE, "score": 0.3333, "max_score": 1, "status": "failed",
                     "output_format": "text"}  # fmt: skip
    found = json.loads((tmp_path / "students/zoe.gradescope.json").read_text())
    assert found["score"] == 0 and {t["status"] for t in found["tests"]} == {"failed"}
    pages.write_all(ClassReport(rows), tmp_path)
    assert [row[0] for row in lines_of(tmp_path / "canvas.csv")[2:]] == ["ana", "eve"]


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
        ("\ufeffstudent,name\n Points Possible,\nAna,ana\nBob,bob\n", ["Ana", "Bob"]),
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
        (b"ana\nana\n", "ana twice"), (b"", "no names in"), (b"\xff\xfe", "utf-8"),
        (b"student,x\n", "no names in"), (b'a"b\0,' + b"x" * 200_000, "field larger"),
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
    assert [(r["student"], r["points"], r["submitted"][:7]) for r in rows] == [
        ("zoe", "0", "nothing"), ("ana", "1", "x.ipynb"), ("eve", "1", "x.ipynb"),
    ]  # fmt: skip
    assert "No submission." in (tmp_path / "out/students/zoe.html").read_text()
    said = capsys.readouterr().out
    for text in (said, *((tmp_path / "out" / f).read_text() for f in ("index.html", "results.md"))):
        assert "submitted nothing: zoe" in text and "not on the roster: eve" in text
