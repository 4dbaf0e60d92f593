"""How fast copy_transpose is on a GPU, beside what the machine and its peers reach in the same run.

    python -m forgekit.benching.transpose --out book/measured/transpose_h200.json

For every size and dtype: a copy of the same tensor (clone), torch's `x.t().contiguous()`, the same
through torch.compile, and forgekit. Rates count each byte read once and written once.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from forgekit.benching.timing import METHOD, Timing, ceiling_gbps, host_us, time_gpu
from forgekit.devices import current_target, gpu_report
from forgekit.errors import ForgekitError, PlatformError, got_needed
from forgekit.ops import copy_transpose
from forgekit.output_files import check_output, write_output
from forgekit.text import Table

SQUARES = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
OTHERS = ((1024, 65536), (65536, 1024), (262144, 256), (1048576, 64), (64, 1048576), (1000, 1000),
          (1023, 1025), (8191, 8193), (4096, 50257))  # fmt: skip
DTYPES = (torch.float16, torch.bfloat16, torch.float32)
PEERS = ("clone", "torch", "torch.compile", "forgekit")

Call = Callable[[], object]


@dataclass(frozen=True)
class TransposeRow:
    """One size and dtype. timings: peer -> Timing; a peer that was left out is absent."""

    rows: int
    columns: int
    dtype: str
    bytes_moved: int
    timings: dict[str, Timing]

    def gb_per_s(self, peer: str) -> float:
        return self.timings[peer].gbps(self.bytes_moved)

    def percent_of_clone(self, peer: str) -> float:
        return 100 * self.timings["clone"].median_ms / self.timings[peer].median_ms


def _tensor(rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator("cuda").manual_seed(0)
    return torch.randn(rows, columns, device="cuda", generator=generator).to(dtype)


def _peers(x: torch.Tensor, with_compile: bool) -> dict[str, Call]:
    calls: dict[str, Call] = {
        "clone": lambda: x.clone(),
        "torch": lambda: x.t().contiguous(),
        "forgekit": lambda: copy_transpose(x),
    }
    if with_compile:
        torch._dynamo.reset()  # otherwise sizes count as recompilations and become dynamic
        compiled = torch.compile(lambda a: a.t().contiguous(), dynamic=False)
        calls["torch.compile"] = lambda: compiled(x)
    return calls


def measure(
    rows: int, columns: int, dtype: torch.dtype, repeats: int, *, with_compile: bool = True
) -> TransposeRow:
    """Check forgekit's result against torch's, then time all peers.

    Raises:
        ForgekitError: the result is wrong.
    """
    x = _tensor(rows, columns, dtype)
    if not torch.equal(copy_transpose(x), x.t()):
        raise ForgekitError(f"copy_transpose of ({rows}, {columns}) {dtype} is wrong")
    timings = {
        name: time_gpu(call, repeats=repeats) for name, call in _peers(x, with_compile).items()
    }
    name = str(dtype).removeprefix("torch.")
    return TransposeRow(rows, columns, name, 2 * x.numel() * x.element_size(), timings)


def host_times() -> dict[str, float]:
    """Peer -> microseconds of host time a call, on a 64×64 tensor of float16."""
    x = _tensor(64, 64, torch.float16)
    return {name: host_us(call) for name, call in _peers(x, with_compile=False).items()}


def table(rows: Sequence[TransposeRow], ceiling: float) -> str:
    """The rows as a Markdown table: GB/s, and in brackets the percentage of the same copy."""
    body = []
    for row in rows:
        rates = [
            f"{row.gb_per_s(p):,.0f} ({row.percent_of_clone(p):.0f} %)" if p in row.timings else "–"
            for p in PEERS[1:]
        ]
        own = row.timings["forgekit"]
        body.append([
            f"{row.rows} × {row.columns}", row.dtype, f"{row.gb_per_s('clone'):,.0f}", *rates,
            f"{own.p20_ms * 1e3:.1f} to {own.p80_ms * 1e3:.1f}",
        ])  # fmt: skip
    heads = ("M × N", "dtype", f"copy, GB/s (of {ceiling:,.0f})", *PEERS[1:],
             "20th to 80th percentile, µs")  # fmt: skip
    return Table(heads, body, left=(0, 1)).markdown()


def record(rows: Sequence[TransposeRow], ceiling: float, host: dict[str, float]) -> dict[str, Any]:
    """All that was measured, and on what, as plain data."""
    machine = gpu_report()
    return {
        "gpu": machine.gpu,
        "driver": machine.driver,
        "torch": machine.torch,
        "cuda": machine.torch_cuda,
        "dsl": machine.dsl,
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
        "method": f"{METHOD}; bytes read plus written",
        "ceiling_gb_per_s": round(ceiling, 1),
        "host_us_per_call_64x64_float16": {name: round(us, 2) for name, us in host.items()},
        "rows": [
            asdict(row) | {"gb_per_s": {p: round(row.gb_per_s(p), 1) for p in row.timings}}
            for row in rows
        ],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of this module."""
    parser = argparse.ArgumentParser(prog="forgekit.benching.transpose", description=__doc__)
    parser.add_argument("--repeats", type=int, default=30, help="timed calls of each, default 30")
    parser.add_argument("--largest", type=int, default=SQUARES[-1], help="largest square's side")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--out", type=Path, help="write the numbers as JSON to this file")
    chosen = parser.parse_args(arguments)
    if current_target().kind != "gpu":
        raise PlatformError(
            got_needed("this benchmark", current_target().name, "a GPU", "run it on such a machine")
        )
    if chosen.out:
        check_output("--out", chosen.out)
    ceiling, host = ceiling_gbps(), host_times()
    sizes = [(n, n) for n in SQUARES if n <= chosen.largest] + list(OTHERS)
    rows = [
        measure(m, n, dtype, chosen.repeats, with_compile=not chosen.no_compile)
        for dtype in DTYPES
        for m, n in sizes
    ]
    print(table(rows, ceiling))
    print(
        "\nHost time of a call on 64 × 64: " + ", ".join(f"{n} {t:.1f} µs" for n, t in host.items())
    )
    if chosen.out:
        text = json.dumps(record(rows, ceiling, host), indent=1) + "\n"
        write_output("--out", chosen.out, text)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ForgekitError as error:
        sys.exit(f"forgekit: {error}")
