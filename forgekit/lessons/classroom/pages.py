"""Write the results as files: tables, the picture, web pages, and files for Canvas, Moodle and
Gradescope."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from forgekit.lessons.classroom.results import ClassReport, Student
from forgekit.lessons.classroom.rows import Row, Verdict, as_csv, marked, number
from forgekit.lessons.drawing import report_html
from forgekit.lessons.gates.gate import GateError
from forgekit.lessons.report import GradeReport, Pass
from forgekit.output_files import write_output

_STYLE = (
    "body{font-family:system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;"
    "line-height:1.45;color-scheme:light dark}h2{margin:1.6em 0 .4em;font-size:1.05em}"
    ".wide{overflow-x:auto}"
)
_COLUMN = "Kernel Forge"
_CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_MOODLE = ("Username", "ID number", "Email address")


def write_all(report: ClassReport, folder: Path) -> None:
    """Write all files to a folder, which is created if needed.

    Raises:
        UsageError: a file cannot be written.
    """
    (folder / "students").mkdir(parents=True, exist_ok=True)
    texts = {
        "results.json": report.json(), "results.csv": report.csv(), "grades.csv": report.grades(),
        "results.md": report.markdown(), "class.svg": report.svg, "index.html": _class(report),
        "canvas.csv": _canvas(report), "moodle.csv": _moodle(report),
    }  # fmt: skip
    for student in report.students:
        file = f"students/{student.file}"
        texts[f"{file}.html"] = _student(report, student)
        texts[f"{file}.md"] = _student_markdown(report, student)
        texts[f"{file}.gradescope.json"] = _gradescope(report, student)
    for name, text in texts.items():
        write_output("--out", folder / name, text)


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def _class(report: ClassReport) -> str:
    remarks = "".join(f"<p>{escape(remark)}</p>" for remark in report.remarks)
    svg, table = (f'<div class="wide">{part}</div>' for part in (report.svg, report.table.html()))
    return _page(report.headline, svg + remarks + table)


def _student(report: ClassReport, student: Student) -> str:
    parts = [f"<p>{escape(line)}</p>" for line in _head(report, student)]
    for row in student.rows:
        parts.append(f"<h2>{escape(row.notebook)}</h2>")
        parts += [f"<p>{escape(line)}</p>" for line in _of_notebook(row)]
        for v in row.verdicts:
            notes = (f"<p>{escape(note)}</p>" for note in _notes(report, student, v))
            parts += [report_html(_report(v)), *notes, "<br>"]
    return _page(student.name, "".join(parts))


def _student_markdown(report: ClassReport, student: Student) -> str:
    """Return a student's page in Markdown; the feedback is preformatted, because it may contain
    tool output."""
    parts = [f"# {marked(student.name)}", *map(marked, _head(report, student))]
    for row in student.rows:
        parts += [f"## {marked(row.notebook)}", *map(marked, _of_notebook(row))]
        parts += [f"<pre>{escape(_feedback(report, student, v))}</pre>" for v in row.verdicts]
    return "\n\n".join(parts) + "\n"


def _feedback(report: ClassReport, student: Student, v: Verdict) -> str:
    """Return a verdict's feedback to the student, as plain text."""
    return "\n".join([_report(v).summary, *_notes(report, student, v)])


def _head(report: ClassReport, student: Student) -> list[str]:
    comment = [f"Comment: {student.comment}"] if student.comment else []
    nothing = [] if student.rows else ["No submission."]
    return [f"Points: {report.score(student)}", *comment, *nothing]


def _of_notebook(row: Row) -> list[str]:
    lines = []
    if row.handed_in:
        *before, last = row.handed_in
        more = f" (latest of {len(row.handed_in)}; earlier: {'; '.join(before)})" if before else ""
        lines.append(f"Submitted: {last}{more}")
    return [*lines, f"Not graded: {row.problem}."] if row.problem else lines


def _notes(report: ClassReport, student: Student, v: Verdict) -> list[str]:
    """Return a verdict's notes, then its points or the reason why it does not count."""
    if v.name not in report.worth:
        return v.notes
    if student.verdicts[v.name] is not v:
        return [*v.notes, "A different submission of this exercise counts."]
    points = f"{number(student.points[v.name])} of {number(report.worth[v.name])}"
    return [*v.notes, f"Points: {points}"]


def _report(v: Verdict) -> GradeReport:
    """Convert a verdict to the report that the notebook would have shown."""
    passed = tuple(Pass(name, seen) for name, seen in v.passed)
    failure = None if v.verdict == "passed" else GateError(v.happened, v.likely, v.look_at)
    left = (v.group or v.verdict, *v.left) if failure else ()
    return GradeReport(v.name, v.title, passed, left, failure, v.verdict == "open")


# -- files for other systems -----------------------------------------------------------------------
def _of_roster(
    report: ClassReport, heads: Sequence[str], own: str
) -> list[tuple[Student, list[str]]]:
    """Return one row for each student on the roster (for all students if there is no roster), with
    the roster's columns and the total.

    own: the heading of the column for the student's name, which is added if the roster lacks it.
    """
    students = [s for s in report.students if report.roster is None or s.entry is not None]
    known = [{heads[0]: s.name, own: s.name, **(s.entry or {})} for s in students]
    return [(s, [*(of.get(head, "") for head in heads), number(s.total)])
            for s, of in zip(students, known, strict=True)]  # fmt: skip


def _canvas(report: ClassReport) -> str:
    """Return a CSV file for Canvas's gradebook."""
    rows = [row for _, row in _of_roster(report, _CANVAS, "SIS Login ID")]
    possible = ["Points Possible", "", "", "", "", number(report.most)]
    return as_csv([*_CANVAS, _COLUMN], [possible, *rows])


def _moodle(report: ClassReport) -> str:
    """Return a CSV file for Moodle's grade import, whose feedback lists comments and the exercises
    that are not passed."""
    rows = []
    for s, row in _of_roster(report, _MOODLE, "Username"):
        open_ = [f"{n}: {v.short}" for n, v in s.verdicts.items() if v.verdict != "passed"]
        rows.append([*row, "; ".join(filter(None, [s.comment, *open_]))])
    return as_csv([*_MOODLE, _COLUMN, "Feedback"], rows)


def _gradescope(report: ClassReport, student: Student) -> str:
    """Return one student's `results.json` for Gradescope."""
    tests = []
    for name, most in report.worth.items():
        v = student.verdicts.get(name, Verdict(name, "missing"))
        answered = name in student.verdicts
        tests.append({
            "name": f"{name} {v.title}".strip(), "score": round(student.points.get(name, 0), 4),
            "max_score": most, "status": "passed" if v.verdict == "passed" else "failed",
            "output": _feedback(report, student, v) if answered else "No submission.",
            "output_format": "text",
        })  # fmt: skip
    data = {"score": round(student.total, 4), "output": student.comment, "output_format": "text",
            "tests": tests}  # fmt: skip
    return json.dumps(data, indent=1) + "\n"
