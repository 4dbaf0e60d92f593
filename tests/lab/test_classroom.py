"""Test a student's first hour in JupyterLab: open the notebook, run all cells, solve an exercise
wrongly, then correctly."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from forgekit.course import FIRST_NOTEBOOK, WEEKS
from tests.lab import lesson
from tests.lab.conftest import Classroom
from tests.lab.lesson import grade, progress_of, unexpected
from tests.lab.notebook_page import NotebookPage

_MODEL = "window.jupyterapp.shell.currentWidget.context.model"
UNTOUCHED = (FIRST_NOTEBOOK, "week0_copy_transpose/03_see_layouts.ipynb")


# -- a notebook that is only opened --------------------------------------------------------
@pytest.fixture(scope="module", params=UNTOUCHED)
def opened(classroom: Classroom, request: pytest.FixtureRequest) -> Iterator[NotebookPage]:
    notebook = classroom.open(request.param)
    yield notebook
    notebook.page.close()


def test_to_leave_an_untouched_notebook_asks_nothing(opened):
    """Check that JupyterLab does not ask to save the kernel's language, which it writes into the
    notebook."""
    page = opened.page
    page.wait_for_function(f"{_MODEL}.getMetadata('language_info')?.version")
    assert page.evaluate(f"{_MODEL}.dirty") is False
    page.evaluate(f"{_MODEL}.setMetadata('of', 'the student')")
    assert page.evaluate(f"{_MODEL}.dirty") is True
    page.evaluate(f"{_MODEL}.deleteMetadata('of')")


def test_no_fold_shows_what_is_to_be_predicted(opened):
    """Check folded outputs, of which JupyterLab shows the first line by default."""
    shown = {opened.fold(cell) for cell in opened.cells() if cell.folded}
    assert shown == {"folded away: predict, then run this cell"}


def test_exercises_stand_in_boxes(opened):
    boxed = {}
    for cell in (c for c in opened.cells() if c.kind == "markdown"):
        text = opened.node(cell).query_selector(".jp-RenderedMarkdown")
        boxed[cell.source[:12]] = text.evaluate("(n) => getComputedStyle(n).borderLeftWidth")
    assert {name for name, width in boxed.items() if width == "5px"} == {
        name for name in boxed if name.startswith("### Exercise")
    }


def test_pictures_show_before_anything_has_run(opened):
    assert not opened.trusted(), "it was to be opened as it was downloaded"
    missing = {}
    for cell in opened.cells():
        if cell.folded:
            opened.unfold(cell)
        if cell.pictures:
            widths = opened.picture_widths(cell)
            if len(widths) < cell.pictures or 0 in widths:
                missing[cell.index] = (cell.pictures, widths)
    assert missing == {}


def test_each_lesson_stands_in_the_list_of_files_once(classroom):
    root, week = (classroom.listed(folder) for folder in ("", WEEKS[0]))
    assert root == sorted(WEEKS)
    lessons = {p.name for p in (classroom.course / WEEKS[0]).glob("*.ipynb")}
    assert week == sorted(lessons | {"README.md", "week0_helpers.py"})  # there is no paired .py


def test_no_news_are_offered(classroom):
    setting = "lab/api/settings/@jupyterlab/apputils-extension:notification"
    assert classroom.asked(setting)["schema"]["properties"]["fetchNews"]["default"] == "false"


# -- a complete session -------------------------------------------------------------
@pytest.fixture(scope="module")
def ran(classroom: Classroom) -> Iterator[NotebookPage]:
    """Return the notebook that `forgekit lab` opens, run from top to bottom."""
    notebook = classroom.open()
    notebook.run_all()
    yield notebook
    notebook.page.close()


def test_no_unexpected_error_stands_anywhere(ran):
    assert unexpected(ran) == []


def test_an_exercise_wrongly_then_rightly(ran, classroom):
    wrong = grade(ran, lesson.GIVEN, lesson.WRONG)
    assert lesson.ADVICE in wrong and "PASSED" not in wrong
    assert "PASSED" in grade(ran, lesson.WRONG, lesson.RIGHT)
    assert "passed on try 2" in progress_of(ran)
    kept = json.loads(classroom.progress.read_text(encoding="utf-8"))["exercises"]
    assert kept[lesson.EXERCISE]["passed_at_try"] == 2
