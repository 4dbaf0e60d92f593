"""Record ncu's, compute-sanitizer's and torch.profiler's results for kernels.py, on a machine with
a GPU.

    python record.py run RAW          runs the tools; their outputs go to the folder RAW
    python record.py keep RAW         copies the parts that notebook 09 shows from RAW to this
    folder

`run` needs a GPU, ncu with permission to read counters, and compute-sanitizer; each tool has a time
limit, and failures are noted and omitted. `keep` needs none of these.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
KERNELS = HERE / "kernels.py"
SIZE, SMALL = 8192, 1024

# ncu's names for quantities that the virtual GPU also counts.
COUNTERS = (
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
)

OURS = "regex:transpose_|turn"  # kernels' names


PROGRAMS = ("transposes", "suspects", "turn")  # arguments of kernels.py under ncu

# compute-sanitizer's runs: its tool, the bug in kernels.py, and the environment. Without PyTorch's
# caching, every tensor is a separate allocation, whose end the tools know.
ALONE = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
SANITIZED: dict[str, tuple[str, str, dict[str, str]]] = {
    "overhang_cached": ("memcheck", "overhang", {}),
    "overhang": ("memcheck", "overhang", ALONE),
    "race_shared": ("racecheck", "race_shared", ALONE),
    "race_global": ("racecheck", "race_global", ALONE),
    "unset_global": ("initcheck", "unset_global", ALONE),
    "unset_shared": ("initcheck", "unset_shared", ALONE),
    "split_barrier": ("synccheck", "split_barrier", ALONE),
}


@dataclass(frozen=True)
class Step:
    """A command. name: the file in RAW for its output; limit_s; environment: additional
    variables."""

    name: str
    limit_s: int
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)


def program(*arguments: str) -> list[str]:
    return [sys.executable, KERNELS.name, *arguments]


def steps(raw: Path) -> list[Step]:
    """Return all commands, the most important first."""
    asked = ["--clock-control", "none", "-k", OURS, "--metrics", ",".join(COUNTERS)]
    as_csv = ["--csv", "--print-units", "base"]
    to_file = ["--page", "raw", *as_csv, "--log-file", str(raw / "counters.csv")]
    small = program("transposes", "--size", str(SMALL))
    found = [
        Step("gpu.txt", 20, ["nvidia-smi", "--query-gpu=name,driver_version",
                             "--format=csv,noheader"]),
        Step("ncu_version.txt", 20, ["ncu", "--version"]),
        Step("sanitizer_version.txt", 20, ["compute-sanitizer", "--version"]),
        Step("counters.txt", 90, ["ncu", *asked, *to_file, *small]),
    ]  # fmt: skip
    full = ["ncu", "--set", "full", "--import-source", "yes", *asked]
    for name in PROGRAMS:
        report = str(raw / f"{name}.ncu-rep")
        watched = program(name, "--size", str(SIZE))
        found.append(Step(f"{name}.txt", 120, [*full, "-f", "-o", report, *watched]))
        views = {
            "raw.csv": ["--page", "raw", *as_csv],
            "details.csv": ["--page", "details", *as_csv],
            "details.txt": ["--page", "details"],
            "source.csv": ["--page", "source", *as_csv, "--print-source", "cuda,sass"],
        }
        for end, view in views.items():
            found.append(Step(f"{name}_{end}", 40, ["ncu", "--import", report, *view]))
    for name, (tool, bug, environment) in SANITIZED.items():
        watch = ["compute-sanitizer", "--tool", tool, "--show-backtrace", "no"]
        found.append(Step(f"{name}.txt", 100, [*watch, *program("bug", bug)], environment))
    timed = program("timeline", "--out", str(raw / "timeline.json"))
    found.append(Step("timeline.txt", 90, timed))
    if shutil.which("nsys"):
        watch = ["nsys", "profile", "-t", "cuda,nvtx", "--stats=true", "-o", str(raw / "nsys")]
        found.append(Step("nsys.txt", 60, [*watch, *program("timeline", "--out", os.devnull)]))
    return found


def run(raw: Path, budget_s: float, only: str) -> None:
    raw.mkdir(parents=True, exist_ok=True)
    began, told = time.monotonic(), {}
    for step in steps(raw):
        left = budget_s - (time.monotonic() - began)
        if not re.search(only, step.name):
            continue
        start = time.monotonic()
        try:
            done = subprocess.run(
                step.command, cwd=HERE, env=os.environ | step.environment, text=True,
                timeout=max(1, min(step.limit_s, left)), errors="replace",
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            text, how = done.stdout, f"ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            text, how = "", "ran out of time"
        except OSError as error:
            text, how = "", str(error)
        (raw / step.name).write_text(text)
        told[step.name] = f"{how}, {time.monotonic() - start:.1f} s"
        print(f"{step.name:28s} {told[step.name]}", flush=True)
    log = {"date": datetime.date.today().isoformat(), "told": told, "root": str(HERE)}
    (raw / "log.json").write_text(json.dumps(log | {"versions": versions()}, indent=1))


def versions() -> dict[str, str]:
    from importlib import metadata

    import torch

    return {
        "cute_dsl": metadata.version("nvidia-cutlass-dsl"),
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda),
    }


# -- kept data ----------------------------------------------------------------------------------
METRICS = (
    "gpu__time_duration.sum",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    *COUNTERS,
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__inst_executed.sum",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "launch__registers_per_thread",
    "launch__shared_mem_per_block",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
)
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALLS = ("barrier", "branch_resolving", "dispatch", "drain", "imc_miss", "lg_throttle",
          "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc",
          "no_instruction", "not_selected", "selected", "short_scoreboard", "sleeping",
          "tex_throttle", "wait")  # fmt: skip
LAUNCH = ("ID", "Kernel Name", "Block Size", "Grid Size")
DETAILS = ("Kernel Name", "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name",
           "Rule Type", "Rule Description", "Estimated Speedup")  # fmt: skip
LINES = ("Line No", "Source", "# Samples", "Instructions Executed", "L1 Wavefronts Shared",
         "L1 Wavefronts Shared Ideal", "L2 Theoretical Sectors Global",
         "L2 Theoretical Sectors Global Ideal", "stall_barrier", "stall_drain", "stall_lg",
         "stall_long_sb", "stall_mio", "stall_short_sb")  # fmt: skip
SECTIONS = ("GPU Speed Of Light Throughput", "Memory Workload Analysis Tables", "Occupancy",
            "Warp State Statistics")  # fmt: skip


def rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of ncu's CSV, without the text before it."""
    lines = file.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    return list(csv.DictReader(lines[first:]))


