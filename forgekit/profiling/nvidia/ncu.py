"""Nsight Compute over a command: which metrics, and a table of what its kernels did."""

from __future__ import annotations

import csv
import re
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forgekit.errors import ForgekitError, PlatformError, UsageError, got_needed, usage_error
from forgekit.profiling.nvidia.tools import ask, number, short_name, watch
from forgekit.text import Table, plural, seconds, shortened

CUTE_KERNELS = "kernel_cutlass"  # what CuTe DSL's names of kernels begin with
SECTIONS = ("SpeedOfLight", "WarpStateStats", "Occupancy", "LaunchStats")

_SHARED = "l1tex__data_{}_pipe_lsu_mem_shared_op_{}.sum".format
_SECTORS = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{}.ratio".format
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum".format
# What the table shows: name in Kernel.numbers -> ncu's metric.
METRICS = {
    "duration_ns": "gpu__time_duration.sum",
    "dram_percent": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "load_sectors_per_request": _SECTORS("ld"),
    "store_sectors_per_request": _SECTORS("st"),
    "shared_load_bank_conflicts": _SHARED("bank_conflicts", "ld"),
    "shared_store_bank_conflicts": _SHARED("bank_conflicts", "st"),
    "shared_load_wavefronts": _WAVEFRONTS("ld"),
    "shared_store_wavefronts": _WAVEFRONTS("st"),
    "occupancy_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "occupancy_limit_percent": "sm__maximum_warps_per_active_cycle_pct",
    "registers": "launch__registers_per_thread",
}
DRAM_BYTES = ("dram__bytes_read.sum", "dram__bytes_write.sum")
# Of every launch; the others come with the sections, under names that differ by architecture.
_COLLECTED = [name for name in METRICS.values() if name.startswith(("gpu__", "l1tex__"))]
_STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active\.ratio")
_AT_WORK = "selected"  # the "stall" of a warp whose instruction is issued


@dataclass(frozen=True)
class Kernel:
    """What ncu measured of one kernel: medians over its launches with one grid and block.

    Attributes:
        name, grid, block: as ncu writes them.
        numbers: those of METRICS, and `dram_gbps`: bytes read from and written to DRAM, 10^9 bytes
            a second. None where ncu has none.
        stalls: what its warps wait for -> percent of a warp's time, the largest first.
        metrics: ncu's name -> number, in ncu's base units, of all that was asked for.
    """

    name: str
    grid: str
    block: str
    launches: int
    numbers: dict[str, float | None]
    stalls: dict[str, float]
    metrics: dict[str, float | None]

    def to_dict(self) -> dict[str, Any]:
        """All of it, and the name as in Python under `function`."""
        return {
            "function": short_name(self.name), "name": self.name, "grid": self.grid,
            "block": self.block, "launches": self.launches, **self.numbers,
            "stalls": self.stalls, "metrics": self.metrics,
        }  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """What is measured.

    Attributes:
        kernel: a pattern of kernels' names.
        metrics: of ncu, in place of those of the table.
        skip, count: launches of such kernels to pass over, and to measure then (None: all).
        full: all sections, and the source, for ncu-ui; many passes.
    """

    kernel: str = CUTE_KERNELS
    metrics: tuple[str, ...] = ()
    skip: int = 0
    count: int | None = None
    full: bool = False


@dataclass(frozen=True)
class Run:
    """One run of ncu.

    Attributes:
        report: the file that it wrote, in a folder of its own.
        rows: the report's raw page, a dict a launch, values as ncu writes them, in base units.
        log: what ncu said.
        status: the exit status, of the command if it failed, otherwise of ncu.
        command_failed: whether it is the command's.
    """

    report: Path
    rows: list[dict[str, str]]
    log: str
    status: int
    command_failed: bool


def run(ncu: str, command: Sequence[str], choice: Choice, *, quiet: bool = False) -> Run:
    """Run `command` below ncu and read the report; quiet: what it prints goes to stderr.

    Raises:
        ForgekitError: ncu could not be started, or cannot read its report.
    """
    folder = Path(tempfile.mkdtemp(prefix="forgekit-ncu-"))
    report, log = folder / "profile.ncu-rep", folder / "ncu.log"
    status = watch(command_line(ncu, command, choice, report=report, log=log), quiet=quiet)
    said = log.read_text(errors="replace") if log.exists() else ""
    rows = []
    if report.exists():
        page = ["--csv", "--page", "raw", "--print-units", "base"]
        rows = launches(ask([ncu, "--import", str(report), *page]))
    failure = re.search(r"The application returned an error code \((\d+)\)", said)
    own = int(failure[1]) if failure else 0
    return Run(report, rows, said, own or status, own != 0)


