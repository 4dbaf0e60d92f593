"""What a student does in a notebook, for each week, and what is to come of it."""

from __future__ import annotations

from dataclasses import dataclass

from forgekit.course import FIRST_NOTEBOOK
from tests.lab.notebook_page import NotebookPage


@dataclass(frozen=True)
class Lesson:
    """An exercise of a notebook, the skeleton's line that is to be replaced, and by what.

    advice: words of the message about the line `wrong`.
    """

    notebook: str
    exercise: str
    line: str
    wrong: str
    advice: str
    right: str


# One for each week: a notebook, and an exercise in it.
LESSONS = (
    Lesson(FIRST_NOTEBOOK, "week0/scale", "mY[i] = mX[i]", "mY[i] = 3.0 * (mX[i] + 1.0)",
           "before the multiplication", "mY[i] = 3.0 * mX[i] + 1.0"),
)  # fmt: skip


def unexpected(notebook: NotebookPage) -> list[tuple[str, object]]:
    """The cells that did not run, failed without a tag that allows it, did not fail in spite of
    one, or wrote to stderr."""
    found: list[tuple[str, object]] = []
    for cell in notebook.cells():
        if cell.kind == "code":
            if cell.count is None:
                found.append((cell.source, "not run"))
            if bool(cell.errors) != ("raises-exception" in cell.tags):
                found.append((cell.source, cell.errors))
            if cell.stderr:
                found.append((cell.source, cell.stderr))
    return found


def grade(notebook: NotebookPage, exercise: str, line: str, becomes: str) -> str:
    """Replace a line of the exercise's cell, run it and the grade, and read what that says."""
    grading = notebook.find(f'fk.exercise("{exercise}").grade(')
    before = [c for c in notebook.cells()[: grading.index] if c.kind == "code"]
    work = before[-1].index
    notebook.replace_line(before[-1], line, becomes)
    assert becomes in notebook.cells()[work].source
    notebook.run(before[-1])
    notebook.run(grading)
    return notebook.shown(grading)


def progress_of(notebook: NotebookPage, exercise: str) -> str:
    """The exercise's row in the table of its week, which is asked for in place of all weeks."""
    cell, of_week = notebook.find("fk.progress("), f'fk.progress("{exercise.partition("/")[0]}")'
    notebook.replace_line(cell, "fk.progress()", of_week)
    notebook.run(cell)
    rows = notebook.shown(cell).splitlines()
    (row,) = (row for row in rows if row.startswith(f"{exercise}\t"))
    return row
