"""Test that nbgrader itself grades the course's notebooks, with the same results as `forgekit
grade`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from forgekit.commands.cli import main
from forgekit.course import find_course
from forgekit.lessons.classroom.sandbox import available
from tests.lessons.classroom.banks import make_class

NAME = "week0_00_start_here"


@pytest.mark.weekly
@pytest.mark.skipif(bool(available()), reason="no user namespaces here; see book/classroom.md")
def test_nbgrader_and_forgekit_agree(tmp_path):
    api = pytest.importorskip("nbgrader.api")
    course = find_course()
    assert course is not None
    notebook = course / "week0_copy_transpose/00_start_here.ipynb"
    assert main(["build-notebooks", "--nbgrader", str(tmp_path), str(notebook)]) == 0

    def nbgrader(step: str) -> None:
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # alembic, jupyter
        environment = os.environ | {"PATH": tools, "FORGEKIT_PROGRESS": "off"}
        command = [sys.executable, "-m", "nbgrader", step, NAME]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=1200)

    nbgrader("generate_assignment")
    make_class(tmp_path, 3, tmp_path / "release" / NAME / notebook.name, NAME)
    nbgrader("autograde")
    nbgrader("generate_feedback")
    assert len(list(tmp_path.glob(f"feedback/*/{NAME}/*.html"))) == 3

    assert main(["grade", str(tmp_path / "submitted"), "--out", str(tmp_path / "grades")]) == 0
    rows = json.loads((tmp_path / "grades/results.json").read_text())["rows"]
    ours = {(row["student"], v["name"].replace("/", "-")): float(v["verdict"] == "passed")
            for row in rows for v in row["verdicts"]}  # fmt: skip
    with api.Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as book:
        theirs = {(s.student.id, g.name): g.score for s in book.assignment_submissions(NAME)
                  for n in s.notebooks for g in n.grades}  # fmt: skip
    assert theirs == ours and set(ours.values()) == {0.0, 1.0}
