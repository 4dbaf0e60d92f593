"""Test the files of the course that a user's server copies before it starts."""

from __future__ import annotations

import runpy
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.conftest import ROOT

NOTEBOOK = "week0_copy_transpose/00_start_here.ipynb"
NUMBERS = "week0_copy_transpose/recorded/numbers.json"


@pytest.fixture
def copy_missing() -> Callable[[Path, Path], None]:
    return runpy.run_path(str(ROOT / "book/classroom/start_course.py"))["copy_missing"]


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Create a course that users cannot write to."""
    for name in (NOTEBOOK, NUMBERS, "pyproject.toml", "week1_reduce/.ipynb_checkpoints/a.ipynb"):
        file = tmp_path / "shared" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
        file.chmod(0o444)
    return tmp_path / "shared"


def test_a_new_user_gets_files_to_write_into(copy_missing, course, tmp_path):
    home = tmp_path / "home" / "course"
    copy_missing(course, home)
    found = {f.relative_to(home).as_posix() for f in home.rglob("*") if f.is_file()}
    assert found == {NOTEBOOK, NUMBERS}
    assert (home / NOTEBOOK).stat().st_mode & stat.S_IWUSR


def test_work_stays_and_what_is_missing_comes(copy_missing, course, tmp_path):
    home = tmp_path / "home" / "course"
    copy_missing(course, home)
    (home / NOTEBOOK).write_text("my work")
    (home / NUMBERS).unlink()
    copy_missing(course, home)
    assert (home / NOTEBOOK).read_text() == "my work"
    assert (home / NUMBERS).is_file()
