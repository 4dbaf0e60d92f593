"""Run a command under Nsight Compute, and tabulate the metrics of its kernels."""

from __future__ import annotations

import csv
import re
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from forgekit.errors import ForgekitError, PlatformError, UsageError, got_needed, usage_error
from forgekit.profiling.nvidia.tools import ask, number, short_name, watch
from forgekit.text import Table, plural, seconds, shortened

CUTE_KERNELS = "kernel_cutlass"  # the prefix of CuTe DSL's kernel names
SECTIONS = ("SpeedOfLight", "WarpStateStats", "Occupancy", "LaunchStats")

_SHARED = "l1tex__data_{}_pipe_lsu_mem_shared_op_{}.sum".format
_SECTORS = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{}.ratio".format
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum".format
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
# The metrics that are requested by name. ncu's sections add metrics whose names depend on the
# architecture.
_COLLECTED = [name for name in METRICS.values() if name.startswith(("gpu__", "l1tex__"))]
_STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active\.ratio")
_AT_WORK = "selected"  # not a stall: the warp issues an instruction


# -- a run ----------------------------------------------------------------------------------------
class Run(NamedTuple):
    """The result of a run. report: ncu's report file, in a new folder. rows: the report's raw page,
    one dict per launch, with values as ncu writes them, in base units. log: the text of ncu's log.
    status: the command's exit status if the command failed (command_failed), otherwise ncu's.
    """

    report: Path
    rows: list[dict[str, str]]
    log: str
    status: int
    command_failed: bool


def run(ncu: str, command: Sequence[str], *options: str, quiet: bool = False) -> Run:
    """Run `command` under ncu with the options from `options_of`, and read the report. quiet: True
    to send the command's output to stderr. Raise ForgekitError if ncu cannot read its report.
    """
    folder = Path(tempfile.mkdtemp(prefix="forgekit-ncu-"))
    report, log = folder / "profile.ncu-rep", folder / "ncu.log"
    files = ("--export", str(report), "--log-file", str(log))
    status = watch([ncu, *options, *files, *command], quiet=quiet)
    said = log.read_text(errors="replace") if log.exists() else ""
    page = (ncu, "--import", str(report), "--csv", "--page", "raw", "--print-units", "base")
    rows = launches(ask(page)) if report.exists() else []
    failure = re.search(r"The application returned an error code \((\d+)\)", said)
    own = int(failure[1]) if failure else 0
    return Run(report, rows, said, own or status, own != 0)


def options_of(
    *,
    kernel: str = CUTE_KERNELS,
    metrics: Sequence[str] = (),
    skip: int = 0,
    count: int | None = None,
    full: bool = False,
) -> list[str]:
    """Return ncu's options for measuring launches of kernels whose names match a pattern. skip: the
    number of launches to skip. count: the number of launches to measure after them (None: all).
    metrics: metrics to collect instead of the default ones. full: True to collect all sections and
    the source. The GPU's clock is not locked.
    """
    line = ["--clock-control", "none", "--target-processes", "all"]
    line += ["--kernel-name-base", "function", "--kernel-name", f"regex:{kernel}"]
    line += ["--launch-skip", str(skip)] if skip else []
    line += ["--launch-count", str(count)] if count is not None else []
    if full:
        line += ["--set", "full", "--import-source", "yes"]
    elif not metrics:
        line += [word for section in SECTIONS for word in ("--section", section)]
    asked = [METRICS["duration_ns"], *(metrics or (*_COLLECTED, *DRAM_BYTES))]
    return [*line, "--metrics", ",".join(dict.fromkeys(asked))]


def launches(text: str) -> list[dict[str, str]]:
    """Parse ncu's raw page, in CSV format; omit the row of units and ncu's other output."""
    _, start, page = text.partition('"ID",')
    table = csv.DictReader(line for line in (start + page).splitlines() if line.startswith('"'))
    return [row for row in table if row["ID"].isdigit()]