def command_line(
    ncu: str, command: Sequence[str], choice: Choice, *, report: Path, log: Path
) -> list[str]:
    """ncu over `command`: the GPU's clock left alone, ncu's own talk to `log`."""
    line = [ncu, "--clock-control", "none", "--target-processes", "all"]
    line += ["--kernel-name-base", "function", "--kernel-name", f"regex:{choice.kernel}"]
    line += ["--launch-skip", str(choice.skip)] if choice.skip else []
    line += ["--launch-count", str(choice.count)] if choice.count is not None else []
    if choice.full:
        line += ["--set", "full", "--import-source", "yes"]
    elif not choice.metrics:
        line += [word for section in SECTIONS for word in ("--section", section)]
    asked = [METRICS["duration_ns"], *(choice.metrics or (*_COLLECTED, *DRAM_BYTES))]
    line += ["--metrics", ",".join(dict.fromkeys(asked))]
    line += ["--export", str(report), "--log-file", str(log)]
    return [*line, *command]


def launches(text: str) -> list[dict[str, str]]:
    """The rows of ncu's raw page as CSV; its other talk and the line of units are left out."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), len(lines))
    table = csv.DictReader(line for line in lines[first:] if line.startswith('"'))
    return [row for row in table if (row["ID"] or "").isdigit()]


def kernels(rows: Sequence[dict[str, str]], asked: Sequence[str] = ()) -> list[Kernel]:
    """What the rows of the raw page say, a Kernel for each name, grid and block, in order.

    asked: names of metrics that Kernel.metrics has to have.
    """
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in rows:
        key = (row["Kernel Name"], row.get("Grid Size", ""), row.get("Block Size", ""))
        groups.setdefault(key, []).append(row)
    return [_kernel(key, group, asked) for key, group in groups.items()]


def _kernel(key: tuple[str, str, str], rows: list[dict[str, str]], asked: Sequence[str]) -> Kernel:
    def median(metric: str) -> float | None:
        values = [v for v in (number(row.get(metric)) for row in rows) if v is not None]
        return statistics.median(values) if values else None

    numbers = {field: median(metric) for field, metric in METRICS.items()}
    duration_ns, numbers["dram_gbps"] = numbers["duration_ns"], None
    read_bytes, written_bytes = (median(metric) for metric in DRAM_BYTES)
    if duration_ns and read_bytes is not None and written_bytes is not None:
        numbers["dram_gbps"] = (read_bytes + written_bytes) / duration_ns
    found = (match for name in rows[0] if name and (match := _STALL.fullmatch(name)))
    waits = {match[1]: median(match[0]) or 0.0 for match in found}
    whole = sum(waits.values())
    shares = {w.replace("_", " "): 100 * v / whole for w, v in waits.items() if v and w != _AT_WORK}
    stalls = dict(sorted(shares.items(), key=lambda item: -item[1]))
    return Kernel(*key, len(rows), numbers, stalls, {name: median(name) for name in asked})


HEADS = ("kernel", "\ntime", "DRAM\nGB/s", "DRAM\n%", "sectors\nload", "sectors\nstore",
         "conflicts\nload", "conflicts\nstore", "warps\n%", "regs")  # fmt: skip
LEGEND = """\
DRAM %: of its peak. sectors: of 32 bytes, a request to global memory. conflicts: wavefronts of
shared memory beyond the first of a request; a tenth of all wavefronts can be noise (fk.profile and
ncu's page Source are exact). warps: of those a multiprocessor can hold, on average. waits: of a
warp's time. Of several launches: medians."""
NAME_WIDTH = 24
STALLS_SHOWN = 3


def as_table(found: Sequence[Kernel], asked: Sequence[str] = ()) -> str:
    """The kernels as text of at most 100 columns; asked: the metrics to show instead."""
    if asked:
        return "\n\n".join(_metrics(kernel) for kernel in found)
    lines = Table(HEADS, [_row(kernel) for kernel in found]).lines()
    depth = len(lines) - len(found)
    body = [text for k, line in zip(found, lines[depth:], strict=True) for text in (line, _more(k))]
    return "\n".join([*lines[:depth], *body, "", LEGEND])


def _row(k: Kernel) -> list[str]:
    n = k.numbers
    return [
        shortened(short_name(k.name), NAME_WIDTH),
        _time(k),
        _fixed(n["dram_gbps"]),
        _fixed(n["dram_percent"]),
        _fixed(n["load_sectors_per_request"], 1),
        _fixed(n["store_sectors_per_request"], 1),
        _count(n["shared_load_bank_conflicts"]),
        _count(n["shared_store_bank_conflicts"]),
        _fixed(n["occupancy_percent"]),
        _fixed(n["registers"]),
    ]


def _time(k: Kernel) -> str:
    duration_ns = k.numbers["duration_ns"]
    return "–" if duration_ns is None else seconds(duration_ns / 1e9)


def _count(count: float | None) -> str:
    """`192 k`, `65.4 M`"""
    if count is None or count < 9999.5:
        return _fixed(count)
    unit, factor = next(
        (u, f) for u, f in (("k", 1e3), ("M", 1e6), ("G", 1e9)) if count < 999.5 * f or u == "G"
    )
    return f"{count / factor:.3g} {unit}"


def _more(k: Kernel) -> str:
    shares = []
    for word in ("load", "store"):
        conflicts = k.numbers[f"shared_{word}_bank_conflicts"]
        wavefronts = k.numbers[f"shared_{word}_wavefronts"]
        if conflicts and wavefronts:
            shares.append(f"{100 * conflicts / wavefronts:.0f} % of {word}")
    conflicting = f"; conflicts: {', '.join(shares)} wavefronts" if shares else ""
    waits = [f"{what} {share:.0f} %" for what, share in k.stalls.items()][:STALLS_SHOWN]
    return f"  {_launches(k)}{conflicting}\n  waits: {', '.join(waits) or '–'}"


def _launches(k: Kernel) -> str:
    return f"{plural(k.launches, 'launch')}, grid {k.grid}, block {k.block}"


def _metrics(k: Kernel) -> str:
    head = f"{short_name(k.name)}, {_launches(k)}"
    rows = [["time", _time(k)], *([m, _exact(v)] for m, v in k.metrics.items())]
    return "\n".join([head, *(f"  {line}" for line in Table(("metric", "median"), rows).lines())])


def _fixed(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _exact(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.2f}"


def explain(log: str, kernel: str) -> ForgekitError:
    """Why ncu has no report, from its log; kernel: the pattern of names that was asked for."""
    if "ERR_NVGPUCTRPERM" in log:
        needed = "the permission to read the GPU's performance counters"
        remedy = (
            "an administrator can allow it (https://developer.nvidia.com/ERR_NVGPUCTRPERM), a "
            "container needs `--cap-add SYS_ADMIN`, many clouds never allow it; or use fk.profile "
            "(`forgekit profile SCRIPT`), which needs neither GPU nor permission"
        )
        return PlatformError(got_needed("ncu", "ERR_NVGPUCTRPERM", needed, remedy))
    if unknown := re.search(r"Failed to find metric (?:regex:\^)?([\w.\\]+)", log):
        return unknown_metrics([unknown[1].replace("\\", "").rstrip(".")])
    if "No kernels were profiled" in log:
        there = re.findall(r"(?m)^(?:==\w+==)?\s*\d+\. (.+)$", log)
        launched = ", ".join(dict.fromkeys(short_name(name) for name in there))
        got = f"{kernel!r}, which fits none of the kernels launched"
        got += f": {launched}" if launched else " (or none was launched on the GPU)"
        remedy = "choose another pattern; `--kernel .` takes all kernels, PyTorch's as well"
        return usage_error("--kernel", got, "a pattern of kernels' names", remedy)
    errors = re.findall(r"(?m)^==ERROR== (.+)$", log) or log.strip().splitlines()[-3:]
    return ForgekitError(f"ncu made no report: {' '.join(errors) or 'it said nothing'}")


def unknown_metrics(names: Sequence[str]) -> UsageError:
    """ncu has no such metrics: newer versions leave them out of the report, older ones stop."""
    remedy = "`ncu --query-metrics` lists those of this GPU; each needs an ending such as .sum"
    return usage_error("--metrics", ", ".join(names), "names that ncu knows", remedy)
