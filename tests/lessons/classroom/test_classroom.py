"""Test how submissions are found, how verdicts are stored and written, and how a judge and a
student's process exchange messages."""

from __future__ import annotations

import base64
import csv
import json
import math
import os
import re
import socket
import subprocess
import sys
import threading
import time
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest
import torch

from forgekit.commands.cli import main
from forgekit.errors import UsageError
from forgekit.layouts import Layout
from forgekit.lessons.classroom import found, pages, running
from forgekit.lessons.classroom.found import SubmittedNotebook, find_submissions, without_grades
from forgekit.lessons.classroom.nbgrader import assignment
from forgekit.lessons.classroom.results import ClassReport
from forgekit.lessons.classroom.rows import Row, Verdict, read_lines, store, stored
from forgekit.lessons.classroom.sandbox import Limits, available
from forgekit.lessons.classroom.values import LostError
from forgekit.lessons.classroom.wire import JudgeEnd, StudentEnd
from forgekit.lessons.gates.submission import Submission
from forgekit.lessons.puzzle import Draw
from forgekit.tensors import reseeded
from tests.lessons.classroom import killed_workers

GRADE = 'fk.exercise("week0/scale").grade(scale)'


def notebook(file, *cells):
    file.parent.mkdir(parents=True, exist_ok=True)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbformat.write(book, file)


# -- found ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("files", "asked", "students"),
    [
        (["submitted/ana/p/a.ipynb", "submitted/bob/p/a.ipynb"], ".", ["ana", "bob"]),
        (["class/ana/a.ipynb", "class/bob/deep/a.ipynb"], "class", ["ana", "bob"]),
        (["class/ana.ipynb", "class/bob.ipynb"], "class", ["ana", "bob"]),
        (["ana/10_practice.ipynb"], "ana", ["ana"]),
        (["ana/10_practice.ipynb"], "ana/10_practice.ipynb", ["ana"]),
        (["ana/a.ipynb", "ana/.ipynb_checkpoints/a.ipynb"], ".", ["ana"]),
        (["c/ana/a.ipynb", "c/ana/b.ipynb"], "c", ["ana"]),
    ],
)
def test_students(files, asked, students, tmp_path):
    for file in files:
        notebook(tmp_path / file, GRADE)
    submitted, notes = find_submissions([str(tmp_path / asked)])
    assert [h.student for h in submitted] == students
    assert bool(notes) == (len(files) > len(students) and ".ipynb_" not in str(files))
    assert all(h.exercises == ("week0/scale",) for h in submitted if h.name != "10_practice")


def test_the_latest_of_a_students_submissions_counts(tmp_path):
    for name, time_s in (("b", 90_000), ("a", 100_000)):
        notebook(tmp_path / f"c/ana/{name}.ipynb", f"# {name}", GRADE)
        os.utime(tmp_path / f"c/ana/{name}.ipynb", (time_s, time_s))
    ((one,), (note,)) = find_submissions([str(tmp_path / "c")])
    assert one.name == "a" and [t.partition(" ")[0] for t in one.handed_in] == [
        "b.ipynb",
        "a.ipynb",
    ]
    assert "2 times; the latest submission counts: a.ipynb 1970-01-02 " in note
    report = ClassReport([Row("ana", "a", handed_in=list(one.handed_in))])
    page = pages._student(report, report.students[0])
    assert "a.ipynb 1970" in page and "(latest of 2; earlier: b.ipynb 1970" in page
    odd = [SubmittedNotebook("ana", "x", "x", time_s=time_s) for time_s in (-1e15, 1e15)]
    assert found._latest(odd)[0][0].handed_in == ("x.ipynb (invalid time)",) * 2