# -- the command's kernels -------------------------------------------------------------------------
def kernels(rows: Sequence[dict[str, str]], asked: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Summarise the raw page: return one dict per kernel name, grid and block, in order, with
    medians over the launches.

    function: the kernel's Python name. name, grid, block: as ncu writes them. launches: the number
    of launches. The keys of METRICS, and dram_gbps (DRAM reads plus writes in 10^9 bytes per
    second): None if ncu does not report the value. stalls: maps each reason for waiting to a
    percentage of a warp's time, the largest first. metrics: the requested metrics, by ncu's names.
    """
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in rows:
        key = (row["Kernel Name"], row.get("Grid Size", ""), row.get("Block Size", ""))
        groups.setdefault(key, []).append(row)
    found = []
    for (name, grid, block), group in groups.items():
        where = {"function": short_name(name), "name": name, "grid": grid, "block": block}
        numbers = {field: _median(group, metric) for field, metric in METRICS.items()}
        moved = [_median(group, metric) for metric in DRAM_BYTES]
        time_ns = numbers["duration_ns"]
        known = time_ns and None not in moved
        rate = sum(n or 0 for n in moved) / time_ns if time_ns and known else None
        found.append(where | {"launches": len(group)} | numbers | {
            "dram_gbps": rate, "stalls": _stalls(group),
            "metrics": {metric: _median(group, metric) for metric in asked},
        })  # fmt: skip
    return found


def _median(rows: Sequence[dict[str, str]], metric: str) -> float | None:
    values = [v for v in (number(row.get(metric)) for row in rows) if v is not None]
    return statistics.median(values) if values else None


def _stalls(rows: Sequence[dict[str, str]]) -> dict[str, float]:
    found = (match for name in rows[0] if name and (match := _STALL.fullmatch(name)))
    waits = {match[1]: _median(rows, match[0]) or 0.0 for match in found}
    whole = sum(waits.values())
    shares = {w.replace("_", " "): 100 * v / whole for w, v in waits.items() if v and w != _AT_WORK}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


# -- text -----------------------------------------------------------------------------------------
LEGEND = """\
DRAM %: percentage of peak. sectors: 32-byte sectors per global-memory request. conflicts:
shared-memory wavefronts beyond the first of a request; up to a tenth of all wavefronts can be noise
(fk.profile and ncu's Source page are exact). warps: average percentage of the warps that a
multiprocessor can hold. waits: percentage of a warp's time. Values are medians over launches."""
NAME_WIDTH = 24
STALLS_SHOWN = 3


def _fixed(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _count(value: float | None) -> str:
    return _fixed(value) if value is None or value < 1e5 else f"{value / 1e3:,.0f} k"


def _time(value: float | None) -> str:
    return "–" if value is None else seconds(value / 1e9)


COLUMNS = {
    "function": ("kernel", lambda name: shortened(name, NAME_WIDTH)),
    "duration_ns": ("\ntime", _time),
    "dram_gbps": ("DRAM\nGB/s", _fixed),
    "dram_percent": ("DRAM\n%", _fixed),
    "load_sectors_per_request": ("sectors\nload", lambda n: _fixed(n, 1)),
    "store_sectors_per_request": ("sectors\nstore", lambda n: _fixed(n, 1)),
    "shared_load_bank_conflicts": ("conflicts\nload", _count),
    "shared_store_bank_conflicts": ("conflicts\nstore", _count),
    "occupancy_percent": ("warps\n%", _fixed),
    "registers": ("regs", _fixed),
}


def as_table(found: Sequence[dict[str, Any]], asked: Sequence[str] = ()) -> str:
    """Format the kernels as text of at most 100 columns. asked: the metrics to show instead of the
    default ones.
    """
    if asked:
        return "\n\n".join(map(_metrics, found))
    rows = [[show(k[field]) for field, (_, show) in COLUMNS.items()] for k in found]
    lines = Table([head for head, _ in COLUMNS.values()], rows).lines()
    heads, each = lines[: -len(rows)], zip(found, lines[-len(rows) :], strict=True)
    return "\n".join([*heads, *(f"{line}\n{_more(k)}" for k, line in each), "", LEGEND])


def _more(k: dict[str, Any]) -> str:
    shares = []
    for word in ("load", "store"):
        conflicts, wavefronts = k[f"shared_{word}_bank_conflicts"], k[f"shared_{word}_wavefronts"]
        if conflicts and wavefronts:
            shares.append(f"{100 * conflicts / wavefronts:.0f} % of {word}")
    conflicting = f"; conflicts: {', '.join(shares)} wavefronts" if shares else ""
    waits = [f"{what} {share:.0f} %" for what, share in k["stalls"].items()][:STALLS_SHOWN]
    return f"  {_launches(k)}{conflicting}\n  waits: {', '.join(waits) or '–'}"


def _launches(k: dict[str, Any]) -> str:
    return f"{plural(k['launches'], 'launch')}, grid {k['grid']}, block {k['block']}"


def _metrics(k: dict[str, Any]) -> str:
    rows = [["time", _time(k["duration_ns"])]]
    for name, value in k["metrics"].items():
        rows.append([name, _fixed(value, 0 if value is None or value.is_integer() else 2)])
    table = Table(("metric", "median"), rows).lines()
    return "\n  ".join([f"{k['function']}, {_launches(k)}", *table])


# -- reasons for a missing report ------------------------------------------------------------------
def explain(log: str, kernel: str) -> ForgekitError:
    """Return an error that explains why there is no report, according to ncu's log. kernel: the
    requested name pattern.
    """
    if "ERR_NVGPUCTRPERM" in log:
        needed = "the permission to read the GPU's performance counters"
        remedy = (
            "ask an administrator for it (https://developer.nvidia.com/ERR_NVGPUCTRPERM), start "
            "containers with `--cap-add SYS_ADMIN`, or, on the many clouds that never grant it, "
            "use fk.profile (`forgekit profile SCRIPT`), which needs neither a GPU nor the "
            "permission"
        )
        return PlatformError(got_needed("ncu", "ERR_NVGPUCTRPERM", needed, remedy))
    if unknown := re.search(r"Failed to find metric (?:regex:\^)?([\w.\\]+)", log):
        return unknown_metrics([unknown[1].replace("\\", "").rstrip(".")])
    if "No kernels were profiled" in log:
        there = re.findall(r"(?m)^(?:==\w+==)?\s*\d+\. (.+)$", log)
        launched = ", ".join(dict.fromkeys(short_name(name) for name in there))
        got = f"{kernel!r}, which matches none of the launched kernels"
        got += f": {launched}" if launched else " (or none was launched on the GPU)"
        remedy = "choose another pattern; `--kernel .` matches all kernels, including PyTorch's"
        return usage_error("--kernel", got, "a pattern that matches kernel names", remedy)
    errors = re.findall(r"(?m)^==ERROR== (.+)$", log) or log.strip().splitlines()[-3:]
    return ForgekitError(f"ncu wrote no report: {' '.join(errors) or 'its log is empty'}")


def unknown_metrics(names: Sequence[str]) -> UsageError:
    """Return the error for metrics that ncu does not know. (Newer versions of ncu omit such
    metrics; older versions stop.)"""
    remedy = "run `ncu --query-metrics` for this GPU's names, and add an ending such as .sum"
    return usage_error("--metrics", ", ".join(names), "ncu's metric names", remedy)
