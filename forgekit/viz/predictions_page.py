"""What a notebook shows of predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forgekit.text import Cell, Table
from forgekit.viz.palette import RIGHT, WRONG

if TYPE_CHECKING:
    from forgekit.profiling.predictions import Prediction, Predictions


def predictions_html(shown: Predictions) -> str:
    if not shown.all:
        return f"<p>{shown.summary}</p>"
    known = any(p.answer is not None for p in shown.all)
    heads = ("", "you said", "it is") if known else ("", "you say", "")
    table = Table(heads, [_prediction(p) for p in shown.all], left=(0, 1, 2))
    note = shown.to_do and f'<div style="opacity:.7;font-size:12px">{shown.to_do}</div>'
    return table.html("font-size:13px;") + note


def _prediction(p: Prediction) -> tuple[str, Cell, str]:
    colour = f"color:{RIGHT if p.right else WRONG}"
    known = not p.open and p.answer is not None
    return p.question, Cell(p.said_text, style=colour if known else ""), p.answer_text
