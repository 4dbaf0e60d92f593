"""Show the steps of a block's warps in the virtual GPU's order: barriers, divergence and loops."""

from __future__ import annotations

import functools
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from forgekit.arguments import checked
from forgekit.compiling.compiled import CompiledKernel
from forgekit.compiling.replay import bind
from forgekit.errors import KernelError, SourceLine, UsageError, got_needed
from forgekit.show import Picture
from forgekit.text import plural, spans
from forgekit.tracing.observe import LANES, block_number, stop_notes
from forgekit.tracing.recordings import recorded
from forgekit.tracing.source_lines import LineChoice, chosen_lines, lines_alone
from forgekit.tracing.timeline_steps import BlockTimeline, Meeting, Split, Step

ORDER = "order, not time: as executed on the virtual GPU; a GPU may run its warps in any order"
_NOUN = {"async copy": "copy-group instruction", "barrier": "barrier arrival",
         "warp-wide": "warp-wide instruction", "branch": "branch"}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Timeline(Picture):
    """The instructions of a block's warps; a notebook shows them as a picture.

    Attributes:
        name: the host function's name. block: the linear number of the block. warps: the number of
            warps. steps: the executed steps, in the virtual GPU's order. meetings: the openings of
            barriers. splits: branches that split the lanes of a warp. launch: the number of this
            launch. launches: the number of launches by the function. lines: the displayed Python
            lines; empty for all lines. error: the error that stopped the kernel, or None. complete:
            True if the whole run was recorded.
    """

    name: str
    block: int
    warps: int
    steps: tuple[Step, ...]
    meetings: tuple[Meeting, ...]
    splits: tuple[Split, ...]
    launch: int
    launches: int
    lines: tuple[SourceLine, ...]
    error: KernelError | None
    complete: bool

    @property
    def instructions(self) -> int:
        """Return the number of warp instructions. Each instruction counts once per warp that
        executes it."""
        return sum(s.instructions * len(s.warps) for s in self.steps)

    @property
    def headline(self) -> str:
        """Return text such as `tiled, block 0: 8 warps, 944 warp instructions, 1 barrier, no
        divergence`."""
        launch = f", launch {self.launch}" if self.launches > 1 else ""
        alone = f", {lines_alone(self.lines)}" if self.lines else ""
        where = f"{self.name}, block {self.block}{launch}{alone}"
        if not self.steps:
            return f"{where}: no instruction was executed"
        split = f"{plural(len(self.splits), 'divergent branch')}" if self.splits else (
            "no divergence")  # fmt: skip
        met = plural(len(self.meetings), "barrier") if self.meetings else "no barrier"
        return (f"{where}: {plural(self.warps, 'warp')}, "
                f"{plural(self.instructions, 'warp instruction')}, {met}, {split}")  # fmt: skip

    @property
    def notes(self) -> list[str]:
        """Return descriptions of the error that stopped the kernel and of missing parts of the
        record."""
        notes = stop_notes(self.error, bool(self.steps))
        if not self.complete:
            notes.append("Only the beginning of this long run was recorded.")
        return notes

    @property
    def summary(self) -> str:
        """Return all information in the picture as text."""
        lines = [f"timeline of {self.headline}", f"  {ORDER}"]
        lines += [f"  {line}" for line in (*self._by_line(), *self._loops(), *self._waits())]
        lines += [f"  {line}" for line in (*self._parted(), *self.notes)]
        return "\n".join(lines)

    def _by_line(self) -> list[str]:
        counts: dict[SourceLine | None, Counter[str]] = {}
        for step in self.steps:
            noun = _NOUN.get(step.kind, "other")
            if step.does:
                noun = f"{step.kind} {step.does}".replace("async copy load", "asynchronous copy")
            here = counts.setdefault(step.source, Counter())
            here[noun] += step.instructions * len(step.warps)
        texts = []
        for source, found in counts.items():
            other = found.pop("other", 0)
            parts = [plural(n, noun) for noun, n in found.items()]
            parts += [f"{other:,} other{'s' * (other > 1)}"] if other else []
            texts.append(f"{_at(source)}: {', '.join(parts)}")
        return texts

    def _loops(self) -> list[str]:
        most: dict[int, tuple[int, SourceLine | None]] = {}
        for step in self.steps:
            for first, count in step.loops:
                before, source = most.get(first, (0, step.source))
                most[first] = max(before, count), source
        return [f"loop from line {s.line if s else '?'}: {plural(n, 'iteration')}"
                for n, s in most.values()]  # fmt: skip

    def _waits(self) -> list[str]:
        """Return a description of the barriers; equal barriers share a line."""
        found: Counter[tuple[str, str, str]] = Counter()
        for m in self.meetings:
            late = "none arrives before the others"
            if m.early.size:
                late = f"{_warps(m.early.tolist())} arrive{'s' * (m.early.size == 1)} first"
            meet = "waits for its lanes" if len(m.warps) == 1 else "meet"
            found[
                f"barrier {m.number}, {_at(m.source)}", f"{_warps(m.warps.tolist())} {meet}", late
            ] += 1
        texts = [f"{barrier}: {who}{f' {n:,} times' if n > 1 else ''}, {late}"
                 for (barrier, who, late), n in found.items()]  # fmt: skip
        return _capped(texts, "barriers")

    def _parted(self) -> list[str]:
        """Return a description of divergence; warps with equal splits share a line."""
        found: dict[tuple[Any, ...], list[int]] = {}
        for s in self.splits:
            warps = found.setdefault((s.source, s.taken, s.rest), [])
            warps += [s.warp] if s.warp not in warps else []
        texts = []
        for (source, taken, rest), warps in found.items():
            parts = [f"lane{'s' * (len(p) > 1)} {spans(p)}" for p in sorted([taken, rest])]
            part = "splits" if len(warps) == 1 else "split"
            who = f"{_warps(warps)} {part} into {' and '.join(parts)}"
            texts.append(f"divergence, {_at(source)}: {who}")
        return _capped(texts, "divergent branches")


