"""Show benchmarks, sweeps and recorded times as tables in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from forgekit.benching.notebook.results import Benchmark, Sweep, columns, sweep_columns
from forgekit.benching.recorded import Recorded
from forgekit.text import Table


def benchmark_html(b: Benchmark) -> str:
    return _tables(b.headline, [("", columns(b))], b.notes)


def sweep_html(s: Sweep) -> str:
    return _tables(s.headline, sweep_columns(s), s.notes)


def recorded_html(r: Recorded) -> str:
    note = "Median time; percent of that copy's GB/s, each input read once and each output written "
    return _tables(r.headline, [("", r.table)], [note + "once."])


def _tables(headline: str, parts: Sequence[tuple[str, Table]], below: Sequence[str]) -> str:
    """Return tables as HTML, with a headline above and notes below. If there are several tables,
    they have titles and appear side by side.
    """
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
