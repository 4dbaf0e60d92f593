"""Times recorded on a GPU, for those who have none: small JSON files in the weeks' `recorded`.

A file holds `gpu`, `date`, `versions`, `method` (how it was timed), `ceiling_gbps` (a
device-to-device copy of 1 GB in the same run, bytes read plus written) and `rows` of `step`,
`shape`, `dtype`, `ms`, `gbps`. `steps.py` writes them.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any

from forgekit.course import recorded_files
from forgekit.errors import UsageError, brief, got_needed

__all__ = ["Recorded", "RecordedRow", "recorded"]


@dataclass(frozen=True)
class RecordedRow:
    """One step at one size. ms: the median; gbps: 10^9 bytes a second, each input read once and
    each output written once."""

    step: str
    shape: tuple[int, ...]
    dtype: str
    ms: float
    gbps: float


@dataclass(frozen=True)
class Recorded:
    """A recorded run; a notebook shows it as a table, steps down, sizes and types across."""

    gpu: str
    date: str
    ceiling_gbps: float
    versions: dict[str, str]
    rows: tuple[RecordedRow, ...]

    def row(self, step: str, dtype: str, shape: tuple[int, ...] | None = None) -> RecordedRow:
        """The row of a step; the first of its shapes where none is given.

        Raises:
            UsageError: there is none.
        """
        for r in self.rows:
            if (r.step, r.dtype) == (step, dtype) and shape in (None, r.shape):
                return r
        known = ", ".join(dict.fromkeys(r.step for r in self.rows))
        raise UsageError(got_needed("step", f"{step!r}, {dtype}", f"one of {known}", "choose one"))

    def percent(self, row: RecordedRow) -> float:
        """Of the copy's bandwidth in the same run."""
        return 100 * row.gbps / self.ceiling_gbps

    @property
    def headline(self) -> str:
        return (
            f"Recorded on an {self.gpu}, {self.date}; a copy of 1 GB reached "
            f"{self.ceiling_gbps:,.0f} GB/s in the same run."
        )

    def _columns(self) -> list[tuple[tuple[int, ...], str]]:
        return list(dict.fromkeys((r.shape, r.dtype) for r in self.rows))

    def _table(self) -> list[list[str]]:
        columns = self._columns()
        cells = {(r.step, r.shape, r.dtype): r for r in self.rows}
        table = [["", *(f"{'×'.join(map(str, s))} {d}" for s, d in columns)]]
        for step in dict.fromkeys(r.step for r in self.rows):
            row = [step]
            for shape, dtype in columns:
                r = cells.get((step, shape, dtype))
                row.append(f"{r.ms:.3f} ms, {self.percent(r):.0f} %" if r else "–")
            table.append(row)
        return table

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in table]
        return "\n".join([self.headline, "", *(line.rstrip() for line in lines)])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        style = 'style="padding:3px 12px;text-align:left;border:0;background:transparent"'
        head, *rest = self._table()
        rows = "".join(
            "<tr>" + "".join(f"<td {style}>{html.escape(c)}</td>" for c in row) + "</tr>"
            for row in rest
        )
        heads = "".join(f"<th {style}>{html.escape(c)}</th>" for c in head)
        text = (
            f'<div style="font-size:13px"><p>{html.escape(self.headline)}</p>'
            f'<table style="border-collapse:collapse"><tr>{heads}</tr>{rows}</table>'
            '<p style="opacity:.65;font-size:11px">Median time; percent of that copy\'s GB/s, '
            "each input read once and each output written once.</p></div>"
        )
        return {"text/plain": repr(self), "text/html": text}


def recorded(name: str) -> Recorded:
    """The run recorded under a notebook's name, such as "week0/05_transpose".

    Raises:
        UsageError: there is none in the weeks that are found from the current folder upwards, or
            beside forgekit.
    """
    files = recorded_files()
    if name not in files:
        known = ", ".join(files) or "none: no week's folder `recorded` is found from here"
        raise UsageError(got_needed("recorded run", brief(name), f"one of {known}", "choose one"))
    data = json.loads(files[name].read_text(encoding="utf-8"))
    rows = tuple(
        RecordedRow(r["step"], tuple(r["shape"]), r["dtype"], r["ms"], r["gbps"])
        for r in data["rows"]
    )
    return Recorded(data["gpu"], data["date"], data["ceiling_gbps"], data["versions"], rows)