@checked(launch=(0, None))
def timeline(
    kernel: CompiledKernel,
    *args: Any,
    block: int | tuple[int, ...] = 0,
    launch: int = 0,
    line: LineChoice | None = None,
) -> Timeline:
    """Run a kernel on the virtual GPU and show what a block's warps execute, step by step.

    The steps are in the order of the virtual GPU, which runs all warps together as far as branches
    allow. This order does not represent time. The kernel runs on copies, as for
    `forgekit.footprint`. An error in the kernel is not raised; the picture then shows the steps
    before the error.

    Args:
        kernel: a result of `forgekit.compile`, for a GPU or the virtual GPU.
        args: the kernel's arguments, as in a call.
        block: the linear number or the coordinate of the block. launch: the number of the launch,
            if the function launches several kernels. line: the Python line whose steps to show: its
            number, part of its text or a SourceLine.

    Raises:
        UsageError: the kernel is not compiled, the arguments do not match its parameters, or the
            block, launch or line does not exist.
    """
    args = bind("timeline", kernel, args)
    make = functools.partial(BlockTimeline, block, launch, line)
    call = recorded(kernel, args, make)
    trace, error, records = call.read_to_the_end(make), call.error, call.recording.launches
    if records and launch >= len(records):
        needed = f"0 to {len(records) - 1}"
        raise UsageError(got_needed("launch", launch, needed, "choose one of these"))
    number = block_number(block, records[launch].grid) if records else 0
    lines: frozenset[SourceLine] = frozenset()
    if line is not None and (trace.sources or error is None):
        lines = chosen_lines(line, trace.sources, f"block {number} executes")
    return Timeline(
        name=kernel.name,
        block=number,
        warps=-(-math.prod(records[launch].block) // LANES) if records else 0,
        steps=tuple(trace.steps),
        meetings=tuple(trace.meetings),
        splits=tuple(trace.splits),
        launch=launch,
        launches=len(records),
        lines=tuple(sorted(lines, key=lambda s: (s.filename, s.line))),
        error=error,
        complete=trace.complete,
    )


# -- text -------------------------------------------------------------------------------------
def _warps(numbers: list[int]) -> str:
    return f"warp{'s' * (len(numbers) > 1)} {spans(numbers)}"


def _at(source: SourceLine | None) -> str:
    return f"line {source.line}" if source is not None else "no line"


def _capped(texts: list[str], what: str, most: int = 12) -> list[str]:
    if len(texts) <= most:
        return texts
    return [*texts[:most], f"… and {len(texts) - most:,} more {what}"]