def test_links_and_pipes_are_refused_with_a_row(tmp_path):
    notebook(tmp_path / "c/ana/x.ipynb", GRADE)
    (tmp_path / "c/bob").mkdir()
    (tmp_path / "c/bob/x.ipynb").symlink_to(tmp_path / "c/ana/x.ipynb")
    (tmp_path / "c/carl.b").symlink_to(tmp_path / "c/ana")
    (tmp_path / "c/dora/deep").mkdir(parents=True)
    (tmp_path / "c/dora/deep/link").symlink_to(tmp_path / "c/ana")
    (tmp_path / "c/dora/lib64").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "c/emil.ipynb")
    submitted, _ = find_submissions([str(tmp_path / "c")])
    problems = {h.student: h.problem for h in submitted}
    link = "it is a link; submit the notebook itself"
    assert problems == {
        "ana": "", "bob": link, "carl.b": link, "dora": link,
        "emil": "it is not a regular file; submit the notebook",
    }  # fmt: skip
    (alone,), _ = find_submissions([str(tmp_path / "c/bob/x.ipynb")])
    assert alone.problem == link and alone.handed_in == ()


def test_a_notebook_with_a_byte_order_mark(tmp_path):
    notebook(tmp_path / "x.ipynb", GRADE)
    (tmp_path / "x.ipynb").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "x.ipynb").read_bytes())
    assert found.read(tmp_path / "x.ipynb", "ana").exercises == ("week0/scale",)


def test_files_beside_a_notebook_travel_along(tmp_path):
    for place in ("c/ana", "c"):
        notebook(tmp_path / place / "x.ipynb", GRADE)
        (tmp_path / place / "helper.py").write_text("X = 1")
        (tmp_path / place / "much.bin").write_bytes(bytes(1 << 20))
        (tmp_path / place / "link.py").symlink_to("/etc/passwd")
    ((other, one), _) = find_submissions([str(tmp_path / "c")])
    other, one = sorted((other, one), key=lambda h: h.student != "ana")[::-1]
    assert set(other.files) == {"week0_helpers.py"}, "the course's own always do"
    assert set(one.files) == {"week0_helpers.py", "helper.py"}
    assert one.files["helper.py"] == base64.b64encode(b"X = 1").decode()
    (tmp_path / "c/ana/helper.py").write_text("X = 2")
    assert found.read(tmp_path / "c/ana/x.ipynb", "ana", True).digest != one.digest


def test_a_notebook_that_is_too_large(tmp_path):
    with (tmp_path / "x.ipynb").open("wb") as file:
        file.truncate((32 << 20) + 1)
    assert found.read(tmp_path / "x.ipynb", "ana").problem == "it is larger than 32 MiB"


def test_a_course_notebook_owes_all_its_exercises(tmp_path):
    notebook(tmp_path / "00_start_here.ipynb", GRADE)
    assert found.read(tmp_path / "00_start_here.ipynb", "ana").exercises == (
        "week0/scale", "week0/reverse", "week0/ramp",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not a Jupyter notebook"), ("[" * 5000, "not a Jupyter notebook"),
        ('{"cells": 3}', "not a Jupyter notebook"), ("\0\xff", "not a Jupyter notebook"),
        (nbformat.writes(nbformat.v4.new_notebook()), "no exercise from this course"),
    ],
)  # fmt: skip
def test_what_cannot_be_graded_says_why(content, problem, tmp_path):
    (tmp_path / "x.ipynb").write_text(content)
    assert problem in found.read(tmp_path / "x.ipynb", "ana").problem


def test_an_exercise_of_another_version(tmp_path):
    notebook(tmp_path / "x.ipynb", GRADE, 'fk.exercise("week0/gone").grade(x)')
    assert found.read(tmp_path / "x.ipynb", "ana").unknown == ("week0/gone",)


@pytest.mark.parametrize("paths", [["nowhere"], ["."]])
def test_no_notebooks(paths, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"needed notebooks"):
        find_submissions(paths)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a = 1\n" + GRADE, "a = 1\n"), (f"r = {GRADE}\nr", "\nr"),
        (f'a = """\x0c\n\u2028"""\r\n{GRADE}\r\nb', 'a = """\x0c\n\u2028"""\n\nb'),
        (f"if 1:\n    {GRADE}\nb", "\n\nb"), (f"%time 1\n{GRADE}", "%time 1\n"),
        ("fk.exercise('week0/scale').hint()", "fk.exercise('week0/scale').hint()"),
    ],
)  # fmt: skip
def test_grades_are_taken_out_of_cells(text, left):
    assert without_grades(text) == left


