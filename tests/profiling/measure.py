"""Measure the counters of every kernel with Nsight Compute, on a machine with a GPU.

    python -m tests.profiling.measure --out tests/profiling/golden/h200_counters.json
    python -m tests.profiling.measure --check       launches all cases on this device, without ncu

ncu runs twice: for the hardware counters of all cases, and for counters of some cases that ncu
obtains by instrumenting the machine code, which is slow. In each run, one process launches every
case once, in the order of the table, and checks the results.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from forgekit.devices import current_target
from forgekit.profiling.nvidia import ncu, tools
from tests.profiling.case import moved
from tests.profiling.counter_kernels import KERNELS

GOLDEN = Path(__file__).parent / "golden" / "h200_counters.json"
METRICS: dict[str, str] = json.loads(GOLDEN.read_text())["metrics"]  # maps a counter to ncu's name
INSTRUMENTED = (
    r"^[tr]_|half_warps|uneven|cpasync|atom|red|tile|xor|_many|128_.*_0$|64_.*_0$|^copy_f"
)


# -- the process under ncu --------------------------------------------------------------
def launch_all(names: list[str], out: Path | None) -> int:
    """Launch each case once, in order, then check the results; return the number of wrong results.

    out: a JSON file that receives the name of each case's kernel, and the error of each failed
    case.
    """
    where = current_target().torch_device
    prepared = {}
    for name in names:
        tensors = tuple(moved(t, where) for t in KERNELS[name].make())
        prepared[name] = KERNELS[name].compile(tensors), tensors
    for compiled, tensors in prepared.values():
        compiled(*tensors)
    problems = {}
    for name, (_, tensors) in prepared.items():
        problem = KERNELS[name].problem(tensors)
        if problem is not None:
            problems[name] = problem
            print(f"WRONG {name}: {problem}")
    if out is not None:
        kernels = {name: KERNELS[name].kernel for name in names}
        out.write_text(json.dumps({"kernels": kernels, "problems": problems}))
    print(f"{len(names)} launched, {len(problems)} wrong", flush=True)
    return len(problems)


# -- the process that runs ncu -----------------------------------------------------------------
def measured(names: list[str], metrics: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the value of each counter by case, and the error of each case whose result is wrong.

    Raises:
        RuntimeError: ncu failed, or its rows do not match the launches.
    """
    with tempfile.TemporaryDirectory() as folder:
        launched = Path(folder, "launched.json")
        program = [sys.executable, "-m", "tests.profiling.measure", "--launch", str(launched)]
        program += ["--only", f"^({'|'.join(names)})$"]
        options = ncu.options_of(metrics=tuple(metrics.values()))
        done = ncu.run(tools.require(tools.NCU), program, *options)
        if not launched.exists():
            raise RuntimeError(f"ncu ended with {done.status}:\n{done.log[-3000:]}")
        said = json.loads(launched.read_text())
    return match(said["kernels"], done.rows, metrics), said["problems"]


def match(
    kernels: dict[str, str], rows: list[dict[str, str]], metrics: dict[str, str]
) -> dict[str, dict[str, int]]:
    """Return the value of each counter by case, from the launches in order (case -> kernel) and
    ncu's rows.

    Raises:
        RuntimeError: the number of rows differs, or a row's kernel is not the launched kernel.
    """
    if len(rows) != len(kernels):
        raise RuntimeError(f"{len(kernels)} launches, but ncu has {len(rows)} rows")
    found: dict[str, dict[str, int]] = {}
    for (case, kernel), row in zip(kernels.items(), rows, strict=True):
        if f"kernel_cutlass_{kernel}_" not in row["Kernel Name"]:
            raise RuntimeError(f"{case} launched {kernel}, but ncu's row is {row['Kernel Name']}")
        values = {counter: ncu.number(row.get(name)) for counter, name in metrics.items()}
        found[case] = {counter: int(v) for counter, v in values.items() if v is not None}
    return found


def measure(names: list[str], out: Path) -> None:
    """Run ncu twice, and write the file."""
    from forgekit.benching.timing import versions

    slow = {c: name for c, name in METRICS.items() if "sass" in name}
    fast = {c: name for c, name in METRICS.items() if c not in slow}
    some = [name for name in names if re.search(INSTRUMENTED, name)]
    counters, problems = measured(names, fast)
    for case, values in measured(some, slow)[0].items() if some else ():
        counters[case] |= values
    record = {
        "about": "Hardware counters of the cases in tests/profiling/counter_kernels.py, one launch "
        "each. kernels: case -> counter -> value; metrics: counter -> ncu's name.",
        "origin": {
            **versions(),
            "arch": current_target().arch,
            "date": datetime.date.today().isoformat(),
            "command": "python -m tests.profiling.measure " + " ".join(sys.argv[1:]),
        },
        "metrics": METRICS,
        "problems": problems,
        "kernels": counters,
    }
    write(out, record)


def write(path: Path, record: dict[str, Any]) -> None:
    """Write JSON with one line per case."""
    parts = []
    for key, value in record.items():
        if isinstance(value, dict) and any(isinstance(v, dict) for v in value.values()):
            inner = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            parts.append(f"{json.dumps(key)}: {{\n{inner}\n}}")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=GOLDEN)
    parser.add_argument("--only", default="", help="only cases whose names match this")
    parser.add_argument("--check", action="store_true", help="launch and check, without ncu")
    parser.add_argument("--launch", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = [name for name in KERNELS if re.search(given.only, name)]
    if given.launch or given.check:
        return 1 if launch_all(names, given.launch) and given.check else 0
    measure(names, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
