"""Run a command under Nsight Systems, and tabulate its kernels, CUDA calls and copies."""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forgekit.errors import ForgekitError
from forgekit.profiling.nvidia.tools import ask, number, short_name, watch
from forgekit.text import Table, seconds, shortened

# The keys of a row: function (the Python name), name, count, total_ns, median_ns, and percent (of
# the table's total).
Tables = dict[str, list[dict[str, Any]]]

PROFILE = ("--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--cuda-graph-trace=node")
# Maps each table to its report, its count column (which identifies the table in the output of `nsys
# stats`), the heading for the names, and the text for an empty table.
TABLES = {
    "kernels": ("cuda_gpu_kern_sum", "Instances", "kernel", "No kernel ran on the GPU."),
    "api": (
        "cuda_api_sum",
        "Num Calls",
        "CUDA call by the host",
        "The program made no CUDA calls.",
    ),
    "memory": ("cuda_gpu_mem_time_sum", "Count", "copy or fill", "The program copied no data."),
}
ROWS_SHOWN = 15
NAME_WIDTH = 50


def run(nsys: str, command: Sequence[str], *, quiet: bool = False) -> tuple[Path, int, Tables]:
    """Run `command` under nsys. Return the path of the report, in a new folder, the exit status and
    the tables. quiet: True to send the command's output to stderr. Raise ForgekitError if there is
    no readable report."""
    report = Path(tempfile.mkdtemp(prefix="forgekit-nsys-"), "profile.nsys-rep")
    status = watch([nsys, "profile", *PROFILE, f"--output={report}", *command], quiet=quiet)
    if not report.exists():
        raise ForgekitError(
            f"nsys wrote no report and ended with status {status}; see the output "
            "above for the reason"
        )
    reports = ",".join(report_name for report_name, *_ in TABLES.values())
    stats = ("stats", "--format", "csv", "--force-export=true", "--report", reports)
    printed = ask([nsys, *stats, str(report)])
    # nsys also writes a database, which is not needed.
    report.with_suffix(".sqlite").unlink(missing_ok=True)
    return report, status, summaries(printed)


def summaries(text: str) -> Tables:
    """Parse the CSV tables in the output of `nsys stats`, and sort each by total time, longest
    first.
    """
    found: Tables = {table: [] for table in TABLES}
    for part in re.split(r"(?m)^(?=Time \(%\),)", text)[1:]:
        for row in csv.DictReader(part.splitlines()):
            if number(row["Time (%)"]) is None:
                continue
            table, counted = next((t, c) for t, (_, c, *_) in TABLES.items() if c in row)
            name = row.get("Name") or row.get("Operation") or "?"
            found[table].append({
                "function": short_name(name), "name": name, "count": int(row[counted]),
                "total_ns": number(row["Total Time (ns)"]) or 0.0,
                "median_ns": number(row["Med (ns)"]), "percent": number(row["Time (%)"]),
            })  # fmt: skip
    return {table: sorted(rows, key=lambda r: -r["total_ns"]) for table, rows in found.items()}


def as_tables(found: Tables) -> str:
    parts = []
    for table, (*_, title, nothing) in TABLES.items():
        rows = [_row(row) for row in found[table]]
        lines = Table((title, "count", "total", "median", "%"), rows[:ROWS_SHOWN]).lines()
        more = len(rows) - ROWS_SHOWN
        lines += [f"and {more} more"] if more > 0 else []
        parts.append("\n".join(lines if rows else [nothing]))
    return "\n\n".join(parts)


def _row(row: dict[str, Any]) -> list[str]:
    median = "–" if row["median_ns"] is None else seconds(row["median_ns"] / 1e9)
    name, total = shortened(row["function"], NAME_WIDTH), seconds(row["total_ns"] / 1e9)
    return [name, f"{row['count']:,}", total, median, f"{row['percent']:.1f}"]