def test_grades_are_taken_out_in_linear_time():
    began = time.monotonic()
    many = "a = 1\n" * 20_000 + GRADE + "\n" + "b = 2; " * 20_000
    assert without_grades(many) == many.replace(GRADE, "")
    assert time.monotonic() - began < 10


# -- between judge and student --------------------------------------------------------------------
@pytest.fixture
def pair():
    """Yield the judge's end of a connection, and the functions that the student's end serves."""
    ours, theirs = socket.socketpair()
    serves = {}
    student = StudentEnd(theirs, serves)
    thread = threading.Thread(target=student.serve, daemon=True)
    thread.start()
    yield JudgeEnd(ours, {}), student.serves
    ours.close()
    thread.join(5)


X = torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, 10**30, -0.0, math.inf, "text", b"\0bytes", ..., (1, [2, {"a": (None,)}]),
        {(1, 2): 3}, np.float32(1.1), torch.float16, torch.device("cpu"), Layout((2, 3), (1, 2)),
    ],
    ids=repr,
)  # fmt: skip
def test_values_travel(value, pair):
    judge, serves = pair
    serves["same"] = lambda x: x
    back = judge.ask("same", value)
    assert type(back) is type(value) and repr(back) == repr(value)


@pytest.mark.parametrize("x", [X, X.T, X[1:, ::2], X.half(), X[:0], X.to(torch.bfloat16)[1:]])
def test_tensors_travel_as_they_lie_in_memory(x, pair):
    judge, serves = pair
    serves["told"] = lambda x: (tuple(x.shape), x.stride(), x.storage_offset(), x.data_ptr() % 64)
    serves["double"] = lambda x: x + x
    serves["fill"] = lambda x: x.fill_(7)
    told = tuple(x.shape), x.stride(), x.storage_offset(), x.data_ptr() % 64
    x = x.clone() if x.is_contiguous() and not x.storage_offset() else x
    assert judge.ask("told", x)[:3] == told[:3]
    assert torch.equal(judge.ask("double", x), x + x)
    before = x.clone()
    assert judge.ask("fill", x) is x and torch.equal(x, before)  # only "call" writes tensors back
    serves["take"] = lambda: lambda x: x.fill_(7)
    assert judge.ask("take")(x) is x and bool((x == 7).all())
    X.copy_(torch.arange(12.0).reshape(3, 4))


def test_no_answer_writes_into_other_tensors(pair):
    judge, serves = pair
    secret, given = torch.zeros(3), torch.zeros(3)
    held = []
    serves["keep"] = lambda x: held.append(x)
    serves["take"] = lambda: lambda x: (held[0].fill_(1), [held[0]])[1]
    judge.ask("keep", secret)
    (back,) = judge.ask("take")(given)
    assert back is secret and not secret.any() and not given.any()


def test_functions_and_objects_stay(pair):
    judge, serves = pair
    serves["apply"] = lambda f, x: f(x) + x
    serves["make"] = lambda: lambda x: x + 1

    class Own:
        def __init__(self, n):
            self.n = n

        def __add__(self, other):
            return Own(self.n + other.n)

    assert judge.ask("apply", lambda x: Own(10 * x.n), Own(2)).n == 22
    assert judge.ask("make")(4) == 5


def test_errors_travel(pair):
    judge, serves = pair
    serves["raise"] = lambda: {}["x"]
    serves["call_"] = lambda f: f()
    with pytest.raises(KeyError):
        judge.ask("raise")
    mine = ZeroDivisionError("mine")

    def fail():
        raise mine

    with pytest.raises(ZeroDivisionError) as caught:
        judge.ask("call_", fail)
    assert caught.value is mine


