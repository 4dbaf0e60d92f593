"""Print a table of the errors of a sample's counters, relative to those of a whole launch.

python -m tests.profiling.predicting.sampled_counters [blocks]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forgekit.compiling.compiled import compile
from forgekit.profiling.predicting.calibration import CASES
from forgekit.profiling.predicting.calibration.case import Case
from forgekit.text import Table
from forgekit.tracing.recordings import recorded, sampled
from forgekit.vgpu import options
from forgekit.vgpu.counters.counting import LaunchCounts

DATA = Path(__file__).parents[3] / "book" / "measured" / "calibration_h200.json"
BLOCKS = 64
COUNTERS = ("instructions", "lanes", "requests", "sectors", "ideal", "read", "written")


def chosen(count: int) -> list[Case]:
    """Return `count` kernels, of all kinds, whose smallest launches have 128 to 4,096 blocks."""
    recorded = {case["name"]: case["facts"][0][0]["blocks"] for case in calibration_data()["cases"]}
    large = [case for case in CASES if 128 <= recorded[case.name] <= 4096]
    return [large[k * len(large) // count] for k in range(count)]


def calibration_data() -> dict[str, Any]:
    """Return the calibration data: times measured on an H200, and counts."""
    return json.loads(DATA.read_text("utf-8"))


def counters(found: LaunchCounts) -> dict[str, int]:
    """Return those counters of a launch that the test compares."""
    accesses = found.accesses.values()
    return {
        "instructions": sum(found.warp_instructions),
        "lanes": sum(found.thread_instructions),
        "requests": sum(a.requests for a in accesses),
        "sectors": sum(a.units for a in accesses),
        "ideal": sum(a.ideal for a in accesses),
        "read": found.read_sectors,
        "written": found.written_sectors,
    }


def differences(case: Case, blocks: int = BLOCKS) -> dict[str, float]:
    """Map each counter to the relative difference between the estimate and the count, at the
    smallest size."""
    kernel = case.compile(compile, device="virtual", arch="sm_90a")
    args = case.make(case.sizes[0])
    with options(progress=False):
        (whole,) = recorded(kernel, args).recording.counts
        (part,) = sampled(kernel, args, blocks)[1].counts
    assert whole.sample is None and part.sample is not None, case.name
    exact, guessed = counters(whole), counters(part)
    return {name: guessed[name] / n - 1 if n else float(guessed[name] > 0)
            for name, n in exact.items()}  # fmt: skip


def rows(cases: list[Case], blocks: int) -> Iterator[list[str]]:
    for case in cases:
        found = differences(case, blocks)
        yield [case.name, *(f"{100 * found[name]:+.2f} %" for name in COUNTERS)]


if __name__ == "__main__":
    asked = int(sys.argv[1]) if sys.argv[1:] else BLOCKS
    print("\n".join(Table(("", *COUNTERS), [*rows(chosen(40), asked)]).lines()))
