"""Read times that were recorded on a GPU from JSON files in the weeks' `recorded` folders, for
students without a GPU.

A file contains `gpu`, `date`, `versions`, `method` (the timing method), `ceiling_gbps` (a
device-to-device copy of 1 GB in the same run, bytes read plus written) and `rows` with `step`,
`shape`, `dtype`, `ms`, `gbps`. `steps.py` writes these files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from forgekit.course import recorded_files
from forgekit.errors import brief, usage_error
from forgekit.show import Shown
from forgekit.text import Table


@dataclass(frozen=True)
class RecordedRow:
    """The time of a step at one size. ms: the median; gbps: the rate in 10^9 bytes per second,
    counting each input read once and each output written once.
    """

    step: str
    shape: tuple[int, ...]
    dtype: str
    ms: float
    gbps: float


@dataclass(frozen=True, repr=False)
class Recorded(Shown):
    """A recorded run; a notebook shows it as a table, with one row per step and one column per size
    and type."""

    gpu: str
    date: str
    ceiling_gbps: float
    versions: dict[str, str]
    rows: tuple[RecordedRow, ...]

    def row(self, step: str, dtype: str, shape: tuple[int, ...] | None = None) -> RecordedRow:
        """Return the row for a step and a shape, by default the step's first shape.

        Raises:
            UsageError: there is no such row.
        """
        for r in self.rows:
            if (r.step, r.dtype) == (step, dtype) and shape in (None, r.shape):
                return r
        known = ", ".join(dict.fromkeys(r.step for r in self.rows))
        raise usage_error("step", f"{step!r}, {dtype}", f"one of {known}", "choose one")

    def percent(self, row: RecordedRow) -> float:
        """Return the row's rate as a percentage of the copy's rate in the same run."""
        return 100 * row.gbps / self.ceiling_gbps

    @property
    def headline(self) -> str:
        return (
            f"Recorded on an {self.gpu}, {self.date}; a copy of 1 GB reached "
            f"{self.ceiling_gbps:,.0f} GB/s in the same run."
        )

    @property
    def table(self) -> Table:
        """Return a table with one row per step and one column per size and type."""
        columns = list(dict.fromkeys((r.shape, r.dtype) for r in self.rows))
        cells = {(r.step, r.shape, r.dtype): r for r in self.rows}
        rows = []
        for step in dict.fromkeys(r.step for r in self.rows):
            found = (cells.get((step, shape, dtype)) for shape, dtype in columns)
            times = (f"{r.ms:.3f} ms, {self.percent(r):.0f} %" if r else "–" for r in found)
            rows.append([step, *times])
        heads = (f"{'×'.join(map(str, shape))} {dtype}" for shape, dtype in columns)
        return Table(("", *heads), rows, left=range(len(columns) + 1))

    @property
    def summary(self) -> str:
        """Return a description of the run and its table in plain text."""
        return "\n".join([self.headline, "", *self.table.lines()])


def recorded(name: str) -> Recorded:
    """Return the run recorded for a notebook, such as "week0/07_transpose".

    Raises:
        UsageError: no week in or above the current folder, or next to forgekit, contains such a
            run.
    """
    files = recorded_files()
    if name not in files:
        needed = f"one of {', '.join(files)}" if files else "a week with a folder `recorded`"
        raise usage_error("recorded run", brief(name), needed, "choose one")
    data = json.loads(files[name].read_text(encoding="utf-8"))
    rows = tuple(
        RecordedRow(r["step"], tuple(r["shape"]), r["dtype"], r["ms"], r["gbps"])
        for r in data["rows"]
    )
    return Recorded(data["gpu"], data["date"], data["ceiling_gbps"], data["versions"], rows)
