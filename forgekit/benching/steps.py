"""Time a notebook's kernels on this machine's GPU, and record the times for readers without a GPU.

    python -m forgekit.benching.steps week0_copy_transpose/07_transpose.py --op transpose

The notebook's cells run in order, as in Jupyter, up to the cell that defines a dict `steps`. Its
keys are names; each value is one of these:

- a `@cute.jit` host function of x and y;
- a pair of such a function and a function of x and y that returns the specs to compile for;
- a function with an attribute `calls`, a function of x and y that returns the function to call.
  That function may launch several kernels and pass data through temporary memory.

For an operation with two inputs, both take the place of x: (dy, y, dx) for `softmax_backward`. The
result of every step is checked before the step is timed. torch's time for the same operation is
also recorded.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from forgekit.benching.suites.operations import make_inputs, moved_bytes, result_shape, why_wrong
from forgekit.benching.suites.peers import PEERS
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import METHOD, ceiling_gbps, time_gpu, versions
from forgekit.compiling.compiled import compile
from forgekit.devices import current_target
from forgekit.errors import ForgekitError, PlatformError, UsageError, usage_error
from forgekit.output_files import check_output, write_output

# Maps each operation's name for --op to its name in the suites and its dimension.
STEP_OPS = {
    "copy": ("copy", -1),
    "transpose": ("copy_transpose", -1),
    "row_sum": ("reduce_sum", -1),
    "column_sum": ("reduce_sum", 0),
    "softmax": ("softmax", -1),
    "softmax_backward": ("softmax_backward", -1),
}


def _steps(notebook: Path) -> dict[str, Any]:
    """Run a notebook's cells as in Jupyter, and return the `steps` that they define."""
    from IPython.core.interactiveshell import InteractiveShell

    os.environ.setdefault("FORGEKIT_CHECK", "report")  # as in a notebook
    sys.path.insert(0, str(notebook.parent.resolve()))  # for importing the week's helpers
    shell = InteractiveShell.instance()
    _, *cells = re.split(r"^# %%", notebook.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for number, cell in enumerate(cells, start=1):
        header, _, source = cell.partition("\n")
        if header.startswith(" [markdown]"):
            continue
        if not shell.run_cell(source).success and "raises-exception" not in header:
            raise UsageError(f"{notebook}, cell {number} failed; fix it before measuring")
        if "steps" in shell.user_ns:
            break
    found = shell.user_ns.get("steps")
    if not isinstance(found, dict) or not found:
        raise usage_error(
            "steps", found, "a dict from names to host functions", "define it in the last cell"
        )
    return found


def _rows(steps: dict[str, Any], case: Case) -> list[dict[str, Any]]:
    """Time every step and torch's operation.

    Raises:
        UsageError: the result of a step is wrong.
    """
    inputs = make_inputs(case, current_target().torch_device)
    calls: dict[str, Callable[[], Any]] = {"torch": PEERS["torch"](case, inputs)}
    for name, step in steps.items():
        y = inputs[0].new_full(result_shape(case), float("nan"))
        try:
            call = _call(step, (*inputs, y))
            call()
        except Exception as error:  # a step may support only one type
            said = str(error).splitlines()[0]
            print(f"{name}, {case.dtype}: left out because {said}", file=sys.stderr)
            continue
        if wrong := why_wrong(case, inputs, y):
            raise UsageError(
                f"{name}, {case}: the result is wrong ({wrong}); no times were recorded"
            )
        calls[name] = call
    return [_timed(name, call, case) for name, call in calls.items()]


def _call(step: Any, args: tuple[torch.Tensor, ...]) -> Callable[[], Any]:
    fn, specs = step if isinstance(step, tuple) else (step, None)
    if hasattr(fn, "calls"):
        made: Callable[[], Any] = fn.calls(*args)
        return made
    return partial(compile(fn, *(specs(*args) if specs else args)), *args)


def _timed(name: str, call: Callable[[], Any], case: Case) -> dict[str, Any]:
    timing = time_gpu(call)
    times = {"ms": timing.median_ms, "p20_ms": timing.p20_ms, "p80_ms": timing.p80_ms,
             "gbps": timing.gbps(moved_bytes(case))}  # fmt: skip
    shape, dtype = case.shape, case.dtype
    print(f"{dtype:>9} {shape} {name:<28} {times['ms']:8.4f} ms {times['gbps']:7.0f} GB/s")
    rounded = {key: float(f"{value:.5g}") for key, value in times.items()}
    return {"step": name, "shape": list(shape), "dtype": dtype, **rounded}


def main(argv: Sequence[str] | None = None) -> int:
    """Time a notebook's steps, print the times, and write them to a JSON file."""
    parser = argparse.ArgumentParser(prog="python -m forgekit.benching.steps", description=__doc__)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--op", choices=sorted(STEP_OPS), required=True)
    parser.add_argument("--size", type=int, nargs=2, action="append", metavar=("ROWS", "COLUMNS"))
    parser.add_argument("--dtype", nargs="+", default=["float32", "float16"])
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    if not torch.cuda.is_available():
        raise PlatformError("there is no GPU to measure on")
    if args.out:
        check_output("--out", args.out)
    steps = _steps(args.notebook)
    op, dim = STEP_OPS[args.op]
    rows = []
    for rows_columns, dtype in itertools.product(args.size or [(8192, 8192)], args.dtype):
        rows += _rows(steps, Case(op, tuple(rows_columns), dtype, dim))
    data = {
        "gpu": torch.cuda.get_device_name(),
        "date": datetime.date.today().isoformat(),
        "versions": versions(),
        "method": METHOD,
        "op": args.op,
        "ceiling_gbps": round(ceiling_gbps(), 1),
        "rows": rows,
    }
    print(f"ceiling {data['ceiling_gbps']} GB/s")
    if args.out:
        write_output("--out", args.out, json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ForgekitError as error:
        sys.exit(f"forgekit: {error}")
