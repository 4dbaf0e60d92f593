"""Predict times of forgekit's operators on an H200, and record them with times measured on one.

    python -m book.measured.predicted

The program counts each case on the virtual GPU, using a sample of blocks, and writes
`predicted_h200.json`. It takes some minutes and 4 GB of memory. The measured times were recorded
earlier; CASES names their files.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

import torch

import forgekit as fk
from forgekit import ops
from forgekit.compiling.compiled import CompiledKernel
from forgekit.profiling.predicting.constants import calibration
from forgekit.profiling.predicting.facts import Facts
from forgekit.profiling.predicting.model import AGAIN_US, bounds, microseconds
from forgekit.profiling.predicting.predicted import predicted_time

FOLDER = Path(__file__).parent
FILE = FOLDER / "predicted_h200.json"
GPU, BLOCKS = "H200", 64
CONSTANTS = calibration(GPU).constants

# Maps a file with measured times to its cases: operator, shape, type, dimension. The current
# kernels have the same PTX as the timed kernels, except that softmax kernels now wait for the
# previous kernel.
CASES: dict[str, tuple[tuple[str, tuple[int, int], str, int], ...]] = {
    "softmax_peers_h200.json": (
        ("softmax", (1000, 1000), "float32", -1),
        ("softmax", (2048, 1024), "bfloat16", -1),
        ("softmax", (512, 4096), "float32", -1),
        ("softmax", (8192, 8192), "bfloat16", -1),
        ("softmax", (256, 131072), "float32", -1),
        ("softmax", (4096, 50257), "float16", -1),
        ("softmax_backward", (1000, 1000), "bfloat16", -1),
        ("softmax_backward", (2048, 1024), "float32", -1),
        ("softmax_backward", (131072, 257), "float16", -1),
        ("softmax_backward", (8192, 8192), "bfloat16", -1),
        ("softmax_backward", (32768, 4096), "float32", -1),
    ),
    "reduce_h200.json": (
        ("reduce_sum", (16, 1048576), "float16", -1),
        ("reduce_sum", (1, 16777216), "float32", -1),
        ("reduce_sum", (8192, 8192), "bfloat16", -1),
        ("reduce_sum", (256, 131072), "bfloat16", 0),
        ("reduce_sum", (8192, 8192), "float32", 0),
    ),
    "transpose_h200.json": (
        ("copy_transpose", (512, 512), "float16", -1),
        ("copy_transpose", (8192, 8192), "float16", -1),
        ("copy_transpose", (8191, 8193), "bfloat16", -1),
        ("copy_transpose", (1048576, 64), "float32", -1),
    ),
}


def in_graphs(file: str) -> bool:
    """Return True if a file's calls were timed in CUDA graphs, one after another."""
    return file.startswith("softmax_peers")


def measured(file: str, op: str, shape: tuple[int, int], dtype: str, dim: int) -> float:
    """Return the recorded time of a case in microseconds."""
    for row in json.loads((FOLDER / file).read_text("utf-8"))["rows"]:
        if (row["op"], tuple(row["shape"]), row["dtype"], row.get("dim", -1)) != (
            op, shape, dtype, dim,
        ):  # fmt: skip
            continue
        if in_graphs(file):
            return float(row["forgekit_us"])
        if row["contender"] == "forgekit":
            return float(round(row["timing"]["median_ms"] * 1e3, 3))
    raise KeyError(f"{file} has no {op} of {shape} {dtype}")


def launches(op: str, shape: tuple[int, int], dtype: str, dim: int, blocks: int) -> list[Any]:
    """Count the kernels that an operator launches; return each launch with the inputs of the time
    model.
    """
    calls: list[tuple[CompiledKernel, tuple[Any, ...]]] = []

    def note(kernel: CompiledKernel, *args: Any) -> None:
        calls.append((kernel, args))

    function: Callable[..., Any] = getattr(ops, op)
    with fk.use_target("virtual", "sm_90a"):
        x = torch.zeros(shape, dtype=getattr(torch, dtype))
        args = (x, torch.zeros_like(x)) if op == "softmax_backward" else (x,)
        options = {} if op == "copy_transpose" else {"dim": dim}
        with mock.patch.object(CompiledKernel, "__call__", note):
            function(*args, **options)
        profiles = [fk.profile(kernel, *found, blocks=blocks) for kernel, found in calls]
    return [launch.pace for p in profiles for launch in p.launches]


def predicted_us(facts: list[Facts], graphs: bool) -> float:
    """Predict the time of an operator's launches in microseconds. In a graph, even the first launch
    follows another.
    """
    us = microseconds(facts, CONSTANTS)
    return us - CONSTANTS.start_us + AGAIN_US if graphs else us


def bound_of(facts: list[Facts], graphs: bool) -> str:
    """Return the name of the longest bound among an operator's launches."""
    whole = Counter[str]({"start": AGAIN_US * len(facts)})
    if not graphs:
        whole["start"] += CONSTANTS.start_us - AGAIN_US
    for f in facts:
        whole.update(bounds(f, CONSTANTS))
    return whole.most_common(1)[0][0]


def predictions() -> Iterator[dict[str, Any]]:
    """Yield one prediction per case."""
    for file, cases in CASES.items():
        for op, shape, dtype, dim in cases:
            paces = launches(op, shape, dtype, dim, BLOCKS)
            found = predicted_time(op, paces, GPU)
            facts = [f for f, _ in paces]
            graphs = in_graphs(file)
            us = None if found.us is None else round(predicted_us(facts, graphs), 3)
            print(op, shape, dtype, dim, us, *found.reasons, flush=True)
            yield {
                "op": op, "shape": shape, "dtype": dtype, "dim": dim, "file": file,
                "predicted_us": us, "bound": bound_of(facts, graphs), "reasons": found.reasons,
                "measured_us": measured(file, op, shape, dtype, dim),
                "facts": [asdict(f) for f in facts],
            }  # fmt: skip


def main() -> None:
    head = {"gpu": GPU, "date": datetime.date.today().isoformat(), "blocks": BLOCKS,
            "constants": calibration(GPU).measured,
            "command": "python -m book.measured.predicted"}  # fmt: skip
    lines = [json.dumps(p, separators=(",", ":")) for p in predictions()]
    text = f'{json.dumps(head)[:-1]}, "predictions": [\n' + ",\n".join(lines) + "\n]}\n"
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
