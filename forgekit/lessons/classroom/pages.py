"""Grades as files: data, tables, the picture, a page for the class, feedback per student."""

from __future__ import annotations

import hashlib
import re
from html import escape
from pathlib import Path

from forgekit.lessons.classroom.exports import canvas, gradescope, moodle
from forgekit.lessons.classroom.results import ClassReport, Student
from forgekit.lessons.classroom.rows import Row, Verdict, marked, number
from forgekit.lessons.drawing import report_html
from forgekit.lessons.gates.gate import GateError
from forgekit.lessons.report import GradeReport, Pass
from forgekit.output_files import write_output
from forgekit.text import Cell, Table

_STYLE = (
    "body{font-family:system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;"
    "line-height:1.45;color-scheme:light dark}h2{margin:1.6em 0 .4em;font-size:1.05em}"
    ".wide{overflow-x:auto}"
)


def write_all(report: ClassReport, folder: Path) -> None:
    """Write them into a folder, which is made.

    Raises:
        UsageError: it cannot be written.
    """
    (folder / "students").mkdir(parents=True, exist_ok=True)
    texts = {
        "results.json": report.json(), "results.csv": report.csv(), "grades.csv": report.grades(),
        "results.md": report.markdown(), "class.svg": report.svg, "index.html": _class(report),
        "canvas.csv": canvas(report), "moodle.csv": moodle(report),
    }  # fmt: skip
    for student in report.students:
        file = f"students/{_file(student.name)}"
        texts[f"{file}.html"] = _student(report, student)
        texts[f"{file}.md"] = _student_markdown(report, student)
        said = {n: feedback(report, student, v) for n, v in student.verdicts.items()}
        texts[f"{file}.gradescope.json"] = gradescope(report, student, said)
    for name, text in texts.items():
        write_output("--out", folder / name, text)


def _file(student: str) -> str:
    """The name of a student's files: other students have other ones."""
    plain = re.sub(r"[^\w.-]+", "_", student).strip("._")[:60]
    if plain == student:
        return plain
    return f"{plain}-{hashlib.sha256(student.encode()).hexdigest()[:6]}"


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def _class(report: ClassReport) -> str:
    table, more = report.table, 3  # columns before the exercises
    rows = []
    for student, (name, *cells) in zip(report.students, table.rows, strict=True):
        words = [student.verdicts[n].words if n in student.verdicts else ""
                 for n in table.heads[more:]]  # fmt: skip
        rows.append([
            Cell(str(name), link=f"students/{_file(student.name)}.html"), *cells[: more - 1],
            *(Cell(str(c), title="" if c == "passed" else w)
              for c, w in zip(cells[more - 1 :], words, strict=True)),
        ])  # fmt: skip
    html = Table(table.heads, rows, table.left).html()
    remarks = "".join(f"<p>{escape(remark)}</p>" for remark in report.remarks)
    body = f'<div class="wide">{report.svg}</div>{remarks}<div class="wide">{html}</div>'
    return _page(report.headline, body)


def _student(report: ClassReport, student: Student) -> str:
    parts = [f"<p>{escape(line)}</p>" for line in _head(report, student)]
    for row in student.rows:
        parts.append(f"<h2>{escape(row.notebook)}</h2>")
        parts += [f"<p>{escape(line)}</p>" for line in _of_notebook(row)]
        for v in row.verdicts:
            notes = [*v.notes, _points(report, student, v)]
            parts += [report_html(_report(v)), *(f"<p>{escape(n)}</p>" for n in notes if n), "<br>"]
    return _page(student.name, "".join(parts))


def _student_markdown(report: ClassReport, student: Student) -> str:
    """The same; what a tool says stands in <pre>, which keeps its columns and lets no mark in."""
    parts = [f"# {marked(student.name)}", *map(marked, _head(report, student))]
    for row in student.rows:
        parts += [f"## {marked(row.notebook)}", *map(marked, _of_notebook(row))]
        parts += [f"<pre>{escape(feedback(report, student, v))}</pre>" for v in row.verdicts]
    return "\n\n".join(parts) + "\n"


def feedback(report: ClassReport, student: Student, v: Verdict) -> str:
    """What a student reads of a verdict, as plain text."""
    notes = [*v.notes, _points(report, student, v)]
    return "\n".join([_report(v).summary, *filter(None, notes)])


def _head(report: ClassReport, student: Student) -> list[str]:
    comment = [f"Comment: {student.comment}"] if student.comment else []
    nothing = [] if student.rows else ["Nothing was handed in."]
    return [f"Points: {report.score(student)}", *comment, *nothing]


def _of_notebook(row: Row) -> list[str]:
    lines = []
    if row.handed_in:
        *before, last = row.handed_in
        more = f", the latest of {len(row.handed_in)}: {'; '.join(before)}" if before else ""
        lines.append(f"Handed in: {last}{more}")
    return [*lines, f"Not graded: {row.problem}."] if row.problem else lines


def _points(report: ClassReport, student: Student, v: Verdict) -> str:
    """What a verdict earns, or why it does not count."""
    if v.name not in report.worth:
        return ""
    if student.verdicts[v.name] is not v:
        return "Another submission of this exercise counts."
    return f"Points: {number(student.points[v.name])} of {number(report.worth[v.name])}"


def _report(v: Verdict) -> GradeReport:
    """The report that the notebook would have shown."""
    passed = tuple(Pass(name, seen) for name, seen in v.passed)
    failure = None if v.verdict == "passed" else GateError(v.happened, v.likely, v.look_at)
    left = (v.group or v.verdict, *v.left) if failure else ()
    return GradeReport(v.name, v.title, passed, left, failure, v.verdict == "open")
