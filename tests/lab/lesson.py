"""Perform a student's steps in the first notebook, and check the results."""

from __future__ import annotations

from tests.lab.notebook_page import NotebookPage

EXERCISE = "week0/scale"
GIVEN, WRONG, RIGHT = "mY[i] = mX[i]", "mY[i] = 3.0 * (mX[i] + 1.0)", "mY[i] = 3.0 * mX[i] + 1.0"
ADVICE = "before the multiplication"  # part of the message about the wrong line


def unexpected(notebook: NotebookPage) -> list[tuple[str, object]]:
    """Return the cells that did not run, failed without a tag that allows failure, did not fail
    despite such a tag, or wrote to stderr."""
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


def grade(notebook: NotebookPage, line: str, becomes: str) -> str:
    """Replace a line of the exercise's cell, run it and the grade cell, and read the report."""
    grading = notebook.find(f'fk.exercise("{EXERCISE}").grade(')
    before = [c for c in notebook.cells()[: grading.index] if c.kind == "code"]
    work = before[-1].index
    notebook.replace_line(before[-1], line, becomes)
    assert becomes in notebook.cells()[work].source
    notebook.run(before[-1])
    notebook.run(grading)
    return notebook.shown(grading)


def progress_of(notebook: NotebookPage) -> str:
    """Return the exercise's row in the progress table of its week."""
    cell = notebook.find("fk.progress(")
    notebook.replace_line(cell, "fk.progress()", 'fk.progress("week0")')
    notebook.run(cell)
    rows = notebook.shown(cell).splitlines()
    (row,) = (row for row in rows if row.startswith(f"{EXERCISE}\t"))
    return row
