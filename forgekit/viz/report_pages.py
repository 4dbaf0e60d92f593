"""Show check reports, sanitizer reports and predictions in a notebook."""

from __future__ import annotations

from html import escape

from forgekit.checking.check_report import CheckReport
from forgekit.checking.sanitize import SanitizerReport
from forgekit.profiling.predictions import Prediction, Predictions
from forgekit.show import draw
from forgekit.text import Cell, Table
from forgekit.viz.mismatch import mismatch_map
from forgekit.viz.palette import NOTE, RIGHT, WRONG


def check_html(report: CheckReport) -> str:
    """Return the report as HTML, with the first wrong elements and a picture of all wrong
    elements."""
    colour = RIGHT if report.ok else WRONG
    mark, _, rest = report.headline.partition("  ")
    parts = [f'<div><b style="color:{colour}">{mark}</b> <span>{escape(rest)}</span></div>']
    parts += [f'<div style="opacity:.85">{escape(line)}</div>' for line in report.details]
    if report.first:
        parts.append(report.table.html("margin:.3em 0;"))
    if not report.ok and not report.useless:
        parts.append(draw(mismatch_map(report), "html"))
    return _beside_bar(colour, parts)


def sanitizer_html(report: SanitizerReport) -> str:
    """Return the findings as HTML, with their kinds in colour: vermillion for errors, blue for
    notes."""
    parts = [f"<b>{escape(report.headline)}</b>"]
    for finding in report.findings:
        title, _, rest = finding.counted.partition("\n")
        colour = WRONG if finding.severity == "error" else NOTE
        parts.append(f'<div style="margin-top:8px"><b style="color:{colour}">{escape(title)}</b>'
                     f'<div style="white-space:pre-wrap">{escape(rest)}</div></div>')  # fmt: skip
    parts += [f'<div style="margin-top:8px">{escape(text)}</div>' for text in report.changes]
    return _beside_bar(RIGHT if report else WRONG, parts)


def _beside_bar(colour: str, parts: list[str]) -> str:
    style = f"border-left:4px solid {colour};padding:.2em .8em;margin:.3em 0;color:inherit"
    return f'<div style="{style}">{"".join(parts)}</div>'


def predictions_html(shown: Predictions) -> str:
    if not shown.all:
        return f"<p>{shown.summary}</p>"
    known = any(p.answer is not None for p in shown.all)
    heads = ("", "you said", "the answer") if known else ("", "you say", "")
    table = Table(heads, [_prediction(p) for p in shown.all], left=(0, 1, 2))
    note = shown.to_do and f'<div style="opacity:.7;font-size:12px">{shown.to_do}</div>'
    return table.html("font-size:13px;") + note


def _prediction(p: Prediction) -> tuple[str, Cell, str]:
    colour = f"color:{RIGHT if p.right else WRONG}"
    known = not p.open and p.answer is not None
    return p.question, Cell(p.said_text, style=colour if known else ""), p.answer_text
