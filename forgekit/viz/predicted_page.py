"""Show a predicted time in a notebook: the number with its interval, and one bar per bound."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from forgekit.profiling.predicting.model import BOUNDS
from forgekit.text import Cell, Table

if TYPE_CHECKING:
    from forgekit.profiling.predicting.predicted import PredictedTime

PREDICTED = "#CC79A7"  # Okabe and Ito's purple, never used for measurements
_BAR_PX = 260


def predicted_html(p: PredictedTime) -> str:
    """Return the prediction as HTML, with striped bars, because it is not a measurement."""
    head, colon, rest = p.headline.partition(": ")
    parts = [f'<div style="margin:4px 0 6px"><b>{escape(head)}</b>{escape(colon + rest)}</div>']
    if p.us is not None:
        most = p.bounds[p.bound]
        rows = [_row(name, us, us / most) for name, us in p.shown]
        parts.append(Table(("", "µs", ""), rows, left=(0, 2)).html("font-size:13px;"))
    notes = "<br>".join(escape(f"{note[0].upper()}{note[1:]}.") for note in p.notes)
    parts.append(f'<div style="opacity:.75;font-size:12px;margin:4px 0">{notes}</div>')
    return f'<div style="font-size:13px;line-height:1.45;max-width:800px">{"".join(parts)}</div>'


def _row(name: str, us: float, share: float) -> tuple[Cell, Cell, Cell]:
    px = max(round(_BAR_PX * share), 2)
    stripes = (f"min-width:{_BAR_PX}px;background:repeating-linear-gradient(135deg,{PREDICTED} "
               f"0 4px,transparent 4px 7px) no-repeat left center/{px}px "
               "70%;")  # fmt: skip
    text = f"{us:,.0f}" if us >= 100 else f"{us:.3g}"
    return Cell(BOUNDS[name]), Cell(text), Cell("", style=stripes)
