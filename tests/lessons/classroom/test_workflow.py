"""Test the statements of book/classroom.md, and run the workflow's commands on a submission."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

from forgekit.lessons.classroom import found, pages
from forgekit.lessons.classroom.marks import read_marks
from forgekit.lessons.classroom.nbgrader import _SOLUTION, assignment
from forgekit.lessons.classroom.results import ClassReport
from forgekit.lessons.classroom.rows import Row, Verdict
from forgekit.lessons.classroom.sandbox import Limits, available
from forgekit.lessons.exercise import exercise
from tests.lessons.classroom.test_classroom import notebook

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "book/classroom/github_classroom.yml"
OWN = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))
UV = """#!/bin/sh
[ "$1 $2 $3 $4" = "run --project course forgekit" ] || exit 9
shift 4
exec "$PYTHON" -m forgekit "$@"
"""
PAGE = (ROOT / "book/classroom.md").read_text("utf-8")


def test_the_limits_that_the_page_states():
    limits = Limits()
    stated = [limits.seconds, limits.total_seconds, limits.memory_mib, limits.files_mib,
              limits.processes, found._MOST_MIB, found._BESIDE_MIB]  # fmt: skip
    table = PAGE.partition("| limit per submission")[2].partition("\n\n")[0].splitlines()[2:]
    numbers = [re.findall(r"\d[\d,]*", row)[0].replace(",", "") for row in table]
    assert list(map(float, numbers)) == stated


def test_the_columns_and_files_that_the_page_states(tmp_path):
    report = ClassReport([Row("NAME", "a", "", "", [Verdict("week0/scale", "passed")])])
    pages.write_all(report, tmp_path)
    heads = {file: (tmp_path / file).read_text().partition("\n")[0].split(",")
             for file in ("canvas.csv", "moodle.csv")}  # fmt: skip
    for file, columns in heads.items():
        (row,) = [row for row in PAGE.splitlines() if row.startswith(f"| `{file}`")]
        at = [row.index(f"`{column}`") for column in columns]
        assert at == sorted(at)
    for file in tmp_path.rglob("*.*"):
        name = file.relative_to(tmp_path).as_posix()  # listed as `results.csv`, `.json`, `.md`
        named = {name, name.replace("results.", "."), name.replace("students/", "")}
        assert file.name == "class.svg" or any(f"`{n}`" in PAGE for n in named), file


def test_the_review_that_the_page_shows():
    marks = read_marks(ROOT / "book/classroom/review.toml")
    assert len(marks.points) == len(marks.reviews) == 2


def test_the_notebooks_to_hand_out():
    """Check that the notebooks for nbgrader lack the solutions and that each practice notebook has
    its exercises."""
    practice = {"week0_copy_transpose": 5, "week1_reduce": 12, "week2_softmax": 10}
    for notebook_ in ROOT.glob("week*/*.ipynb"):
        book = nbformat.read(notebook_, as_version=4)
        assert _SOLUTION in str(book)
        assert _SOLUTION not in str(assignment(book))
        if notebook_.stem.endswith("practice"):
            exercises = found.read(notebook_, "ana").exercises
            assert len(exercises) == practice[notebook_.parent.name]


def steps():
    return yaml.safe_load(FILE.read_text("utf-8"))["jobs"]["grade"]["steps"]


def test_the_workflow_uses_what_the_course_is_tested_with():
    workflow = yaml.safe_load(FILE.read_text("utf-8"))
    assert workflow[True] == "push" and workflow["permissions"] == {"contents": "read"}
    own = {step["uses"] for job in OWN["jobs"].values() for step in job["steps"] if "uses" in step}
    assert {step["uses"] for step in steps() if "uses" in step} == own
    sudo = [step["run"] for step in steps() if "sudo" in step.get("run", "")]
    assert sudo == [s["run"] for s in OWN["jobs"]["tests"]["steps"] if "sudo" in s.get("run", "")]


@pytest.mark.skipif(bool(available()), reason="no user namespaces here; see book/classroom.md")
def test_the_workflow_fails_until_all_is_passed(tmp_path):
    (tmp_path / "uv").write_text(UV)
    (tmp_path / "uv").chmod(0o755)
    summary = tmp_path / "summary.md"
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": sys.executable,
           "GITHUB_STEP_SUMMARY": str(summary), "PYTHONPATH": str(ROOT)}  # fmt: skip
    own = [step["run"] for step in steps() if "run" in step and "sudo" not in step["run"]]
    cells = ["import cutlass.cute as cute, forgekit as fk"]
    ends = []
    for name in ("scale", "reverse"):  # first one exercise passes, then both
        e = exercise(f"week0/{name}")
        cells += [e.source.solution, f'fk.exercise("week0/{name}").grade({e.entry})']
        notebook(tmp_path / "submitted/practice-ana/answers.ipynb", *cells)
        ends.append([subprocess.run(["bash", "-e", "-c", run], cwd=tmp_path, env=env).returncode
                      for run in own])  # fmt: skip
        said = summary.read_text()
        summary.unlink()
        assert "# practice-ana" in said and f"PASSED  week0/{name}" in said
    assert ends == [[0, 1, 0], [0, 0, 0]]
