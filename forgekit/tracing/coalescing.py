"""Find the sectors and lines that a warp's global access touches, to show whether it is
coalesced."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from forgekit.arguments import checked
from forgekit.compiling.compiled import CompiledKernel
from forgekit.text import plural
from forgekit.tracing.source_lines import LineChoice
from forgekit.tracing.warp_access import WARPS, WarpAccess, WarpAccesses
from forgekit.tracing.warp_trace import trace_warps
from forgekit.vgpu import HARDWARE

SECTOR_BYTES = HARDWARE.SECTOR_BYTES

LINE_BYTES = 128  # the size of a line in the L1 and L2 caches: four sectors


@dataclass(frozen=True)
class SectorCount:
    """The cost of an access: sectors fetched, the minimum, 128-byte lines touched, and bytes used.
    turns: True for an atomic operation, for which a sector counts once per lane that requests the
    sector's most requested address.
    """

    sectors: int
    ideal: int
    lines: int
    asked_bytes: int
    turns: bool = False

    @property
    def used_percent(self) -> float:
        return 100 * self.asked_bytes / (self.sectors * SECTOR_BYTES)

    @property
    def text(self) -> str:
        """Return text such as `32 sectors for 128 bytes requested, 4 would do (12 % used)`."""
        text = f"{plural(self.sectors, 'sector')} for {plural(self.asked_bytes, 'byte')} requested"
        if self.sectors > self.ideal:
            text += f", {self.ideal} would do"
        if self.turns and self.sectors > self.ideal:
            return f"{text} (lanes at one address are serialised)"
        return f"{text} ({self.used_percent:.0f} % used)"


def count_sectors(access: WarpAccess) -> SectorCount:
    count, ideal = access.cost
    lines = len(np.unique(access.address[access.active] // LINE_BYTES))
    return SectorCount(count, ideal, lines, access.asked_bytes, access.kind == "atomic")


class Coalescing(WarpAccesses):
    """Accesses by warps to global memory; `counts` contains the sectors of each access."""

    memory = "global"
    called = "coalescing"

    @functools.cached_property
    def counts(self) -> tuple[SectorCount, ...]:
        return tuple(count_sectors(a) for a in self.accesses)

    @property
    def costs(self) -> list[tuple[str, str]]:
        return [(c.text, f"{plural(c.lines, 'line')} of 128 bytes") for c in self.counts]


@checked(warp=(0, None), index=(0, None), warps=(1, WARPS))
def coalescing(
    kernel: CompiledKernel,
    *args: Any,
    line: LineChoice | None = None,
    kind: str = "any",
    block: int | tuple[int, ...] = 0,
    warp: int = 0,
    index: int = 0,
    warps: int = 1,
) -> Coalescing:
    """Run a kernel on the virtual GPU and show the memory sectors that a warp's accesses touch.

    Without `line` and `kind`, the picture shows the warp's first access on each line that has
    accesses. The kernel runs on copies, as for `forgekit.footprint`. An error in the kernel is not
    raised; the picture then shows the accesses before the error.

    Args:
        kernel: a result of `forgekit.compile`, for a GPU or the virtual GPU.
        args: the kernel's arguments, as in a call.
        line: the Python line whose accesses to show: its number, part of its text or a SourceLine.
        kind: "load", "store" or "atomic" to show only these accesses (an asynchronous copy counts
            as a load).
        block: the linear number or the coordinate of the block. warp: the number of the warp in the
            block.
        index: the number of the access to show if the warp has several on a line, as in a loop.
            warps: the number of warps to show, starting at `warp`.

    Raises:
        UsageError: the kernel is not compiled, the arguments do not match its parameters, or no
            access matches; the message lists the lines with accesses.
    """
    return trace_warps(Coalescing, kernel, args, line=line, kind=kind, block=block, warp=warp,
                       index=index, warps=warps)  # fmt: skip
