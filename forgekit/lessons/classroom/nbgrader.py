"""Write the course's notebooks for nbgrader, with skeletons to complete and locked grade cells.

A grade cell raises an exception unless its exercise passes, because nbgrader awards a cell's points
only if the cell raises none. Solutions are omitted. This module writes
`source/ASSIGNMENT/NAME.ipynb` and a configuration with which `nbgrader generate_assignment` leaves
the skeletons unchanged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forgekit.course import helper_files
from forgekit.lessons.classroom.found import GRADES
from forgekit.lessons.exercise import exercise
from forgekit.output_files import write_output

CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "kernel_forge"
# ClearSolutions is omitted, because the notebooks already contain skeletons for the students.
c.GenerateAssignment.preprocessors = [
    f"nbgrader.preprocessors.{name}"
    for name in ("IncludeHeaderFooter", "LockCells", "ClearOutput", "CheckCellMetadata",
                 "ComputeChecksums", "SaveCells", "ClearHiddenTests", "ClearMarkScheme")
]
c.ExecutePreprocessor.timeout = 300
"""
_SOLUTION = "<details><summary>Solution of exercise "


def write_assignments(notebooks: list[Path], folder: Path) -> list[str]:
    """Write nbgrader's source files to a folder; return the names of the assignments.

    Raises:
        UsageError: a file cannot be written.
    """
    import nbformat

    names = []
    for notebook in notebooks:
        book = assignment(nbformat.read(notebook, as_version=4))
        if book is None:
            continue
        name = f"{notebook.parent.name.partition('_')[0]}_{notebook.stem}"
        place = folder / "source" / name
        place.mkdir(parents=True, exist_ok=True)
        write_output("--nbgrader", place / notebook.name, nbformat.writes(book) + "\n")
        for helpers in helper_files(name.partition("_")[0]):
            write_output("--nbgrader", place / helpers.name, helpers.read_text("utf-8"))
        names.append(name)
    config = folder / "nbgrader_config.py"
    if names and not config.exists():
        write_output("--nbgrader", config, CONFIG)
    return names


def assignment(book: Any) -> Any:
    """Return the notebook with nbgrader's metadata and without solutions; None if it grades no
    exercise."""
    cells: list[Any] = []
    graded = 0
    for cell in book.cells:
        if cell.cell_type == "markdown" and cell.source.startswith(_SOLUTION):
            continue
        names = GRADES.findall(cell.source) if cell.cell_type == "code" else []
        if names:
            graded += 1
            grade_id = names[0].replace("/", "-")
            cells[-1].metadata["nbgrader"] = _mark(f"{grade_id}-answer", solution=True)
            cell.metadata["nbgrader"] = _mark(grade_id, points=1)
            entry = exercise(names[0]).entry
            cell.source = (
                f'report = fk.exercise("{names[0]}").grade({entry})\ndisplay(report)\n'
                'assert report, "not passed yet"'
            )
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        cells.append(cell)
    book.cells = cells
    return book if graded else None


def _mark(grade_id: str, *, solution: bool = False, points: int | None = None) -> dict[str, Any]:
    mark = {"grade": points is not None, "grade_id": grade_id, "locked": not solution,
            "schema_version": 3, "solution": solution, "task": False}  # fmt: skip
    return mark if points is None else {**mark, "points": points}
