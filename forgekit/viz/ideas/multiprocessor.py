"""Draw the blocks that fit on a multiprocessor, until one of its resources is exhausted."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from matplotlib.figure import Figure

from forgekit.arguments import checked
from forgekit.errors import usage_error
from forgekit.profiling.multiprocessor import MULTIPROCESSORS
from forgekit.text import plural
from forgekit.viz.ideas.idea import Idea
from forgekit.viz.palette import NOTHING
from forgekit.viz.timing.style import SERIES


@checked(threads=(1, 1024), registers=(1, 255), shared_bytes=(0, None))
def fill_multiprocessor(
    profile: Any = None, *, threads: int = 128, registers: int = 32, shared_bytes: int = 0,
    arch: str = "sm_90",
) -> Idea:  # fmt: skip
    """Show how many of a kernel's blocks fit on a multiprocessor, and which resource limits them.

    profile: an `fk.Profile`, whose first launch overrides `threads` and `shared_bytes`. threads:
    threads per block; registers: registers per thread, such as a compiled kernel's `registers`;
    shared_bytes: bytes of shared memory per block; arch: "sm_80", "sm_86", "sm_89", "sm_90",
    "sm_100" or "sm_120". The reader can change the last four values in the picture.

    Raises UsageError if the architecture is none of these, or if a block exceeds the architecture's
    limits.
    """
    if arch not in MULTIPROCESSORS:
        raise usage_error("arch", repr(arch), f"one of {', '.join(MULTIPROCESSORS)}", "choose one")
    if profile is not None:
        launch = profile.launches[0]
        threads, shared_bytes = math.prod(launch.block), launch.shared_bytes
    held = MULTIPROCESSORS[arch]
    if shared_bytes > (most := held.shared_bytes - 1024):
        remedy = "use less, or choose another arch"
        raise usage_error("shared_bytes", f"{shared_bytes:,}", f"at most {most:,}", remedy)
    limits = held.limits(threads, registers, shared_bytes)
    blocks = min(limits.values())
    full = [name for name, many in limits.items() if many == blocks]
    warps = blocks * -(-threads // 32)
    words = "\n".join([
        f"{arch}: {threads} threads per block, {registers} registers per thread, "
        f"{shared_bytes:,} bytes of shared memory per block",
        *(f"{name}: room for {plural(many, 'block')}" for name, many in limits.items()),
        f"room for {plural(blocks, 'block')}, {warps} of {held.warps} warps; "
        f"limited by {' and '.join(full)}",
    ])  # fmt: skip

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        names = [*limits]
        for y, name in enumerate(names):
            share = blocks / limits[name] if limits[name] else 0.0
            axes.barh(y, 1.0, color=NOTHING)
            axes.barh(y, share, color=SERIES[0] if name in full else SERIES[3])
            axes.text(0.01, y, f"{name}: room for {limits[name]}", va="center", color="#16191D")
        axes.set(yticks=[], xlim=(0, 1), xlabel=f"share used by {plural(blocks, 'block')}")
        axes.invert_yaxis()

    return Idea(
        "multiprocessor", "Blocks fit until one resource is full",
        "Rules: NVIDIA's cuda_occupancy.h. A warp's registers are allocated in units of 256, from "
        "one quarter of the multiprocessor.",
        {"archs": {name: asdict(each) for name, each in MULTIPROCESSORS.items()}, "arch": arch,
         "threads": threads, "registers": registers, "shared": shared_bytes},
        words, draw,
    )  # fmt: skip
