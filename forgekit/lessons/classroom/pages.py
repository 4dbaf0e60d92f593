"""Grades as files: JSON, CSV, Markdown, the picture, a page for the class and one a student."""

from __future__ import annotations

import hashlib
import re
from html import escape
from pathlib import Path

from forgekit.lessons.classroom.results import ClassReport, Row, Verdict
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
        "results.json": report.json(), "results.csv": report.csv(),
        "results.md": report.markdown(), "class.svg": report.svg, "index.html": _class(report),
    }  # fmt: skip
    for student in dict.fromkeys(row.student for row in report.rows):
        rows = [row for row in report.rows if row.student == student]
        texts[f"students/{_file(student)}"] = _student(student, rows)
    for name, text in texts.items():
        write_output("--out", folder / name, text)


def _file(student: str) -> str:
    """The name of a student's page: other students have other ones."""
    plain = re.sub(r"[^\w.-]+", "_", student).strip("._")[:60]
    same = plain == student
    return (
        f"{plain}.html"
        if same
        else f"{plain}-{hashlib.sha256(student.encode()).hexdigest()[:6]}.html"
    )


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def _class(report: ClassReport) -> str:
    table = report.table
    words: dict[tuple[object, ...], str] = {
        (r.student, r.notebook, v.name): v.words
        for r in report.rows for v in r.verdicts if v.verdict != "passed"
    }  # fmt: skip
    rows = [
        [Cell(str(row[0]), link=f"students/{_file(str(row[0]))}"), *row[1:3],
         *(Cell(str(c), title=words.get((row[0], row[1], name), ""))
           for name, c in zip(table.heads[3:], row[3:], strict=True))]
        for row in table.rows
    ]  # fmt: skip
    html = Table(table.heads, rows, table.left).html()
    return _page(
        report.headline, f'<div class="wide">{report.svg}</div><div class="wide">{html}</div>'
    )


def _student(student: str, rows: list[Row]) -> str:
    parts = []
    for row in rows:
        parts.append(f"<h2>{escape(row.notebook)}</h2>")
        if row.handed_in:
            *before, last = row.handed_in
            more = f", the latest of {len(row.handed_in)}: {'; '.join(before)}" if before else ""
            parts.append(f"<p>Handed in: {escape(last + more)}</p>")
        if row.problem:
            parts.append(f"<p>Not graded: {escape(row.problem)}.</p>")
        for v in row.verdicts:
            parts += [report_html(_report(v)), *(f"<p>{escape(n)}</p>" for n in v.notes), "<br>"]
    return _page(student, "".join(parts))


def _report(v: Verdict) -> GradeReport:
    """The report that the notebook would have shown."""
    passed = tuple(Pass(name, seen) for name, seen in v.passed)
    failure = None if v.verdict == "passed" else GateError(v.happened, v.likely, v.look_at)
    left = (v.group or v.verdict, *v.left) if failure else ()
    return GradeReport(v.name, v.title, passed, left, failure, v.verdict == "open")
