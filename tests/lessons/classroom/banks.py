"""Create the submissions of a class: the course's notebooks, filled with right and wrong solutions.

    python -m tests.lessons.classroom.banks FOLDER 60 week0_copy_transpose/10_practice.ipynb

The seed is fixed, so two calls write the same files.
"""

from __future__ import annotations

import itertools
import random
import sys
from pathlib import Path

import nbformat

from forgekit.lessons.classroom.found import GRADES
from forgekit.lessons.exercise import exercise
from forgekit.lessons.wrong import wrong_solutions


def filled(notebook: Path, answers: dict[str, str]) -> nbformat.NotebookNode:
    """Return the notebook with these answers instead of the skeletons."""
    book = nbformat.read(notebook, as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    for before, cell in itertools.pairwise(code):
        for name in GRADES.findall(cell.source):
            if name in answers:
                before.source = answers[name]
    return book


def names_in(notebook: Path) -> list[str]:
    """Return the exercises that a notebook grades, in order."""
    cells = nbformat.read(notebook, as_version=4).cells
    return [
        name for cell in cells if cell.cell_type == "code" for name in GRADES.findall(cell.source)
    ]


def answer(name: str, chance: random.Random) -> tuple[str, str]:
    """Return (kind, text) of an answer: solutions and wrong solutions are equally likely, and some
    answers are the skeleton."""
    e = exercise(name)
    imports = f"{e.source.imports}\n\n\n"
    draw = chance.random()
    if draw < 0.5:
        return "right", imports + e.source.solution
    if draw < 0.6:
        return "skeleton", e.source.skeleton
    wrong = chance.choice(wrong_solutions(e))
    return wrong.name, imports + wrong.of(e.source.solution)


def make_class(folder: Path, count: int, source: Path, assignment: str = "") -> None:
    """Write `count` submissions as nbgrader's `submitted/STUDENT/ASSIGNMENT/NAME.ipynb`."""
    names = list(dict.fromkeys(names_in(source)))
    for number in range(count):
        chance = random.Random(number)
        given = {name: answer(name, chance) for name in names}
        place = (
            folder / "submitted" / f"student{number:02}" / (assignment or source.stem) / source.name
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(filled(source, {n: text for n, (_, text) in given.items()}), place)


if __name__ == "__main__":
    make_class(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])
