"""Test `python -m tests.machines`: each row changes the properties that it names, and the command
reports a failure."""

from __future__ import annotations

import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests import machines
from tests.machines import ROOT, ROWS, Row


def test_rows_name_tests_that_are_there() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row.tests and all((ROOT / test).exists() for test in row.tests)


def seen(row: Row, code: str) -> str:
    """Return the output of a Python process in a row's environment."""
    with machines._surroundings(row) as (root, environment, options):
        done = subprocess.run([sys.executable, "-c", code], cwd=root, env=environment, check=True,
                              capture_output=True, text=True, **options)  # fmt: skip
    return done.stdout.strip()


def test_a_row_sets_its_environment() -> None:
    assert seen(ROWS[1], "import os; print(os.environ['OMP_NUM_THREADS'])") == "3"
    code = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    assert seen(ROWS[1], code) == "DEFAULT"


def test_a_copied_course_is_the_one_that_is_imported(tmp_path, monkeypatch) -> None:
    small = tmp_path / "course"
    shutil.copytree(ROOT / "forgekit", small / "forgekit", ignore=machines._left_behind)
    (small / ".git").mkdir()
    monkeypatch.setattr(machines, "ROOT", small)
    row = Row("path", copied=True, without=("git",), read_only_home=True)
    code = (
        "import forgekit, os, shutil; print(forgekit.__file__); print(os.path.exists('.git'));"
        "print(shutil.which('git'), bool(shutil.which('sh'))); print(os.environ['HOME'])"
    )
    file, git_folder, programs, home = seen(row, code).split("\n")
    assert "Kernel Forgé" in file and git_folder == "False"
    assert programs == "None True" and home.endswith("/home")


def test_a_row_beyond_this_cpu_is_left_out(monkeypatch) -> None:
    monkeypatch.setattr(machines, "_cpuinfo", lambda: "flags : sse2 avx2")
    rows = {row.name: row for row in ROWS}
    assert machines._why_not(rows["avx512-8"]) == "the CPU has no avx512"
    assert machines._why_not(rows["avx2-8"]) == ""


@pytest.mark.parametrize(
    ("code", "text", "failed"),
    [
        (0, "9 passed, 2 skipped in 3 s", []),
        (1, "FAILED a.py::test_b - assert\nERROR c.ipynb::Cell 3\n1 failed, 8 passed in 3 s",
         ["a.py::test_b", "c.ipynb::Cell 3"]),
        (4, "no tests ran", ["pytest ended with 4: no tests ran"]),
    ],
)  # fmt: skip
def test_failures_are_named(monkeypatch, code, text, failed) -> None:
    done = SimpleNamespace(returncode=code, stdout=text, stderr="")
    monkeypatch.setattr(machines.subprocess, "run", lambda *a, **k: done)
    result = machines.played(ROWS[0])
    assert result["failed"] == failed
    assert all(name in machines.line(result) for name in failed)
