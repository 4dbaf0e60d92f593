"""Print what the exercises do with skeletons, solutions and wrong solutions, as Markdown.

python -m tests.lessons.table
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from forgekit.lessons.exercise import Exercise, all_exercises
from forgekit.lessons.wrong import wrong_solutions
from tests.lessons.submitted import load


def row(e: Exercise, folder: Path) -> str:
    """One exercise: skeleton, solution, wrong solutions caught and told their own mistake."""
    skeleton = e.grade(load(e, e.source.skeleton, folder, "skeleton"))
    solutions = [
        bool(e.grade(load(e, e.source.solution, folder, f"solution_{arch}"), arch=arch))
        for arch in ("sm_80", "sm_90a")
    ]
    bank = wrong_solutions(e)
    caught = told = 0
    for number, wrong in enumerate(bank):
        report = e.grade(load(e, wrong.of(e.source.solution), folder, f"wrong{number}"))
        caught += not report
        told += wrong.says in " ".join(repr(report).split())
    fails = "passes" if skeleton else "fails"
    passes = "passes" if all(solutions) else "fails"
    return f"| {e.name} | {len(e.groups)} | {fails} | {passes} | {caught} of {len(bank)} | {told} |"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FORGEKIT_PROGRESS"] = "off"
        print(
            "| exercise | groups | skeleton | solution | wrong ones caught | told their mistake |"
        )
        print("|---|---|---|---|---|---|")
        for e in all_exercises():
            place = Path(folder) / e.name.replace("/", "_")
            place.mkdir()
            print(row(e, place), flush=True)


if __name__ == "__main__":
    main()
