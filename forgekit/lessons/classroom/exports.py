"""Grades as other systems import them: Canvas, Moodle, Gradescope."""

from __future__ import annotations

import json

from forgekit.lessons.classroom.results import ClassReport, Student
from forgekit.lessons.classroom.rows import Verdict, as_csv, number

_COLUMN = "Kernel Forge"
_CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_MOODLE = ("Username", "ID number", "Email address")


def _of_roster(report: ClassReport) -> list[Student]:
    """The students of the roster; all of them without one."""
    return [s for s in report.students if report.roster is None or s.entry is not None]


def canvas(report: ClassReport) -> str:
    """A CSV file for Canvas's gradebook: the roster's columns of these names, and the total."""
    rows = [["Points Possible", "", "", "", "", number(report.most)]]
    for s in _of_roster(report):
        known = {"Student": s.name, "SIS Login ID": s.name, **(s.entry or {})}
        rows.append([*(known.get(head, "") for head in _CANVAS), number(s.total)])
    return as_csv([*_CANVAS, _COLUMN], rows)


def moodle(report: ClassReport) -> str:
    """A CSV file for Moodle's import of grades: who, the total, the comment and what is open."""
    rows = []
    for s in _of_roster(report):
        known = {"Username": s.name, **(s.entry or {})}
        open_ = [f"{n}: {v.short}" for n, v in s.verdicts.items() if v.verdict != "passed"]
        said = "; ".join(filter(None, [s.comment, *open_]))
        rows.append([*(known.get(head, "") for head in _MOODLE), number(s.total), said])
    return as_csv([*_MOODLE, _COLUMN, "Feedback"], rows)


def gradescope(report: ClassReport, student: Student, texts: dict[str, str]) -> str:
    """One student's `results.json` for Gradescope. texts: what to show for each exercise."""
    tests = []
    for name, most in report.worth.items():
        v = student.verdicts.get(name, Verdict(name, "missing"))
        tests.append({
            "name": f"{name} {v.title}".strip(), "score": round(student.points.get(name, 0), 4),
            "max_score": most, "status": "passed" if v.verdict == "passed" else "failed",
            "output": texts.get(name, "Nothing was handed in."), "output_format": "text",
        })  # fmt: skip
    data = {"score": round(student.total, 4), "output": student.comment, "output_format": "text",
            "tests": tests}  # fmt: skip
    return json.dumps(data, indent=1) + "\n"