def write(name: str, columns: Sequence[str], table: Iterable[Mapping[str, str]]) -> None:
    """Write some columns of a table, in ncu's format."""
    with open(HERE / name, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n",
                                quoting=csv.QUOTE_ALL)  # fmt: skip
        writer.writeheader()
        writer.writerows(table)


def source_rows(file: Path) -> Iterator[dict[str, str]]:
    """Yield the Python lines of ncu's page `source`, each with the kernel's name."""
    kernel, header = "", []
    for row in csv.reader(file.read_text().splitlines()):
        if row[0] == "Function Name":
            kernel = row[1]
        elif row[0] == "Line No":
            header = row
        elif row[0].isdigit() and len(row) == len(header):
            named: dict[str, str] = {}
            for column, value in zip(header, row, strict=True):
                named.setdefault(column, value)  # SASS also has a column `Source`
            yield {"Kernel Name": kernel} | named


def sections(text: str, kernel: str) -> str:
    """Return ncu's output for a kernel, with only some sections."""
    block = next(b for b in re.split(r"\n(?=  \S)", text) if b.lstrip().startswith(kernel))
    head, *parts = re.split(r"\n(?=    Section: )", block)
    names = [f"    Section: {name}\n" for name in SECTIONS]
    chosen = [p.rstrip() for p in parts if p.startswith(tuple(names))]
    return fitted("\n\n".join([head.splitlines()[0], *chosen])) + "\n"


def fitted(text: str, width: int = 96) -> str:
    """Wrap ncu's rules, which have lines of 120 columns, to fewer columns."""
    lines: list[str] = []
    for paragraph in re.split(r"(?m)^(?=    (?:INF|OPT) )", text):
        rule = re.match(r"    (?:INF|OPT) .*(?:\n {10}.*)*", paragraph)
        if rule is None:
            lines.append(paragraph)
            continue
        head, _, told = rule[0].partition("\n") if "Est." in rule[0] else ("", "", rule[0])
        first = " " * 10 if head else told[:10]
        words = told if head else told[10:]
        broken = textwrap.fill(" ".join(words.split()), width, initial_indent=first,
                               subsequent_indent=" " * 10, break_long_words=False)  # fmt: skip
        whole = f"{head.rstrip()}\n{broken}" if head else broken
        lines.append(whole + paragraph[rule.end() :])
    return "".join(lines)


