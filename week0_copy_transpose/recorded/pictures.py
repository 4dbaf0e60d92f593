"""Tables and pictures of notebook 09, from what `record.py` kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt

Report = Mapping[str, Mapping[str, float]]  # kernel -> ncu's metric -> number

UNITS = {
    "DRAM": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "L2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "L1 and shared": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "arithmetic and issue": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
}
STALLS = {
    reason: f"smsp__average_warps_issue_stalled_{reason.replace(' ', '_')}_per_issue_active.ratio"
    for reason in ("long scoreboard", "short scoreboard", "barrier", "drain", "mio throttle")
}
_LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
_SECTORS = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{}.ratio"

# A row's label -> ncu's metric and by what it is divided: a number, or another metric.
ROWS: dict[str, tuple[str, float | str]] = {
    "time, µs": ("gpu__time_duration.sum", 1000),
    **{f"{unit}, %": (metric, 1) for unit, metric in list(UNITS.items())[:3]},
    "L1 hit rate, %": ("l1tex__t_sector_hit_rate.pct", 1),
    "requests to load": (_LOADS, 1),
    "sectors a load": (_SECTORS.format("ld"), 1),
    "sectors a store": (_SECTORS.format("st"), 1),
    # each of these kernels loads from shared memory as often as from global memory, or never
    "wavefronts a shared load": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", _LOADS),
    "lanes an instruction": ("smsp__thread_inst_executed_per_inst_executed.ratio", 1),
    "theoretical occupancy, %": ("sm__maximum_warps_per_active_cycle_pct", 1),
    "achieved occupancy, %": ("sm__warps_active.avg.pct_of_peak_sustained_active", 1),
    "bytes of shared memory a block": ("launch__shared_mem_per_block", 1),
    "stall: long scoreboard": (STALLS["long scoreboard"], 1),
    "stall: short scoreboard": (STALLS["short scoreboard"], 1),
}
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7")  # Okabe and Ito's
_HOST_WAITS, _COPY, _WORK = "#D55E00", "#56B4E9", "#0072B2"


def report_table(report: Report, names: Sequence[str]) -> str:
    """The rows of ROWS, a column for each kernel."""
    lines = [f"{'':31}" + "".join(f"{name:>11}" for name in names)]
    for label, (metric, by) in ROWS.items():
        cells = [report[n][metric] / (report[n][by] if isinstance(by, str) else by) for n in names]
        form = ",.0f" if max(cells) > 200 else ".1f"
        lines.append(f"{label:31}" + "".join(f"{cell:11{form}}" for cell in cells))
    return "\n".join(lines)


def limits_and_stalls(report: Report, names: Sequence[str]) -> None:
    """How busy each unit is, and what warps wait for, kernel by kernel."""
    _, (left, right) = plt.subplots(1, 2, figsize=(11, 3.2), sharey=True)
    for k, (unit, metric) in enumerate(UNITS.items()):
        at = [row + 0.2 * (k - 1.5) for row in range(len(names))]
        widths = [report[name][metric] for name in names]
        left.barh(at, widths, 0.18, label=unit, color=_COLOURS[k])
    begin = [0.0] * len(names)
    for colour, (reason, metric) in zip(_COLOURS, STALLS.items(), strict=True):
        cycles = [report[name][metric] for name in names]
        right.barh(range(len(names)), cycles, 0.6, begin, label=reason, color=colour)
        begin = [b + c for b, c in zip(begin, cycles, strict=True)]
    left.set(yticks=range(len(names)), yticklabels=list(names), xlim=(0, 100))
    left.set(title="Speed Of Light", xlabel="% of what the unit can do")
    right.set(title="What a warp waits for", xlabel="cycles between two instructions of a warp")
    left.invert_yaxis()
    for side in (left, right):
        side.legend(fontsize=8)
        side.spines[["top", "right"]].set_visible(False)
    plt.tight_layout()


def busy_percent(work: Mapping[str, Any]) -> float:
    """Of the time from the GPU's first piece of work to the end of its last."""
    pieces = work["gpu"]
    whole = pieces[-1][0] + pieces[-1][1] - pieces[0][0]
    return 100 * sum(length for _, length, _ in pieces) / whole


def time_lines(ways: Mapping[str, Any]) -> None:
    """What host and GPU did when, one row of pictures a way."""
    _, axes = plt.subplots(len(ways), 1, figsize=(11, 1.6 * len(ways)))
    for axis, (way, work) in zip(axes, ways.items(), strict=True):
        for height, who in enumerate(("gpu", "host")):
            for start, length, what in work[who]:
                colour = _HOST_WAITS if "Synchronize" in what else _WORK
                colour = _COPY if "emcpy" in what else colour
                axis.broken_barh([(start, length)], (height, 0.8), color=colour)
        end = work["gpu"][-1][0] + work["gpu"][-1][1]
        axis.set(yticks=(0.4, 1.4), yticklabels=("GPU", "host"), ylim=(0, 2), xlim=(0, end))
        axis.set_title(f"{way}: GPU busy {busy_percent(work):.0f} %", fontsize=10, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("µs; dark: launches and kernels, light: copies, orange: the host waits")
    plt.tight_layout()
