"""What a notebook shows of checks, sanitizer reports, predictions and benchmarks: HTML.

Colours are the page's own, or such as read on white and on black.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from forgekit.benching.notebook import tables
from forgekit.checking.sanitize import counted
from forgekit.show import draw
from forgekit.text import Cell, Table
from forgekit.viz.mismatch import mismatch_map

if TYPE_CHECKING:
    from forgekit.benching.notebook.results import Benchmark, Sweep
    from forgekit.benching.recorded import Recorded
    from forgekit.checking.check_report import CheckReport
    from forgekit.checking.sanitize import SanitizerReport
    from forgekit.profiling.pictures import Pictures
    from forgekit.profiling.predictions import Prediction, Predictions

# Okabe-Ito's bluish green, vermillion and blue.
_GREEN, _RED, _BLUE = "#009E73", "#D55E00", "#0072B2"


def check_html(report: CheckReport) -> str:
    """The report, the first wrong elements, and the picture of all of them."""
    colour = _GREEN if report.ok else _RED
    mark, _, rest = report.headline.partition("  ")
    parts = [f'<div><b style="color:{colour}">{mark}</b> <span>{escape(rest)}</span></div>']
    parts += [f'<div style="opacity:.85">{escape(line)}</div>' for line in report.details]
    if report.first:
        parts.append(report.table.html("margin:.3em 0;"))
    if not report.ok and not report.useless:
        parts.append(draw(mismatch_map(report), "html"))
    return _beside_bar(colour, parts)


def sanitizer_html(report: SanitizerReport) -> str:
    """The findings, each with its kind in colour: vermillion for errors, blue for notes."""
    parts = [f"<b>{escape(report.headline)}</b>"]
    for finding in report.findings:
        title, _, rest = counted(finding).partition("\n")
        colour = _RED if finding.severity == "error" else _BLUE
        parts.append(f'<div style="margin-top:8px"><b style="color:{colour}">{escape(title)}</b>'
                     f'<div style="white-space:pre-wrap">{escape(rest)}</div></div>')  # fmt: skip
    parts += [f'<div style="margin-top:8px">{escape(text)}</div>' for text in report.changes]
    return _beside_bar(_GREEN if report else _RED, parts)


def _beside_bar(colour: str, parts: list[str]) -> str:
    style = f"border-left:4px solid {colour};padding:.2em .8em;margin:.3em 0;color:inherit"
    return f'<div style="{style}">{"".join(parts)}</div>'


def predictions_html(shown: Predictions) -> str:
    """What was said in green or vermillion beside what it is."""
    if not shown.all:
        return f"<p>{shown.summary}</p>"
    known = any(p.answer is not None for p in shown.all)
    heads = ("", "you said", "it is") if known else ("", "you say", "")
    table = Table(heads, [_prediction(p) for p in shown.all], left=(0, 1, 2))
    note = shown.to_do and f'<div style="opacity:.7;font-size:12px">{shown.to_do}</div>'
    return table.html("font-size:13px;") + note


def _prediction(p: Prediction) -> tuple[str, Cell, str]:
    colour = f"color:{_GREEN if p.right else _RED}"
    known = not p.open and p.answer is not None
    return p.question, Cell(p.said_text, style=colour if known else ""), p.answer_text


def pictures_html(shown: Pictures) -> str:
    """The pictures one under the other."""
    return "<br>".join(draw(picture, "html") for picture in shown)


# -- benchmarks ---------------------------------------------------------------------------------
def benchmark_html(b: Benchmark) -> str:
    """One table."""
    return _tables(b.headline, [("", tables.columns(b))], b.notes)


def sweep_html(s: Sweep) -> str:
    """A table for each quantity, side by side."""
    return _tables(s.headline, tables.sweep_columns(s), s.notes)


def recorded_html(r: Recorded) -> str:
    """Steps down, sizes and types across."""
    note = "Median time; percent of that copy's GB/s, each input read once and each output written "
    return _tables(r.headline, [("", r.table)], [note + "once."])


def _tables(headline: str, parts: Sequence[tuple[str, Table]], below: Sequence[str]) -> str:
    """Tables with a headline above and notes below; several stand side by side, with titles."""
    bodies = []
    for title, table in parts:
        head = f'<div style="margin:6px 0 2px;font-weight:600">{escape(title)}</div>'
        bodies.append(f"<div>{head if title else ''}{table.html()}</div>")
    small = "".join(f"<div>{escape(note)}</div>" for note in below)
    return (
        '<div style="font-size:13px;line-height:1.45;max-width:800px">'
        f'<div style="margin:4px 0 6px">{escape(headline)}</div>'
        '<div style="overflow-x:auto;display:flex;flex-wrap:wrap;gap:4px 28px">'
        f"{''.join(bodies)}</div>"
        f'<div style="opacity:.7;font-size:11px;margin:6px 0">{small}</div></div>'
    )