def few(text: str) -> str:
    """Return the first two findings and the totals from compute-sanitizer's text."""
    text = re.sub(r"0x7f[0-9a-f]+([0-9a-f]{5})\b", r"0x…\1", text)  # differs between processes
    text = re.sub(r"(?m)^(?!=========|\w+: launched).*\n", "", text)  # other libraries' output
    blocks = re.split(r"(?m)^(?==+ (?:Invalid|Uninitialized) )", text)
    last = re.sub(r"(?s)\A.*?(?=^(?:\w+: launched|=+ (?:Target|Error: process|ERROR)))", "",
                  blocks[-1], flags=re.MULTILINE)  # fmt: skip
    if len(blocks) <= 3:
        return text
    return "".join([*blocks[:3], f"[… {len(blocks) - 3} more like these …]\n", last])


def timeline(raw: Path) -> dict[str, Any]:
    """Map each way to the work of host and GPU as [start, duration, name], from the second launch
    on."""
    trace = json.loads((raw / "timeline.trace.json").read_text())["traceEvents"]
    events = [e for e in trace if e.get("ph") == "X"]
    ways = {}
    for way in (e for e in events if e.get("cat") == "user_annotation"):
        calls = [e for e in events if e.get("cat") == "cuda_runtime"
                 and way["ts"] <= e["ts"] < way["ts"] + way["dur"]
                 and e["name"] != "cudaStreamIsCapturing"]  # fmt: skip
        launches = sorted(e["ts"] for e in calls if "Launch" in e["name"])
        if len(launches) > 1:  # under a profiler, the first launch takes longest
            calls = [e for e in calls if e["ts"] >= launches[1]]
        ids = {e["args"].get("correlation") for e in calls}
        work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy")
                and e["args"].get("correlation") in ids]  # fmt: skip
        zero = min(e["ts"] for e in calls)
        ways[way["name"]] = {
            who: sorted([round(e["ts"] - zero, 2), round(e["dur"], 2), e["name"]] for e in part)
            for who, part in (("host", calls), ("gpu", work))
        }
    return ways


def keep(raw: Path) -> None:
    log = json.loads((raw / "log.json").read_text())
    gpu, driver = (raw / "gpu.txt").read_text().strip().split(", ")
    version = {
        tool: re.findall(r"Version (\S+)", (raw / f"{tool}_version.txt").read_text())[0]
        for tool in ("ncu", "sanitizer")
    }
    about = {"gpu": gpu, "driver": driver, "date": log["date"], **log["versions"], **version}
    (HERE / "origin.json").write_text(json.dumps(about, indent=1) + "\n")
    write("ncu_counters.csv", (*LAUNCH, *COUNTERS), rows(raw / "counters.csv"))
    stalls = [STALLED.format(stall) for stall in STALLS]
    units, *of_all = rows(raw / "transposes_raw.csv")
    of_all += [row for name in PROGRAMS[1:] for row in rows(raw / f"{name}_raw.csv")[1:]]
    write("ncu_metrics.csv", (*LAUNCH, *METRICS, *stalls), [units, *of_all])
    write("ncu_details.csv", DETAILS, rows(raw / "transposes_details.csv"))
    lines = [
        row for name in ("transposes", "turn") for row in source_rows(raw / f"{name}_source.csv")
    ]
    write("ncu_source.csv", ("Kernel Name", *LINES), lines)
    text = (raw / "transposes_details.txt").read_text()
    (HERE / "ncu_terminal.txt").write_text(sections(text, "transpose_scatter_0"))
    said = {
        name: {"tool": tool, "bug": bug, "environment": environment,
               "text": few((raw / f"{name}.txt").read_text())}
        for name, (tool, bug, environment) in SANITIZED.items()
    }  # fmt: skip
    (HERE / "sanitizer.json").write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n")
    times = json.loads((raw / "timeline.json").read_text())
    rounded = {k: {n: round(t, 1) for n, t in v.items()} for k, v in times.items()}
    whole = json.dumps({**rounded, "ways": timeline(raw)})
    (HERE / "timeline.json").write_text(whole.replace(']], "', ']],\n "') + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["run", "keep"])
    parser.add_argument("raw", type=Path)
    parser.add_argument("--seconds", type=float, default=480, help="for all of `run`")
    parser.add_argument("--only", default="", help="outputs whose name this pattern finds")
    given = parser.parse_args()
    if given.what == "run":
        run(given.raw.resolve(), given.seconds, given.only)
    else:
        keep(given.raw)
    return 0


if __name__ == "__main__":
    sys.exit(main())