@pytest.mark.parametrize(
    "answer",
    [
        b"{", b"[]", b"3", b'{"return": {"what": 1}}', b'{"return": [1]}', b'{"raise": 3}',
        b'{"return": {"yours": 99}}', b'{"return": {"array": ["O", [1], ""], "scalar": false}}',
        b'{"return": {"tensor": ["float32", [9], [1], 0, ""], "number": 1, "mine": true}}',
        b'{"return": {"dtype": "load"}}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_what_cannot_be_read_ends_it(answer):
    ours, theirs = socket.socketpair()
    theirs.sendall(len(answer).to_bytes(4, "little") + answer)
    with pytest.raises(LostError):
        JudgeEnd(ours, {}).ask("run")


def test_silence_ends_it():
    ours, theirs = socket.socketpair()
    judge, interrupts = JudgeEnd(ours, {}), []
    judge.seconds, judge.on_silence = 0.01, lambda: interrupts.append(theirs.close())
    with pytest.raises(LostError):
        judge.ask("run")
    assert len(interrupts) == 1


def test_the_judge_asks_while_it_meets_a_need(pair):
    judge, serves = pair
    serves["twice"], serves["call_"] = lambda x: 2 * x, lambda f, x: f(x) + 1
    assert judge.ask("call_", lambda x: judge.ask("twice", x), 5) == 11
    assert judge.ask("call_", lambda x: judge.ask("call_", lambda y: 3 * y, x), 5) == 17


def test_needs_give_no_more_time(pair):
    judge, serves = pair
    serves["same"], serves["calls"] = lambda x: x, lambda f: [f() for _ in range(60)]
    judge.seconds = 0.5
    with pytest.raises(LostError, match="in time"):
        judge.ask("calls", lambda: judge.ask("same", time.sleep(0.05)))


# -- results --------------------------------------------------------------------------------------
ROWS = [
    Row("ana", "p", "k1", "", [Verdict("week0/scale", "passed", "x", passed=[("Values", "9")])]),
    Row("b|b", "p", "k2", "", [Verdict("week0/scale", "failed", "scale", "Values", "wrong\nhere",
                                       "=the + 1 is missing.", "", [], ["More"])]),
    Row("=cmd", "p", "k3", "it is not a Jupyter notebook"),
    Row("dora", "p", "k4", "", [Verdict("week0/scale", "stopped", happened="<script>")]),
]  # fmt: skip


def test_results_as_files(tmp_path):
    report = ClassReport(ROWS)
    assert stored(tmp_path / "out") == []
    for row in ROWS:
        store(tmp_path / "out", row)
    assert stored(tmp_path / "out") == ROWS
    assert "'=the + 1" in report.csv() and "'=cmd" in report.csv()
    assert "b\\|b" in report.markdown()
    assert "1 × Values: =the + 1 is missing." in repr(report)
    pages.write_all(report, tmp_path / "out")
    page = (tmp_path / "out/students/dora.html").read_text()
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert len(list((tmp_path / "out/students").glob("*.html"))) == 4
    svg = (tmp_path / "out/class.svg").read_text()
    pages.write_all(ClassReport(ROWS), tmp_path / "again")
    assert (tmp_path / "again/class.svg").read_text() == svg


@pytest.mark.parametrize("data", [b"[]", b"{}", b"x", b'{"student": 3}\n', b'{"student": "a"}'])
def test_other_files_are_no_grades(data):
    with pytest.raises(ValueError):
        read_lines(data)


def test_a_line_that_was_cut_off_costs_that_line_alone(tmp_path):
    for row in ROWS[:2]:
        store(tmp_path, row)
    file = tmp_path / "results.jsonl"
    whole = file.read_bytes()
    for cut in (1, 5, 40):
        file.write_bytes(whole + whole[:cut])
        assert stored(tmp_path) == ROWS[:2]
        store(tmp_path, ROWS[2])
        assert stored(tmp_path) == ROWS[:3]


NASTY = "\x1b[2J\ud800\r=1+1\x00\u202e\ufffe<img src=x onerror=1>[a](javascript:1)`<b>`|\r\n=2"


def test_files_are_safe_to_open(tmp_path, capsys):
    """Every text contains control characters, formulas, HTML, links and a lone surrogate."""
    verdict = Verdict("week0/scale", "failed", NASTY, NASTY, NASTY, NASTY, NASTY, [(NASTY, NASTY)],
                      [NASTY], [NASTY])  # fmt: skip
    names = [NASTY, f"\r{NASTY}", "\t=1", "\n=1", "\uff1d1", os.fsdecode(b"Jos\xe9"), "é"]
    rows = [Row(n, n, "k", "", [verdict], handed_in=[n]) for n in names] + [
        Row("p", "p", "", NASTY)
    ]
    report = ClassReport(rows)
    pages.write_all(report, tmp_path)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    for file in files:
        text = file.read_bytes().decode()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ufffe]", text), file
        assert "<img" not in text or file.suffix in (".csv", ".json"), file
    ElementTree.parse(tmp_path / "class.svg")
    marked = (tmp_path / "results.md").read_text()
    assert "[a](" not in marked.replace("\\[", "") and "\\[a" in marked
    tables = [csv.reader(file.open()) for file in tmp_path.glob("*.csv")]
    cells = [cell for table in tables for row in table for cell in row]
    assert not [c for c in cells if c.strip().startswith(tuple("=+-@\uff1d"))]
    assert len(files) == 8 + 3 * (len(names) + 1)
    print("\n".join(report.lines()))
    assert "\x1b" not in capsys.readouterr().out


@pytest.fixture
def no_judges(monkeypatch):
    """Grade notebooks with a fake judge."""
    graded = []

    def verdicts(self, submitted: SubmittedNotebook):
        graded.append(submitted.student)
        if submitted.student == "crash" and graded.count("crash") < 2:
            return None
        if submitted.student == "lost":
            return None
        return [{"name": name, "verdict": "passed"} for name in submitted.exercises]

    monkeypatch.setattr(running.Judge, "verdicts", verdicts)
    monkeypatch.setattr("forgekit.lessons.classroom.sandbox.available", lambda: "")
    return graded


def test_only_what_is_new_is_graded(tmp_path, no_judges, capsys):
    for student in ("ana", "bob", "crash", "lost"):
        notebook(tmp_path / "class" / student / "x.ipynb", f"# {student}", GRADE)
    call = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--cores", "1"]
    assert main(call) == 0
    assert sorted(no_judges) == ["ana", "bob", "crash", "crash", "lost", "lost"]
    first = (tmp_path / "out/results.json").read_text()
    data = {row["student"]: row["verdicts"][0]["verdict"] for row in json.loads(first)["rows"]}
    assert data == {"ana": "passed", "bob": "passed", "crash": "passed", "lost": "stopped"}
    no_judges.clear()
    notebook(tmp_path / "class/bob/x.ipynb", "# bob again", GRADE)
    assert main(call) == 0
    assert sorted(no_judges) == ["bob", "lost", "lost"]  # interrupted notebooks are tried again
    assert "unchanged and not graded again: 2" in capsys.readouterr().out
    no_judges.clear()
    assert main([*call, "--again"]) == 0
    assert set(no_judges) == {"ana", "bob", "crash", "lost"}


def test_seeds_are_new_in_each_run_and_can_be_given(tmp_path, no_judges, monkeypatch):
    notebook(tmp_path / "ana/x.ipynb", GRADE)
    judged, seeds = running.Judge.verdicts, []

    def verdicts(self, submitted):
        seeds.append(submitted.seed)
        return judged(self, submitted)

    monkeypatch.setattr(running.Judge, "verdicts", verdicts)
    call = ["grade", str(tmp_path / "ana"), "--out", str(tmp_path / "out"), "--cores", "1"]
    assert main(call) == main([*call, "--again"]) == main([*call, "--seed", "7"]) == 0
    assert len({*seeds}) == 3 and seeds[2] == 7 and min(seeds[:2]) > 2**20
    assert main([*call, "--seed", "7"]) == main(call) == 0 and len(seeds) == 3
    assert json.loads((tmp_path / "out/results.json").read_text())["rows"][0]["seed"] == 7


def test_a_seed_changes_what_kernels_get():
    def drawn():
        draw, submission = Draw(torch.float32), Submission(3)
        return [draw(8), draw(8), draw.integers(0, 1000, 8), draw.places(8), submission.seed]

    usual, again = drawn(), drawn()
    with reseeded(2**51 + 5):
        other, same = drawn(), drawn()
    assert list(map(repr, usual)) == list(map(repr, again))
    assert list(map(repr, other)) == list(map(repr, same))
    assert all(repr(a) != repr(b) for a, b in zip(usual, other, strict=True))
    assert not torch.equal(other[0], other[1])


def test_what_is_there_is_not_overwritten(tmp_path, no_judges, capsys):
    notebook(tmp_path / "ana/x.ipynb", GRADE)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/results.json").write_text("{}")
    assert main(["grade", str(tmp_path / "ana"), "--out", str(tmp_path / "out")]) == 2
    assert "contains other files" in capsys.readouterr().err and no_judges == []


def test_names_of_any_bytes_and_letters(tmp_path, no_judges, capsys):
    for name in (b"Jos\xe9", b"\x1b[31mred", "é".encode()):
        notebook(tmp_path / "class" / os.fsdecode(name) / "x.ipynb", GRADE)
    call = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--cores", "1"]
    assert main(call) == 0 and len(no_judges) == 3
    assert main(call) == 0 and len(no_judges) == 3  # the names identify earlier submissions
    text = (tmp_path / "out/results.csv").read_text()
    assert "Jos\\udce9" in text and "\\x1b[31mred" in text and "\x1b" not in capsys.readouterr().out


KILLED = """
import sys, time
from forgekit.commands.cli import main
from forgekit.lessons.classroom import running, sandbox
sandbox.available = lambda: ""
def verdicts(self, submitted):
    if submitted.student == "carl":
        print("carl", flush=True)
        time.sleep(60)
    return [{"name": name, "verdict": "passed"} for name in submitted.exercises]
running.Judge.verdicts = verdicts
main(sys.argv[1:])
"""


def test_what_is_graded_survives_a_kill(tmp_path, no_judges):
    for student in ("ana", "bob", "carl", "dora"):
        notebook(tmp_path / "class" / student / "x.ipynb", f"# {student}", GRADE)
    call = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--cores", "1"]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, *call], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        assert process.stdout.read(4) == b"carl"
        file = tmp_path / "out/results.jsonl"
        for _ in range(200):
            if file.exists() and file.read_bytes().count(b"\n") == 2:
                break
            time.sleep(0.05)
        process.kill()
    assert main(call) == 0 and sorted(no_judges) == ["carl", "dora"]


def test_an_interrupted_second_round_keeps_the_first(tmp_path, no_judges, monkeypatch, capsys):
    for student in ("ana", "bob"):
        notebook(tmp_path / "class" / student / "x.ipynb", f"# {student}", GRADE)
    call = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--cores", "1"]
    assert main(call) == 0

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "on_cores", interrupted)
    assert main([*call, "--again"]) == 130 and "2 not graded" in capsys.readouterr().out
    assert (tmp_path / "out/results.csv").read_text().count("passed") == 2


