"""Nsight Systems over a command: tables of its kernels, of its CUDA calls and of what it copies."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forgekit.errors import ForgekitError
from forgekit.profiling.nvidia.tools import ask, number, short_name, watch
from forgekit.text import Table, seconds, shortened

REPORTS = ("cuda_gpu_kern_sum", "cuda_api_sum", "cuda_gpu_mem_time_sum")
# The column that counts tells the tables of `nsys stats` apart.
_COUNTED = {"Instances": "kernels", "Num Calls": "api", "Count": "memory"}
TITLES = {"kernels": "kernel", "api": "CUDA call of the host", "memory": "copy or fill"}
NOTHING = {
    "kernels": "No kernel ran on the GPU.",
    "api": "The program made no CUDA call.",
    "memory": "Nothing was copied.",
}
ROWS_SHOWN = 15
NAME_WIDTH = 50


@dataclass(frozen=True)
class Summary:
    """One line: a kernel, a call of CUDA's API, or a kind of copy.

    Attributes:
        count: how many there were.
        total_ns, median_ns: of all of them, in nanoseconds.
        percent: of the time of its table.
    """

    name: str
    count: int
    total_ns: float
    median_ns: float | None
    percent: float

    def to_dict(self) -> dict[str, Any]:
        """All of it, and the name as in Python under `function`."""
        return {"function": short_name(self.name), **asdict(self)}


@dataclass(frozen=True)
class Run:
    """One run of nsys: its report in a folder of its own, the exit status, and the tables by
    `kernels`, `api` and `memory`.
    """

    report: Path
    status: int
    tables: dict[str, list[Summary]]


def run(nsys: str, command: Sequence[str], *, quiet: bool = False) -> Run:
    """Run `command` below nsys and read the report; quiet: what it prints goes to stderr.

    Raises:
        ForgekitError: nsys could not be started, made no report, or cannot read it.
    """
    report = Path(tempfile.mkdtemp(prefix="forgekit-nsys-"), "profile.nsys-rep")
    status = watch(command_line(nsys, command, report=report), quiet=quiet)
    if not report.exists():
        raise ForgekitError(f"nsys made no report and ended with status {status}; see above why")
    line = [nsys, "stats", "--format", "csv", "--force-export=true"]
    printed = ask([*line, "--report", ",".join(REPORTS), str(report)])
    # nsys makes a database beside the report, which nobody asked for.
    report.with_suffix(".sqlite").unlink(missing_ok=True)
    return Run(report, status, summaries(printed))


def command_line(nsys: str, command: Sequence[str], *, report: Path) -> list[str]:
    """nsys over `command`: CUDA and NVTX alone, which hardly disturbs it; a graph's kernels too."""
    line = [nsys, "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none"]
    line += ["--cuda-graph-trace=node", f"--output={report}"]
    return [*line, *command]


def summaries(text: str) -> dict[str, list[Summary]]:
    """What `nsys stats --format csv` printed, one table after the other among its own talk."""
    tables: dict[str, list[Summary]] = {name: [] for name in TITLES}
    head: list[str] = []
    for cells in csv.reader(text.splitlines()):
        if cells and cells[0].startswith("Time (%)"):
            head = cells
        elif not head or len(cells) != len(head) or number(cells[0]) is None:
            continue
        else:
            row = dict(zip(head, cells, strict=True))
            counted = next((column for column in _COUNTED if column in row), None)
            if counted is not None:
                tables[_COUNTED[counted]].append(_summary(row, counted))
    return {name: sorted(rows, key=lambda r: -r.total_ns) for name, rows in tables.items()}


def _summary(row: dict[str, str], counted: str) -> Summary:
    return Summary(
        name=row.get("Name") or row.get("Operation") or "?",
        count=int(number(row[counted]) or 0),
        total_ns=number(row.get("Total Time (ns)")) or 0.0,
        median_ns=number(row.get("Med (ns)")),
        percent=number(row["Time (%)"]) or 0.0,
    )


def as_tables(found: dict[str, list[Summary]]) -> str:
    """The tables as text of at most 100 columns, the longest total first."""
    parts = []
    for table, title in TITLES.items():
        rows = found[table]
        shown = [_row(row) for row in rows[:ROWS_SHOWN]]
        lines = Table((title, "count", "total", "median", "%"), shown).lines() if rows else []
        if len(rows) > ROWS_SHOWN:
            lines.append(f"and {len(rows) - ROWS_SHOWN} more")
        parts.append("\n".join(lines or [NOTHING[table]]))
    return "\n\n".join(parts)


def _row(row: Summary) -> list[str]:
    median = "–" if row.median_ns is None else seconds(row.median_ns / 1e9)
    total = seconds(row.total_ns / 1e9)
    name = shortened(short_name(row.name), NAME_WIDTH)
    return [name, f"{row.count:,}", total, median, f"{row.percent:.1f}"]
