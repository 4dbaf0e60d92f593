"""`forgekit calibrate`: measure kernels on this machine's GPU, and fit the predicted times."""

from __future__ import annotations

import datetime
import json
import multiprocessing
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from forgekit.commands.options import Command
from forgekit.errors import PlatformError
from forgekit.output_files import check_output, write_output

BLOCKS = 64  # number of blocks per launch in the virtual GPU's samples
_REPEATS = 12


@click.command(cls=Command, short_help="Fit predicted times to this machine's GPU")
@click.option("--out", default="calibration.toml", show_default=True,
              help="write the constants to this file, for `Profile.time(FILE)`")  # fmt: skip
@click.option("--data", help="also save the measurements and counts to this JSON file")
@click.option("--read", "read_", help="fit to a file written by --data, without measuring")
@click.option("--count", is_flag=True, help="with --read: recount the kernels but keep their times")
def calibrate(out: str, data: str | None, read_: str | None, count: bool) -> int:
    """Measure about 150 kernels at three sizes each on this machine's GPU, profile them on the
    virtual GPU, and fit the constants that predict times to two thirds of the kernels. Print the
    prediction errors for the other third. This takes a few minutes.
    """
    from forgekit.profiling.gpus import gpu_here, gpu_named
    from forgekit.profiling.predicting import constants, fitting

    for option, file in (("--out", out), ("--data", data)):
        if file is not None:
            check_output(option, file)
    if read_ is not None:
        found = json.loads(Path(read_).read_text("utf-8"))
        if count:
            _count(found["cases"])
    else:
        here = gpu_here()
        if here is None:
            raise PlatformError(
                "`forgekit calibrate` needs an NVIDIA GPU listed in forgekit/profiling/gpus.py, "
                "but found none here. Without a calibration, `Profile.time` uses the constants of "
                "an H200, scaled to other GPUs by their data sheets."
            )
        found = _measured(here.name)
    if data is not None:
        write_output("--data", data, _as_json(found))
    samples = samples_of(found)
    chosen = [s for s in samples if not s.held_out]
    start = constants.calibration(gpu_named(found["gpu"])).constants
    fitted = fitting.fit(chosen, start)
    held_out = fitting.accuracy([s for s in samples if s.held_out], fitted)
    measured = (f"{found['date']}, {len(found['cases'])} kernels at three sizes, "
                f"{found['versions']['gpu']}, CUDA {found['versions']['cuda']}")  # fmt: skip
    factors = fitting.interval(samples, fitted)
    made = constants.Calibration(found["gpu"], fitted, measured, factors)
    write_output("--out", out, constants.as_toml(made))
    print(
        f"{held_out.count} times of held-out kernels: half are predicted to within "
        f"{100 * held_out.median:.1f} %, nine of ten to within {100 * held_out.p90:.1f} %, and "
        f"{100 * held_out.within:.1f} % to within 35 %; {100 * held_out.order:.1f} % of the "
        "pairs that differ by 25 % or more are ordered correctly"
    )
    print(f"constants: {out}")
    return 0


def samples_of(found: dict[str, Any]) -> list[Any]:
    """Convert data saved by `--data` to samples for `forgekit.profiling.predicting.fitting`."""
    from forgekit.profiling.predicting.facts import Facts
    from forgekit.profiling.predicting.fitting import Sample

    return [
        Sample(case["name"], case["kind"], number, tuple(Facts(**f) for f in facts), us)
        for number, case in enumerate(found["cases"])
        for facts, us in zip(case["facts"], case["us"], strict=True)
    ]


def _measured(gpu: str) -> dict[str, Any]:
    """Measure and count all kernels; return their times and counts."""
    import torch
    from tqdm import tqdm

    from forgekit.benching.timing import METHOD, ceiling_gbps, versions
    from forgekit.compiling.compiled import compile
    from forgekit.profiling.predicting.calibration import CASES

    cases: list[dict[str, Any]] = []
    with torch.device("cuda"):
        for case in tqdm(CASES, desc="measured", unit="kernel"):
            times = [_microseconds(case.compile(compile), case.make(size)) for size in case.sizes]
            cases.append({"name": case.name, "kind": case.kind, "sizes": case.sizes, "us": times})
        ceiling = ceiling_gbps()
    _count(cases)
    return {"gpu": gpu, "date": datetime.date.today().isoformat(), "method": METHOD,
            "copy_gbps": round(ceiling), "versions": versions(), "cases": cases}  # fmt: skip


def _microseconds(kernel: Any, args: tuple[Any, ...]) -> float:
    from forgekit.benching.timing import time_gpu

    return round(time_gpu(lambda: kernel(*args), repeats=_REPEATS).median_ms * 1e3, 3)


def _count(cases: list[dict[str, Any]]) -> None:
    """Add each kernel's counts to its times."""
    from tqdm import tqdm

    workers = max(min((os.cpu_count() or 2) - 1, 16), 1)
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        counted = pool.imap(count_case, range(len(cases)))
        for case, facts in zip(cases, tqdm(counted, total=len(cases), desc="counted"), strict=True):
            case["facts"] = facts


def count_case(number: int, sizes: int = 3) -> list[list[dict[str, Any]]]:
    """Return one kernel's counts at the first `sizes` of its sizes."""
    import torch

    from forgekit.compiling.compiled import compile
    from forgekit.profiling.predicting.calibration import CASES
    from forgekit.profiling.predicting.facts import facts_of
    from forgekit.tracing.recordings import sampled
    from forgekit.vgpu import options

    torch.set_num_threads(1)
    case = CASES[number]
    kernel = case.compile(compile, device="virtual", arch="sm_90a")
    with options(progress=False):
        runs = [sampled(kernel, case.make(size), BLOCKS)[1] for size in case.sizes[:sizes]]
    return [[asdict(f) for f in facts_of(run)] for run in runs]


def _as_json(found: dict[str, Any]) -> str:
    """Format the data as JSON with one kernel per line."""
    head = {k: v for k, v in found.items() if k != "cases"}
    cases = ",\n".join(json.dumps(case, separators=(",", ":")) for case in found["cases"])
    return f'{json.dumps(head)[:-1]}, "cases": [\n{cases}\n]}}\n'
