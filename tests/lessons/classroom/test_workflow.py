"""The workflow for GitHub Classroom: what it runs, run on a submission."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from forgekit.lessons.classroom.sandbox import available
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


def steps():
    return yaml.safe_load(FILE.read_text("utf-8"))["jobs"]["grade"]["steps"]


def test_the_workflow_uses_what_the_course_is_tested_with():
    workflow = yaml.safe_load(FILE.read_text("utf-8"))
    assert workflow[True] == "push" and workflow["permissions"] == {"contents": "read"}
    own = {step["uses"] for job in OWN["jobs"].values() for step in job["steps"] if "uses" in step}
    assert {step["uses"] for step in steps() if "uses" in step} == own
    sudo = [step["run"] for step in steps() if "sudo" in step.get("run", "")]
    assert sudo == [s["run"] for s in OWN["jobs"]["tests"]["steps"] if "sudo" in s.get("run", "")]


@pytest.mark.skipif(bool(available()), reason="no user namespaces here: book/classroom.md")
def test_the_workflow_fails_until_all_is_passed(tmp_path):
    (tmp_path / "uv").write_text(UV)
    (tmp_path / "uv").chmod(0o755)
    summary = tmp_path / "summary.md"
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": sys.executable,
           "GITHUB_STEP_SUMMARY": str(summary), "PYTHONPATH": str(ROOT)}  # fmt: skip
    own = [step["run"] for step in steps() if "run" in step and "sudo" not in step["run"]]
    cells = ["import cutlass.cute as cute, forgekit as fk"]
    found = []
    for name in ("scale", "reverse"):  # one passed, then both
        e = exercise(f"week0/{name}")
        cells += [e.source.solution, f'fk.exercise("week0/{name}").grade({e.entry})']
        notebook(tmp_path / "submitted/practice-ana/answers.ipynb", *cells)
        found.append([subprocess.run(["bash", "-e", "-c", run], cwd=tmp_path, env=env).returncode
                      for run in own])  # fmt: skip
        said = summary.read_text()
        summary.unlink()
        assert "# practice-ana" in said and f"PASSED  week0/{name}" in said
    assert found == [[0, 1, 0], [0, 0, 0]]
