"""Test the search for weeks, exercises and recorded runs, in which the nearest folder counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from forgekit import course
from forgekit.errors import UsageError

ROOT = Path(__file__).resolve().parents[1]


def make_week(folder: Path) -> Path:
    """Create a student's copy of a week: two exercises, graded in reverse order, and a recorded
    file."""
    for name in ("first", "second"):
        (folder / "exercises" / name).mkdir(parents=True)
        (folder / "exercises" / name / "exercise.py").write_text(f"NAME = {name!r}\n")
    grades = [f'fk.exercise("week1/{name}").grade()' for name in ("second", "first")]
    (folder / "01_mine.py").write_text("\n".join(grades))
    (folder / "recorded").mkdir()
    (folder / "recorded" / "01_mine.json").write_text("{}")
    return folder


@pytest.mark.parametrize("where", ["week1_reduce", "week1_reduce/exercises/first", "."])
def test_a_copy_comes_before_the_checkout(where, tmp_path, monkeypatch):
    mine = make_week(tmp_path / "week1_reduce")
    monkeypatch.chdir(tmp_path / where)
    found = course.exercise_folders()
    week1 = {name: folder for name, folder in found.items() if name.startswith("week1/")}
    assert list(week1) == ["week1/second", "week1/first"], "in the order of the notebook"
    assert week1["week1/first"] == mine / "exercises" / "first"
    assert found["week0/scale"] == ROOT / "week0_copy_transpose" / "exercises" / "scale"
    assert course.recorded_files()["week1/01_mine"] == mine / "recorded" / "01_mine.json"


def test_without_a_checkout_a_copy_of_a_week_may_have_any_name(tmp_path, monkeypatch):
    mine = make_week(tmp_path / "homework")
    monkeypatch.chdir(mine)
    monkeypatch.setattr(course, "__file__", str(tmp_path / "site" / "forgekit" / "course.py"))
    assert course.exercise_folders()["week1/first"] == mine / "exercises" / "first"


def test_a_folder_of_another_week_is_no_copy(tmp_path, monkeypatch):
    monkeypatch.chdir(make_week(tmp_path / "week1_reduce"))
    monkeypatch.setattr(course, "__file__", str(tmp_path / "site" / "forgekit" / "course.py"))
    assert {name.partition("/")[0] for name in course.exercise_folders()} == {"week1"}


def test_the_course_is_the_folder_with_its_weeks(tmp_path, monkeypatch):
    assert course.find_course(ROOT / "tests") == ROOT
    assert course.find_course(tmp_path) is None
    monkeypatch.chdir(tmp_path)
    assert course.find_course() == ROOT, "beside the package"
    assert [folder.name for folder in course.week_folders(ROOT)] == list(course.WEEKS)


def test_what_a_week_is_called_and_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert course.week_title("week0") == "Week 0: copy and transpose"
    looked = course.where_looked("week1")
    assert looked == f"week1_reduce/exercises in {tmp_path} or above it, or in {ROOT}"
    assert course.where_looked("week9") == ""


def test_parts_of_an_exercise_are_modules_of_their_folder(tmp_path):
    exercises = make_week(tmp_path) / "exercises"
    (exercises / "shared.py").write_text("VALUE = 3\n")
    (exercises / "first" / "wrong.py").write_text("from ..shared import VALUE\n")
    assert course.load_part(exercises / "first", "exercise").NAME == "first"
    assert course.load_part(exercises / "first", "wrong").VALUE == 3
    with pytest.raises(UsageError, match=r"first: got no solution\.py, needed one in its folder"):
        course.load_part(exercises / "first", "solution")
