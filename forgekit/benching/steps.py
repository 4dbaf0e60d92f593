"""Time the kernels of a notebook on the GPU at hand, and record the times for those without one.

    python -m forgekit.benching.steps week0_copy_transpose/05_transpose.py --op transpose

The notebook's cells run in order, as in Jupyter, up to the one that leaves a dict `steps`: name ->
a `@cute.jit` host function of x and y; or a pair of it and a function (x, y) -> specs to compile
for; or a function that has an attribute `calls`, (x, y) -> what to call in their place, such as
several kernels with memory of their own between them. An operation with two inputs has both in
place of x: (dy, y, dx) for `softmax_backward`. Every step is checked before it is timed. Beside the
steps stands what torch does for the same.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forgekit.benching.timing import METHOD, ceiling_gbps, time_gpu, versions
from forgekit.errors import ForgekitError, PlatformError, UsageError, usage_error
from forgekit.output_files import check_output, write_output

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class StepOp:
    """What the steps compute.

    Attributes:
        reference: of the inputs, in a type wide enough to compare with; torch: the usual way to
        compute it. inputs: made of a matrix of random numbers.
        exact: whether a result has to be equal bit for bit; otherwise `fk.check`'s tolerances hold.
        size: of x, how large each result would be if nothing cancelled; for sums the root of the
        squares' sum, which is what their rounding errors go with (week 1, notebook 00).
    """

    reference: Callable[..., torch.Tensor]
    torch: Callable[..., torch.Tensor]
    inputs: Callable[[Any], tuple[Any, ...]] = lambda x: (x,)
    exact: bool = False
    size: Callable[[Any], Any] | None = None


def _softmax_backward(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The gradient of x from that of y = softmax(x, 1), by the operator that autograd uses."""
    import torch

    return torch._softmax_backward_data(dy, y, 1, y.dtype)


STEP_OPS = {
    "copy": StepOp(lambda x: x, lambda x: x.clone(), exact=True),
    "transpose": StepOp(lambda x: x.T, lambda x: x.T.contiguous(), exact=True),
    "row_sum": StepOp(lambda x: x.double().sum(1), lambda x: x.sum(1),
                         size=lambda x: x.square().sum(1).sqrt()),
    "column_sum": StepOp(lambda x: x.double().sum(0), lambda x: x.sum(0),
                            size=lambda x: x.square().sum(0).sqrt()),
    "softmax": StepOp(lambda x: x.double().softmax(1), lambda x: x.softmax(1)),
    "softmax_backward": StepOp(lambda dy, y: _softmax_backward(dy.double(), y.double()),
                                  _softmax_backward, lambda x: (x, x.flip(1).softmax(1))),
}  # fmt: skip


def _right(op: StepOp, y: torch.Tensor, want: torch.Tensor, x: torch.Tensor) -> bool:
    """Whether y is what is wanted, up to rounding; compared where it is, as matrices are large."""
    from forgekit.dtypes import scaled_atol, tolerance

    if op.exact:
        return bool((y == want).all())
    (rtol, atol), large = tolerance(y.dtype), want.abs()
    if op.size is None:  # as in `fk.check`
        atol = scaled_atol(y.dtype, want.double().square().mean().sqrt().item())
    else:
        large = op.size(x.double()).maximum(large)
    return bool(((y.double() - want).abs() <= atol + rtol * large).all())


def _steps(notebook: Path) -> dict[str, Any]:
    """The `steps` that a notebook leaves; its cells are run as Jupyter runs them."""
    from IPython.core.interactiveshell import InteractiveShell

    os.environ.setdefault("FORGEKIT_CHECK", "report")  # as in a notebook
    shell = InteractiveShell.instance()
    _, *cells = re.split(r"^# %%", notebook.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for number, cell in enumerate(cells, start=1):
        header, _, source = cell.partition("\n")
        if header.startswith(" [markdown]"):
            continue
        if not shell.run_cell(source).success and "raises-exception" not in header:
            raise UsageError(f"{notebook}, cell {number} failed; fix it before it is measured")
        if "steps" in shell.user_ns:
            break
    found = shell.user_ns.get("steps")
    if not isinstance(found, dict) or not found:
        raise usage_error(
            "steps", found, "a dict name -> host function", "leave it in the last cell"
        )
    return found


def _rows(steps: dict[str, Any], op: StepOp, shape: tuple[int, int], dtype: str) -> list[Any]:
    import torch

    import forgekit as fk

    x = fk.randn(*shape, dtype=getattr(torch, dtype))
    inputs = op.inputs(x)
    want = op.reference(*inputs)
    moved = sum(t.numel() for t in (*inputs, want)) * x.element_size()
    calls: dict[str, Callable[[], Any]] = {"torch": partial(op.torch, *inputs)}
    for name, step in steps.items():
        fn, specs = step if isinstance(step, tuple) else (step, None)
        y = torch.full(want.shape, float("nan"), dtype=x.dtype, device=x.device)
        args = (*inputs, y)
        try:
            made = getattr(fn, "calls", None)
            if made is not None:
                call = made(*args)
            else:
                call = partial(fk.compile(fn, *(specs(*args) if specs else args)), *args)
            call()
        except Exception as error:  # a step may be for one type only
            print(f"{name}, {dtype}: left out, {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        if not _right(op, y, want, x):
            raise UsageError(f"{name}, {shape} {dtype}: the result is wrong; nothing was recorded")
        calls[name] = call
    rows = []
    for name, call in calls.items():
        timing = time_gpu(call)
        times = {"ms": timing.median_ms, "p20_ms": timing.p20_ms, "p80_ms": timing.p80_ms,
                "gbps": timing.gbps(moved)}  # fmt: skip
        rounded = {key: float(f"{value:.5g}") for key, value in times.items()}
        rows.append({"step": name, "shape": list(shape), "dtype": dtype, **rounded})
        print(f"{dtype:>9} {shape} {name:<28} {times['ms']:8.4f} ms {times['gbps']:7.0f} GB/s")
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m forgekit.benching.steps", description=__doc__)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--op", choices=sorted(STEP_OPS), required=True)
    parser.add_argument("--size", type=int, nargs=2, action="append", metavar=("ROWS", "COLUMNS"))
    parser.add_argument("--dtype", nargs="+", default=["float32", "float16"])
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    import torch

    if not torch.cuda.is_available():
        raise PlatformError("there is no GPU to measure on")
    if args.out:
        check_output("--out", args.out)
    steps = _steps(args.notebook)
    rows = []
    for size in args.size or [(8192, 8192)]:
        for dtype in args.dtype:
            rows += _rows(steps, STEP_OPS[args.op], tuple(size), dtype)
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