def test_a_full_disk_is_said_and_keeps_what_is_there(tmp_path, no_judges, monkeypatch, capsys):
    for student in ("ana", "bob"):
        notebook(tmp_path / "class" / student / "x.ipynb", f"# {student}", GRADE)
    call = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--cores", "1"]
    synced = []

    def sync(number):
        synced.append(number)
        if len(synced) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", sync)
    assert main(call) == 2 and "No space left" in capsys.readouterr().err
    no_judges.clear()
    assert main(call) == 0 and len(no_judges) <= 1


def test_no_sandbox_here(tmp_path, no_judges, monkeypatch, capsys):
    monkeypatch.setattr("forgekit.lessons.classroom.sandbox.available", lambda: "unshare: no")
    notebook(tmp_path / "ana/x.ipynb", GRADE)
    assert main(["grade", str(tmp_path / "ana"), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "unshare: no" in said and "--no-sandbox" in said and no_judges == []


def test_limits_are_plain_data():
    assert Limits(**json.loads(json.dumps(vars(Limits())))) == Limits()


# -- nbgrader -------------------------------------------------------------------------------------
def test_cells_for_nbgrader():
    new = nbformat.v4
    book = new.new_notebook(cells=[
        new.new_code_cell("1"), new.new_code_cell("skeleton"), new.new_code_cell(GRADE),
        new.new_markdown_cell("<details><summary>Solution of exercise 1</summary>\n\nx</details>"),
    ])  # fmt: skip
    cells = assignment(book).cells
    marks = [cell.metadata.get("nbgrader") for cell in cells]
    assert marks[0] is None and len(cells) == 3
    assert marks[1]["solution"] and not marks[1]["locked"] and not marks[1]["grade"]
    assert marks[2]["grade"] and marks[2]["locked"] and marks[2]["points"] == 1
    assert found.GRADES.findall(cells[2].source) == ["week0/scale"]
    assert assignment(new.new_notebook(cells=[new.new_code_cell("1")])) is None


def test_an_interrupt_while_judges_start_and_speak(monkeypatch):
    """Check that no pipe closes while a thread reads it, and that no judge remains."""
    says = "import sys, time\nfrom multiprocessing.connection import Connection\n" + (
        "pipe = Connection(int(sys.argv[1]))\npipe.send_bytes(b'[]')\n"
        "while True:\n    pipe.recv_bytes()\n    pipe.send_bytes(b'[]')\n"
    )
    monkeypatch.setattr(running, "_JUDGE", [sys.executable, "-S", "-c", says])
    pieces = [(SubmittedNotebook(f"s{k}", "x", "x"), Limits()) for k in range(400)]
    started, popen = [], subprocess.Popen

    def start(*args, **kwargs):
        started.append(popen(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    for stop in (0, 1, 5, 30):
        outcomes = running.on_cores(pieces, workers=4)
        for _ in range(stop):
            next(outcomes)
        outcomes.close()
        assert not [p for p in started if p.poll() is None]


SAYS = """
import sys, time
from multiprocessing.connection import Connection
pipe = Connection(int(sys.argv[1]))
for said in (b"[]", b"[]"):
    pipe.send_bytes(said)
pipe.recv_bytes(), pipe.recv_bytes(), time.sleep(LEFT)
"""


@pytest.mark.parametrize("left", [0, 60])
def test_a_judge_that_has_ended_or_is_silent_is_lost(left, monkeypatch):
    says = SAYS.replace("LEFT", str(left))
    monkeypatch.setattr(running, "_JUDGE", [running.sys.executable, "-c", says])
    monkeypatch.setattr(running, "_SLACK_S", 1 if left else 20)
    judge = running.Judge(Limits(total_seconds=1))
    assert judge.verdicts(SubmittedNotebook("ana", "x", "x")) == []
    assert judge.verdicts(SubmittedNotebook("ana", "x", "x")) is None


@pytest.mark.weekly
@pytest.mark.skipif(bool(available()), reason="no user namespaces here; see book/classroom.md")
def test_workers_that_are_killed_lose_no_row(tmp_path, capsys, monkeypatch):
    pytest.importorskip("distributed", reason="Dask is not installed: uv sync --extra remote")
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path), "8", "--every", "2", "--kills", "2"])
    killed_workers.main()
    said = capsys.readouterr().out
    assert said.count(", 0 rows lost") == 2 and "\n0 rows differ" in said
    assert said.count(" 0 workers killed") == 1, said


def test_students_names_alone_are_links(tmp_path):
    """Check that a cell is not a link if it happens to contain a student's name."""
    rows = [Row(name, "passed", verdicts=[Verdict("week0/scale", "passed")])
            for name in ("passed", "A & B")]  # fmt: skip
    pages.write_all(ClassReport(rows), tmp_path)
    found = re.findall(r'<a href="([^"]+)">([^<]+)</a>', (tmp_path / "index.html").read_text())
    assert [text for _, text in found] == ["passed", "A &amp; B"]
    assert all((tmp_path / file).exists() for file, _ in found)
