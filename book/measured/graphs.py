"""Time operators, their peers and a copy in CUDA graphs on a GPU.

    python -m book.measured.graphs few                  1 to 132 rows of 2^16 to 2^22 elements
    python -m book.measured.graphs drawn --seed 30 --count 200
    python -m book.measured.graphs small                tensors of up to 1 MB
    python -m book.measured.graphs few --resources      resources of the kernels, without a GPU

Calls use rotating buffers that exceed L2 (300 MB, at most 64 sets), so neither the host nor a warm
cache affects the times. Contenders alternate; a time is the median of seven rounds. The copy moves
the same number of bytes, half of them reads. Each result is first compared with a float64
reference. `--out` saves the measurements as JSON.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import random
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from book.measured.neighbours import rows_of
from forgekit import ops
from forgekit.benching.suites.operations import make_inputs, moved_bytes, why_wrong
from forgekit.benching.suites.suite import Case
from forgekit.kernels import WARP
from forgekit.ops.launching import clusters_of
from forgekit.ops.row_launch import compile_rows
from forgekit.profiling.multiprocessor import MULTIPROCESSORS
from tests.ops.row_limits import shared_bytes

BYTES, SETS, ROUNDS = 300e6, 64, 7
OPS = ("softmax", "softmax_backward", "reduce_sum")
FEW_ROWS = (1, 2, 4, 8, 16, 33, 64, 132)
LONG = (2**16, 2**18, 300_001, 2**20, 1_000_003, 2**22)
LARGEST = 2**31  # the maximum number of bytes that a drawn case moves


def few() -> Iterator[Case]:
    """Yield cases with few long rows."""
    for op in OPS:
        for dtype in ("bfloat16", "float32"):
            yield from (Case(op, (m, n), dtype) for n in LONG for m in FEW_ROWS)


def small() -> Iterator[Case]:
    """Yield cases with tensors of up to 1 MB."""
    for op in OPS:
        for m, n in ((1, 1024), (16, 256), (64, 64), (256, 512), (512, 512), (1000, 257)):
            yield Case(op, (m, n), "bfloat16")


def drawn(seed: int, count: int) -> Iterator[Case]:
    """Yield cases with shapes of every magnitude, from 16 to 2^22 columns."""
    draw = random.Random(seed)
    while count:
        n = round(2 ** draw.uniform(4, 22))
        if draw.random() < 0.6:
            n = max(16, n // 16 * 16)  # in practice, most row lengths are multiples of 16
        m = round(2 ** draw.uniform(0, 20))
        dtype = draw.choice(("bfloat16", "float16", "float32"))
        case = Case(draw.choice(OPS), (m, n), dtype)
        if 2**14 <= moved_bytes(case) <= LARGEST:
            count -= 1
            yield case


def contenders(case: Case, compiled: bool) -> dict[str, Callable[..., Any]]:
    """Return the contenders by name."""
    quack: Any
    try:
        quack = importlib.import_module("quack.softmax")
    except ImportError:
        quack = None
    if case.op == "softmax":
        found = {"forgekit": ops.softmax, "torch": partial(torch.softmax, dim=-1)}
    elif case.op == "softmax_backward":
        dtype = getattr(torch, case.dtype)
        torchs = torch._softmax_backward_data  # type: ignore[attr-defined]
        found = {"forgekit": ops.softmax_backward,
                 "torch": lambda dy, y: torchs(dy, y, -1, dtype)}  # fmt: skip
    else:
        found = {"forgekit": ops.reduce_sum, "torch": partial(torch.sum, dim=-1)}
    if compiled:
        torch._dynamo.reset()
        found["compile"] = torch.compile(found["torch"])
    if quack and case.op == "softmax":
        found["quack"] = quack.softmax_fwd
    if quack and case.op == "softmax_backward":
        found["quack"] = quack.softmax_bwd
    return found


def times(case: Case, compiled: bool = False) -> dict[str, Any]:
    """Return the times of each contender and of the copy in microseconds, and the reasons why
    contenders did not run.
    """
    moved = moved_bytes(case)
    sets = max(1, min(SETS, int(BYTES / moved) + 1))
    inputs = [make_inputs(case, torch.device("cuda")) for _ in range(sets)]
    halves = [tuple(torch.empty(2, moved // 8, device="cuda")) for _ in range(sets)]
    calls = max(6, min(200, int(2e-3 / (moved / 3.5e12))))
    row: dict[str, Any] = {"op": case.op, "shape": list(case.shape), "dtype": case.dtype}
    graphs: dict[str, Any] = {}
    everyone = {**contenders(case, compiled), "copy": torch.Tensor.copy_}
    for name, call in everyone.items():
        try:
            if name == "forgekit" and (wrong := why_wrong(case, inputs[0], call(*inputs[0]))):
                row["wrong"] = wrong
            graphs[name] = _graph(call, halves if name == "copy" else inputs, calls)
        except Exception as error:
            row[f"{name}_refused"] = str(error).partition("\n")[0][:120]
            torch.cuda.synchronize()
    found: dict[str, list[float]] = {name: [] for name in graphs}
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for round_ in range(ROUNDS + 1):
        for name, graph in graphs.items():
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            if round_:
                found[name].append(begin.elapsed_time(end) / calls * 1e3)
    return row | {name: round(statistics.median(us), 3) for name, us in found.items()}


def _graph(call: Callable[..., Any], sets: list[tuple[Any, ...]], calls: int) -> Any:
    for one in sets[:3]:
        call(*one)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for k in range(calls):
            call(*sets[k % len(sets)])
    return graph


def resources(cases: Iterator[Case], arch: str = "sm_90a") -> list[dict[str, Any]]:
    """Return the resources of each kernel that the cases use. They are read from the machine code,
    so no GPU is needed.

    registers: the maximum number per thread over the cases; spilled: spilled bytes per thread;
    warps: the percentage of a multiprocessor's warps that can be resident with this number of
    registers.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for case in cases:
        problem, c = rows_of(case, clusters_of(arch))
        made = compile_rows(problem.op, c, getattr(torch, case.dtype), arch)
        block = c.threads * c.rows
        key = case.op, case.dtype, c.kernel, block, c.loads, c.cluster, c.unaligned
        row = found.setdefault(key, {"registers": 0, "spilled": 0, "warps": 100, "cases": 0})
        of_sm = MULTIPROCESSORS["sm_90"]
        blocks = min(of_sm.limits(block, made.registers, shared_bytes(c)).values())
        row["registers"] = max(row["registers"], made.registers)
        row["spilled"] = max(row["spilled"], made.spill_bytes)
        row["warps"] = min(row["warps"], round(100 * blocks * -(-block // WARP) / of_sm.warps))
        row["cases"] += 1
    names = ("op", "dtype", "kernel", "threads", "loads", "cluster", "unaligned")
    return [dict(zip(names, key, strict=True)) | row for key, row in found.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("which", choices=("few", "drawn", "small"))
    parser.add_argument("--seed", type=int, default=30)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--compiled", action="store_true", help="also time torch.compile")
    parser.add_argument("--only", default="", help="time only this operator")
    parser.add_argument("--resources", action="store_true", help="print registers instead of times")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    made = {"few": few, "small": small, "drawn": partial(drawn, chosen.seed, chosen.count)}
    if chosen.resources:
        kernels = resources(made[chosen.which]())
        print(*kernels, sep="\n")
        if chosen.out:
            data = json.loads(chosen.out.read_text("utf-8"))
            _write(chosen.out, data | {"kernels": kernels})
        return
    rows = []
    for case in made[chosen.which]():
        if chosen.only not in ("", case.op):
            continue
        row = times(case, chosen.compiled)
        rows.append(row)
        us = {k: v for k, v in row.items() if isinstance(v, float)}
        own = us.pop("forgekit", float("nan"))
        shown = "  ".join(f"{name} {v / own:.2f}" for name, v in us.items())
        print(f"{case}: {own:.2f} µs; times as long: {shown} {row.get('wrong', '')}", flush=True)
    if chosen.out:
        today, method = datetime.date.today().isoformat(), __doc__.split("\n\n")[2]
        head = {"gpu": torch.cuda.get_device_name(), "date": today, "seed": chosen.seed,
                "method": method.replace("\n", " ")}  # fmt: skip
        _write(chosen.out, head | {"rows": rows})


def _write(path: Path, data: dict[str, Any]) -> None:
    """Write data as JSON, with one line per row."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            value = ",\n".join("  " + json.dumps(row) for row in value)
            parts.append(f"{json.dumps(key)}: [\n{value}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    path.write_text("{" + ", ".join(parts) + "}\n", "utf-8")


if __name__ == "__main__":
    main()
