"""Measure the counters of every kernel with Nsight Compute, on a machine with a GPU.

    python -m tests.profiling.measure --out tests/profiling/golden/h200_counters.json

One run of ncu for each group of metrics (`ncu.py`); in each, one process launches every case once,
in the order of the table, and checks the results. The file is written after each run, so that
what was measured is kept whatever happens later.

    python -m tests.profiling.measure --dry-run     what would run; needs no GPU
    python -m tests.profiling.measure --check       launch all on the device chosen, without ncu
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.profiling import ncu as nsight

GOLDEN = Path(__file__).parent / "golden" / "h200_counters.json"
STARTUP_S = 75  # Python, torch, the compiler and ncu's own start and end, at most


# -- the process that ncu watches --------------------------------------------------------------
def launch_all(names: list[str], seconds: float, told: Path | None) -> int:
    """Launch each case once, in order, for at most `seconds`; then check results.

    Writes the order and the problems to `told`. Returns how many cases failed.
    """
    import torch

    import forgekit as fk
    from tests.profiling.counter_kernels import KERNELS

    target = fk.current_target()
    where, host = target.torch_device, torch.device("cpu")
    began = time.perf_counter()
    prepared = {}
    for name in names:
        tensors = KERNELS[name].make(where)
        prepared[name] = KERNELS[name].compile(tensors), tensors
    print(f"{len(names)} cases compiled for {target.name} in {time.perf_counter() - began:.0f} s")
    launched: list[str] = []
    began = time.perf_counter()
    for name, (compiled, tensors) in prepared.items():
        if time.perf_counter() - began > seconds:
            print(f"out of time after {len(launched)} cases")
            break
        compiled(*tensors)
        launched.append(name)
        if len(launched) % 50 == 0:
            print(f"  {len(launched)} launched, {time.perf_counter() - began:.0f} s")
    problems = {}
    for name in launched:
        case = KERNELS[name]
        problem = case.problem(case.make(host), prepared[name][1])
        if problem is not None:
            problems[name] = problem
            print(f"WRONG {name}: {problem}")
    kernels = {name: KERNELS[name].kernel for name in launched}
    if told is not None:
        told.write_text(json.dumps({"kernels": kernels, "problems": problems}))
    print(f"{len(launched)} launched, {len(problems)} wrong", flush=True)
    return len(problems)


# -- the process that runs ncu -----------------------------------------------------------------
def profile(name: str, metrics: list[str], names: list[str], ncu: str) -> dict[str, Any]:
    """Run one group: which cases were launched, what was wrong, case -> metric -> value.

    Raises:
        RuntimeError: ncu failed, or its rows are not the launches.
    """
    group = nsight.GROUPS[name]
    with tempfile.TemporaryDirectory(prefix="forgekit-ncu-") as folder:
        told, log = Path(folder, "told.json"), Path(folder, "ncu.csv")
        only = f"^({'|'.join(names)})$"
        program = [sys.executable, "-m", "tests.profiling.measure", "--launch", str(told)]
        program += ["--seconds", str(group.seconds), "--only", only]
        line = nsight.command(ncu, metrics, log, program)
        done = subprocess.run(line, timeout=group.seconds + STARTUP_S)
        text = log.read_text() if log.exists() else ""
        if not told.exists():
            raise RuntimeError(f"ncu ended with {done.returncode}:\n{text[-3000:]}")
        said = json.loads(told.read_text())
        rows = nsight.parse(text)
    return {**said, "values": match(said["kernels"], rows)}


def match(kernels: dict[str, str], rows: list[nsight.Row]) -> dict[str, dict[str, Any]]:
    """Case -> metric -> value, from the launches in order (case -> kernel) and ncu's rows.

    Raises:
        RuntimeError: another number of rows, or another kernel than was launched.
    """
    if len(rows) != len(kernels):
        raise RuntimeError(f"{len(kernels)} launches, but ncu has {len(rows)} rows")
    for (case, kernel), row in zip(kernels.items(), rows, strict=True):
        if f"kernel_cutlass_{kernel}_" not in row.kernel:
            raise RuntimeError(f"{case} launched {kernel}, but ncu's row is {row.kernel}")
    return {case: row.values for case, row in zip(kernels, rows, strict=True)}


def counters(values: dict[str, Any]) -> dict[str, int]:
    """The values under their short names, those that were measured."""
    found = {}
    for alias, names in nsight.ALIASES.items():
        value = next((values[n] for n in names if values.get(n) is not None), None)
        if value is not None:
            found[alias] = value
    return found


def origin(ncu: str) -> dict[str, str]:
    """Where the numbers come from."""
    from importlib import metadata

    import torch

    from forgekit.devices import gpu_report

    report = gpu_report()
    version = subprocess.run([ncu, "--version"], capture_output=True, text=True).stdout
    return {
        "gpu": str(report.gpu),
        "arch": report.target.arch if report.target else "",
        "driver": str(report.driver),
        "cuda": str(torch.version.cuda),
        "torch": str(torch.__version__),
        "cute_dsl": metadata.version("nvidia-cutlass-dsl"),
        "ncu": (re.findall(r"Version (\S+)", version) or ["?"])[0],
        "date": datetime.date.today().isoformat(),
        "command": "python -m tests.profiling.measure " + " ".join(sys.argv[1:]),
    }


def surprises(measured: dict[str, dict[str, int]]) -> list[str]:
    """Where the hardware's number is not the documented rule's."""
    from tests.profiling.counter_kernels import KERNELS

    lines = []
    for case, values in measured.items():
        for counter, rule in KERNELS[case].expected.items():
            if counter in values and values[counter] != rule:
                lines.append(f"{case}: {counter} {values[counter]}, by the rule {rule}")
    return lines


def write(path: Path, record: dict[str, Any]) -> None:
    """JSON with one line a case."""
    parts = []
    for key, value in record.items():
        if isinstance(value, dict) and any(isinstance(v, dict) for v in value.values()):
            inner = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            parts.append(f"{json.dumps(key)}: {{\n{inner}\n}}")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def measure(names: list[str], out: Path, groups: list[str], ncu: str) -> None:
    existing = nsight.existing_metrics(ncu)
    print(f"ncu knows {len(existing)} metrics")
    record: dict[str, Any] = {
        "about": "Hardware counters of the cases in tests/profiling/counter_kernels.py, one launch "
        "each. kernels: case -> counter -> value; metrics: counter -> ncu's name. raw_*: all that "
        "a run of ncu collected, values in the order of `metrics`; null: not measured.",
        "origin": origin(ncu),
        "metrics": {},
        "problems": {},
        "kernels": {},
        "existing": [m for m in existing if any(word in m for word in nsight.INTERESTING)],
    }
    merged: dict[str, dict[str, Any]] = {}
    for group in groups:
        metrics = nsight.chosen(nsight.GROUPS[group], existing)
        cases = [n for n in names if re.search(nsight.GROUPS[group].cases, n)]
        print(f"{group}: {len(metrics)} metrics, {len(cases)} cases", flush=True)
        began = time.perf_counter()
        try:
            try:
                result = profile(group, metrics, cases, ncu)
            except (RuntimeError, ValueError) as error:
                if group != "core":
                    raise
                print(f"core with all metrics FAILED: {str(error)[-3000:]}")
                record["problems"]["core with all metrics"] = str(error)[-3000:]
                metrics = nsight.chosen(nsight.GROUPS[group], ())  # what is known to work
                result = profile(group, metrics, cases, ncu)
        except (RuntimeError, ValueError, OSError, subprocess.TimeoutExpired) as error:
            print(f"{group} FAILED: {str(error)[-3000:]}")
            record["problems"][group] = str(error)[-3000:]
            write(out, record)
            continue
        print(f"{group}: {len(result['values'])} cases, {time.perf_counter() - began:.0f} s")
        for case, values in result["values"].items():
            merged[case] = values | merged.get(case, {})
        record["problems"] |= result["problems"]
        rows = {c: [v.get(m) for m in metrics] for c, v in result["values"].items()}
        record[f"raw_{group}"] = {"metrics": metrics} | rows
        record["kernels"] = {case: counters(values) for case, values in merged.items()}
        used = {m for values in merged.values() for m in values}
        record["metrics"] = {
            alias: next(n for n in found if n in used)
            for alias, found in nsight.ALIASES.items()
            if used.intersection(found)
        }
        write(out, record)
    lines = surprises(record["kernels"])
    print(f"{len(lines)} counters differ from the documented rules", *lines[:60], sep="\n  ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=GOLDEN)
    parser.add_argument("--only", default="", help="cases whose name this pattern finds")
    parser.add_argument("--groups", default=",".join(nsight.GROUPS))
    parser.add_argument("--dry-run", action="store_true", help="list what would run")
    parser.add_argument("--check", action="store_true", help="launch and check, without ncu")
    parser.add_argument("--launch", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=1e9, help=argparse.SUPPRESS)
    given = parser.parse_args()
    from tests.profiling.counter_kernels import KERNELS

    names = [name for name in KERNELS if re.search(given.only, name)]
    if given.launch or given.check:
        return 1 if launch_all(names, given.seconds, given.launch) and given.check else 0
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    if given.dry_run:
        for name in names:
            case = KERNELS[name]
            print(f"{name:32s} {case.kernel:24s} {case.why}; {dict(case.expected)}")
        print(*nsight.command(ncu, ["METRICS"], Path("LOG"), ["PROGRAM"]))
        return 0
    measure(names, given.out, given.groups.split(","), ncu)
    return 0


if __name__ == "__main__":
    sys.exit(main())
