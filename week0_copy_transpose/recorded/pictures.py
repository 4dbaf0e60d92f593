"""Draw the tables and pictures of notebook 09, from the recordings of `record.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import forgekit as fk
from forgekit.viz.palette import UNTOUCHED
from forgekit.viz.timing.style import SERIES

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

# A row's label -> ncu's metric and its divisor: a number, or another metric.
ROWS: dict[str, tuple[str, float | str]] = {
    "time, µs": ("gpu__time_duration.sum", 1000),
    **{f"{unit}, %": (metric, 1) for unit, metric in list(UNITS.items())[:3]},
    "L1 hit rate, %": ("l1tex__t_sector_hit_rate.pct", 1),
    "requests to load": (_LOADS, 1),
    "sectors per load": (_SECTORS.format("ld"), 1),
    "sectors per store": (_SECTORS.format("st"), 1),
    # each of these kernels loads from shared memory as often as from global memory, or not at all
    "wavefronts per shared load": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", _LOADS),
    "lanes per instruction": ("smsp__thread_inst_executed_per_inst_executed.ratio", 1),
    "theoretical occupancy, %": ("sm__maximum_warps_per_active_cycle_pct", 1),
    "achieved occupancy, %": ("sm__warps_active.avg.pct_of_peak_sustained_active", 1),
    "shared memory per block, bytes": ("launch__shared_mem_per_block", 1),
    "stall: long scoreboard": (STALLS["long scoreboard"], 1),
    "stall: short scoreboard": (STALLS["short scoreboard"], 1),
}
_HUES = (SERIES[0], SERIES[1], SERIES[2], SERIES[4], SERIES[5])
_HATCHES = ("", "//", "..", "xx", "")


def count_table(profiles: Mapping[str, fk.Profile]) -> str:
    """Return the virtual GPU's counts as text, with one row per kernel."""
    lines = [f"{'':11} {'sectors per':>12} {'':8} {'wavefronts per':>15} {'PTX in-':>10}"]
    lines += [f"{'':11} {'load':>12} {'store':>8} {'shared load':>15} {'structions':>10}"]
    for name, p in profiles.items():
        load, store = p.global_load_sectors_per_request, p.global_store_sectors_per_request
        waves, work = p.shared_load_wavefronts_per_request, p["warp_instructions"]
        lines.append(f"{name:11} {load:12.0f} {store:8.0f} {waves:15.0f} {work:10,}")
    return "\n".join(lines)


def report_table(report: Report, names: Sequence[str]) -> str:
    """Return the rows of ROWS as text, with one column per kernel."""
    lines = [f"{'':31}" + "".join(f"{name:>11}" for name in names)]
    for label, (metric, by) in ROWS.items():
        cells = [report[n][metric] / (report[n][by] if isinstance(by, str) else by) for n in names]
        form = ",.0f" if max(cells) > 200 else ".1f"
        lines.append(f"{label:31}" + "".join(f"{cell:11{form}}" for cell in cells))
    return "\n".join(lines)


def limits_and_stalls(report: Report, names: Sequence[str]) -> None:
    """Draw the use of each unit and the stalls of warps, kernel by kernel."""
    busiest = {n: max(UNITS, key=lambda unit, n=n: report[n][UNITS[unit]]) for n in names}
    worst = {n: max(STALLS, key=lambda why, n=n: report[n][STALLS[why]]) for n in names}
    alt = "; ".join(f"{n}: {busiest[n]} {report[n][UNITS[busiest[n]]]:.0f} %, largest stall: "
                    f"{worst[n]}" for n in names)  # fmt: skip
    with fk.figure("The limit of each kernel", alt, height=3.4, panels=2) as (left, right):
        for k, (unit, metric) in enumerate(UNITS.items()):
            at = [row + 0.2 * (k - 1.5) for row in range(len(names))]
            left.barh(at, [report[n][metric] for n in names], 0.18, label=unit, color=_HUES[k])
        begin = [0.0] * len(names)
        for k, (reason, metric) in enumerate(STALLS.items()):
            cycles = [report[name][metric] for name in names]
            right.barh(range(len(names)), cycles, 0.6, begin, label=reason, color=_HUES[k],
                       hatch=_HATCHES[k], edgecolor="white", linewidth=0)  # fmt: skip
            begin = [b + c for b, c in zip(begin, cycles, strict=True)]
        left.set(xlim=(0, 100), title="Speed Of Light", xlabel="% of the unit's maximum")
        right.set(title="Stalls of a warp", xlabel="cycles between two instructions")
        for side in (left, right):
            side.set(yticks=range(len(names)), yticklabels=list(names))
            side.invert_yaxis()
            side.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=2)


def busy_percent(work: Mapping[str, Any]) -> float:
    """Return the GPU's working time as a percentage of the time from the start of its first piece
    of work to the end of its last.
    """
    pieces = work["gpu"]
    whole = pieces[-1][0] + pieces[-1][1] - pieces[0][0]
    return 100 * sum(length for _, length, _ in pieces) / whole


def time_lines(ways: Mapping[str, Any]) -> None:
    """Draw the work of host and GPU over time, two rows per way."""
    busy = {way: f"GPU busy {busy_percent(work):.0f} %" for way, work in ways.items()}
    alt = "; ".join(f"{way}: {said}" for way, said in busy.items())
    kinds = {"launches and kernels": (SERIES[0], ""), "copies": (SERIES[3], "||||"),
             "the host waits": (UNTOUCHED, "//")}  # fmt: skip
    with fk.figure("Busy and waiting times of host and GPU", alt, height=3.6) as axes:
        labels = []
        for row, (way, work) in enumerate(ways.items()):
            end = work["gpu"][-1][0] + work["gpu"][-1][1]
            for k, who in enumerate(("host", "gpu")):
                labels.append((2.6 * row + k, f"{way}, host" if k == 0 else busy[way]))
                for start, length, what in work[who]:
                    copies = "copies" if "emcpy" in what else "launches and kernels"
                    colour, hatch = kinds["the host waits" if "Synchronize" in what else copies]
                    axes.broken_barh([(100 * start / end, 100 * length / end)],
                                     (2.6 * row + k - 0.4, 0.8), facecolor=colour, hatch=hatch,
                                     edgecolor="white", linewidth=0)  # fmt: skip
        for label, (colour, hatch) in kinds.items():
            axes.bar(0, 0, color=colour, hatch=hatch, edgecolor="white", label=label)
        axes.set(yticks=[at for at, _ in labels], yticklabels=[said for _, said in labels])
        axes.set(xlim=(0, 100), ylim=(2.6 * len(ways) - 0.9, -0.7), xlabel="% of the time")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=3)
