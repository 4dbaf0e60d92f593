"""Measure how fast the virtual GPU runs three kernels: `python -m tests.vgpu.bench --sizes 256`.

The peers, measured on the same machine in the same run, are Triton's interpreter (extra `peers`)
and torch on the CPU, which computes the same results natively.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import torch

import forgekit as fk
from forgekit.benching.measuring import count_call
from forgekit.benching.timing import best_ms
from forgekit.commands.options import AtLeast, Command
from forgekit.errors import ForgekitError, brief, usage_error
from forgekit.output_files import check_output, write_output
from forgekit.text import Table, plural
from forgekit.vgpu import options
from tests.vgpu.bench import kernels

SCHEMA, VERSION = "forgekit-bench-vgpu", 1
# The kernels, and torch's functions with the same results.
VGPU_KERNELS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transpose": lambda x: x.T.contiguous(),
    "row_sum": lambda x: x.sum(1),
    "softmax": lambda x: x.softmax(1),
}


@dataclass(frozen=True)
class VgpuRow:
    """The times of one operation at one size, in milliseconds; None if a peer was not measured.
    vgpu_ms: without listeners; sanitizer_ms: with the sanitizer (the default); profile_ms: a whole
    `fk.profile` call, including its copies of the arguments."""

    operation: str
    size: int
    vgpu_ms: float
    sanitizer_ms: float
    profile_ms: float
    warp_instructions: int
    torch_ms: float
    triton_ms: float | None = None


def measure(operation: str, size: int, repeats: int, *, triton_ms: float | None = None) -> VgpuRow:
    """Check the kernel's result against torch, then time the kernel without its compilation; the
    time is the best of `repeats` runs."""
    x, by_torch = fk.randn(size, size, device="virtual"), VGPU_KERNELS[operation]
    y = fk.empty(*by_torch(x).shape, device="virtual")
    run = fk.compile(getattr(kernels, operation), x, y, device="virtual")
    with options(progress=False):
        counters = count_call(lambda: run(x, y))
        assert counters is not None  # the call launches a kernel
        # Sums of numbers near 0 cancel, so compare the error with the largest partial sum.
        fk.check(y, by_torch(x), atol=1e-4, on_fail="raise")
        profile_ms = best_ms(lambda: fk.profile(run, x, y), repeats)
    times = {}
    for sanitize in (False, True):
        with options(progress=False, sanitize=sanitize):
            times[sanitize] = best_ms(lambda: run(x, y), repeats)
    return VgpuRow(
        operation, size, times[False], times[True], profile_ms, counters.warp_instructions,
        best_ms(lambda: by_torch(x), repeats), triton_ms,
    )  # fmt: skip


def triton_times(size: int, repeats: int) -> dict[str, float]:
    """Return each kernel's time in Triton's interpreter, in milliseconds, or an empty dict if the
    extra `peers` is not installed."""
    if importlib.util.find_spec("triton") is None:
        return {}
    program = "tests.vgpu.bench.triton_kernels"
    command = [sys.executable, "-m", program, str(size), str(repeats)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "TRITON_INTERPRET": "1"}
    )
    if done.returncode:
        raise ForgekitError(f"Triton's interpreter failed: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(rows: Sequence[VgpuRow]) -> str:
    """Format the rows as a Markdown table."""
    heads = ("operation", "size", "bare, ms", "sanitizer, ms", "× bare", "profile, ms", "× bare",
             "M elements/s", "M warp instr./s", "torch on CPU, ms", "Triton's interpreter, ms",
             "times faster")  # fmt: skip
    body = []
    for r in rows:
        ratios = [f"{ms / r.vgpu_ms:.1f}" for ms in (r.sanitizer_ms, r.profile_ms)]
        peer = (f"{r.triton_ms:,.0f}", f"{r.triton_ms / r.vgpu_ms:,.0f}") if r.triton_ms else "––"
        body.append((
            r.operation, f"{r.size}²", f"{r.vgpu_ms:.1f}", f"{r.sanitizer_ms:.1f}", ratios[0],
            f"{r.profile_ms:.1f}", ratios[1], f"{r.size**2 / r.vgpu_ms / 1e3:.0f}",
            f"{r.warp_instructions / r.vgpu_ms / 1e3:.0f}", f"{r.torch_ms:.2f}", *peer,
        ))  # fmt: skip
    return Table(heads, body).markdown()


def processor() -> str:
    """Return the processor's name from /proc/cpuinfo."""
    with contextlib.suppress(OSError):
        found = re.search(r"model name\s*: *(.+)", Path("/proc/cpuinfo").read_text())
        if found is not None:
            return found[1].strip()
    return platform.processor() or platform.machine()


@click.command(cls=Command)
@click.option("--sizes", default="1024", help="comma-separated, default 1024")
@click.option("--repeats", type=AtLeast(1), default=7, help="runs, of which the best counts")
@click.option("--no-peers", is_flag=True, help="omit Triton's interpreter")
@click.option("--out", type=Path, help="write the numbers as JSON to this file")
def main(sizes: str, repeats: int, no_peers: bool, out: Path | None) -> None:
    """Measure how fast the virtual GPU runs three kernels, on one core, compared with Triton's
    interpreter (extra `peers`) and torch on the CPU, on the same machine in the same run."""
    lengths = _sizes(sizes)
    if out:
        check_output("--out", out)
    rows = [row for size in lengths for row in _measured(size, repeats, not no_peers)]
    print(f"The virtual GPU on {processor()}, {plural(os.cpu_count() or 1, 'core')}, float32, best "
          f"of {plural(repeats, 'run')}\n")  # fmt: skip
    print(table(rows))
    if not no_peers and all(r.triton_ms is None for r in rows):
        print(
            "\nTriton is not installed: `uv run --extra peers python -m tests.vgpu.bench` compares."
        )
    if out:
        record = {
            "schema": SCHEMA,
            "version": VERSION,
            "date": datetime.date.today().isoformat(),
            "processor": processor(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "rows": [asdict(row) for row in rows],
        }
        write_output("--out", out, json.dumps(record, indent=1) + "\n")


def _sizes(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        needed = "numbers of 1 or more, such as 256,1024"
        raise usage_error("--sizes", brief(text), needed, "separate by commas")
    return [int(word) for word in words]


def _measured(size: int, repeats: int, peers: bool) -> list[VgpuRow]:
    triton = triton_times(size, min(repeats, 3)) if peers else {}
    return [measure(name, size, repeats, triton_ms=triton.get(name)) for name in VGPU_KERNELS]


if __name__ == "__main__":
    try:
        main()
    except ForgekitError as error:
        sys.exit(str(error))
