"""Record what the warps of one block execute, step by step, in the order the machine runs them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from forgekit.errors import SourceLine
from forgekit.tracing.observe import Launches, linear_block
from forgekit.tracing.source_lines import line_at
from forgekit.vgpu.counters.rules import LANES
from forgekit.vgpu.listeners import Access
from forgekit.vgpu.ptx import Symbol

if TYPE_CHECKING:
    from forgekit.vgpu.machine import Machine
    from forgekit.vgpu.program import Program
    from forgekit.vgpu.ptx import Instruction

Array = np.ndarray[Any, np.dtype[Any]]

# In order of weight: of several kinds merged into one step, the last one names it.
KINDS = ("compute", "branch", "warp-wide", "shared", "global", "async copy", "barrier")
_WARP_WIDE = ("mma", "wgmma", "shfl", "vote", "redux", "match", "elect", "activemask")
_LIMIT = 60_000  # instructions of a group of threads that are recorded


@dataclass(frozen=True, eq=False)
class Step:
    """Instructions that follow each other on one source line and are of one kind.

    kind: one of KINDS; does: `load`, `store` or `atomic`, for memory; instructions: how many.
    lanes: (warps, 32), who executes them. loops: (first instruction, iteration) of each loop they
    are in, from the outermost to the innermost; iterations count from 1.
    """

    source: SourceLine | None
    kind: str
    does: str
    instructions: int
    lanes: Array
    loops: tuple[tuple[int, int], ...]

    @property
    def warps(self) -> Array:
        return np.flatnonzero(self.lanes.any(axis=1))


@dataclass(frozen=True, eq=False)
class Meeting:
    """A barrier opens: after which step, for whom, and since which step each of them had waited.

    since: (warps, 32), the first step from which on a lane's warp had nothing left to do but to
    arrive and wait; -1 for lanes that did not meet here.
    """

    step: int
    number: int
    source: SourceLine | None
    since: Array

    @property
    def warps(self) -> Array:
        return np.flatnonzero((self.since >= 0).any(axis=1))

    @property
    def early(self) -> Array:
        """Warps that have to wait for others."""
        waited = (self.since >= 0) & (self.since < self.since.max())
        return np.flatnonzero(waited.any(axis=1))


class Split(NamedTuple):
    """A branch that parts the lanes of a warp."""

    source: SourceLine | None
    warp: int
    taken: tuple[int, ...]
    rest: tuple[int, ...]


@dataclass
class _Run:
    """What a group of threads executed in one go, and what happened meanwhile."""

    start: int
    stop: int
    lanes: Array  # (threads,)
    touched: dict[int, Array] = field(default_factory=dict)  # instruction -> who accessed memory
    opened: list[tuple[int, int, Array]] = field(default_factory=list)  # (instruction, number, who)


class BlockTimeline(Launches):
    """Records the runs of one block in one launch."""

    def __init__(self, block: int | tuple[int, ...], launch: int) -> None:
        super().__init__()
        self.block, self.launch = block, launch
        self.program: Program | None = None
        self.runs: list[_Run] = []
        self.splits: list[Split] = []
        self.complete = True
        self._recorded = 0
        self._row: int | None = None
        self._touched: list[tuple[int, Array]] = []
        self._opened: list[tuple[int, int, Array]] = []

    def on_batch(self, m: Machine) -> None:
        super().on_batch(m)
        number = linear_block(self.block, m.record.grid)  # the grid is known only now
        ours = len(self.launches) - 1 == self.launch and number in m.blocks
        self._row = number - m.blocks.start if ours else None
        if ours:
            self.program = m.program

    def on_access(self, m: Machine, access: Access) -> None:
        who = self._lanes(m, access.mask)
        if who is not None:
            self._touched.append((m.pc, who))

    def on_barrier_done(self, m: Machine, mask: Array | None, number: int) -> None:
        who = self._lanes(m, mask)
        if who is not None:
            self._opened.append((m.pc, number, who))

    def on_divergence(self, m: Machine, taken: Array, rest: Array) -> None:
        took, stayed = self._lanes(m, taken), self._lanes(m, rest)
        if took is None or stayed is None or not self.complete:
            return
        pairs = zip(took.reshape(-1, LANES), stayed.reshape(-1, LANES), strict=True)
        for warp, (a, b) in enumerate(pairs):
            if a.any() and b.any():
                parts = (tuple(np.flatnonzero(p).tolist()) for p in (a, b))
                self.splits.append(Split(line_at(m.program, m.pc), warp, *parts))

    def on_run(self, m: Machine, start: int, stop: int, mask: Array | None) -> None:
        who = self._lanes(m, mask)
        if who is None or stop == start:
            return
        self._recorded += stop - start
        if self._recorded > _LIMIT:
            self.complete = False
            return
        run = _Run(start, stop, who)
        for pc, lanes in self._touched:
            run.touched[pc] = run.touched[pc] | lanes if pc in run.touched else lanes
        run.opened, self._opened, self._touched = self._opened, [], []
        self.runs.append(run)

    def _lanes(self, m: Machine, mask: Array | None) -> Array | None:
        """Threads of our block; None if it has none."""
        if self._row is None:
            return None
        who = m.expand(mask)[self._row]
        return who.copy() if who.any() else None


# -- from runs to steps ------------------------------------------------------------------------
def steps_of(
    trace: BlockTimeline, lines: frozenset[SourceLine] = frozenset()
) -> tuple[list[Step], list[Meeting]]:
    """The steps of what was recorded, and the barriers that opened; of some lines, if given."""
    if trace.program is None or not trace.runs:
        return [], []
    program = trace.program
    counter = _Iterations(program, len(trace.runs[0].lanes))
    steps: list[Step] = []
    meetings: list[Meeting] = []
    arrived = np.full(len(trace.runs[0].lanes), -1)
    busy = arrived.copy()  # the last step of each lane's warp
    for run in trace.runs:
        outside = [o for o in run.opened if not run.start <= o[0] < run.stop]
        meetings += [_meeting(o, steps, arrived, program) for o in outside]
        opened = [o for o in run.opened if run.start <= o[0] < run.stop]
        for pc in range(run.start, run.stop):
            loops = counter.at(pc, run)
            instruction = program.instructions[pc]
            kind, does = _kind(instruction)
            lanes = run.lanes
            if does:
                lanes = run.touched.get(pc, np.zeros_like(lanes))
            if instruction.name not in ("ret", "exit") and lanes.any():
                step = Step(line_at(program, pc), kind, does, 1, lanes.reshape(-1, LANES), loops)
                if not lines or step.source in lines:
                    _append(steps, step)
            here = lanes.reshape(-1, LANES).any(axis=1).repeat(LANES)
            if kind == "barrier":
                arrived[run.lanes] = np.minimum(busy + 1, len(steps) - 1)[run.lanes]
            busy[here] = len(steps) - 1
            while opened and opened[0][0] == pc:
                meetings.append(_meeting(opened.pop(0), steps, arrived, program))
        counter.last[run.lanes] = run.stop - 1
    return steps, [m for m in meetings if not lines or m.source in lines]


def _append(steps: list[Step], step: Step) -> None:
    """Add a step, to the last one if it goes on with it."""
    last = steps[-1] if steps else None
    if (
        last is not None and step.kind != "barrier"
        and (last.source, last.kind, last.does, last.loops)
        == (step.source, step.kind, step.does, step.loops)
        and np.array_equal(last.lanes, step.lanes)
    ):  # fmt: skip
        steps[-1] = replace(last, instructions=last.instructions + 1)
    else:
        steps.append(step)


def _meeting(
    opened: tuple[int, int, Array], steps: list[Step], arrived: Array, program: Program
) -> Meeting:
    pc, number, who = opened
    since = np.where(who, arrived, -1).reshape(-1, LANES)
    # Threads that exit may be those that others have waited for: then `pc` is no barrier.
    stops = [s for s in steps if s.kind == "barrier"]
    at = stops[-1].source if stops else line_at(program, pc)
    return Meeting(len(steps) - 1, number, at, since)


def _kind(instruction: Instruction) -> tuple[str, str]:
    """(kind, what it does to memory) of an instruction."""
    parts = instruction.opcode
    head = parts[0]
    if head in ("bar", "barrier"):
        return ("warp-wide" if "warp" in parts else "barrier"), ""
    if head in _WARP_WIDE:
        return "warp-wide", ""
    if head in ("bra", "ret", "exit"):
        return "branch", ""
    if head == "cp" and "async" in parts:
        copies = "group" not in instruction.name and "wait_all" not in parts
        return "async copy", "load" if copies else ""
    does = {"ld": "load", "ldu": "load", "ldmatrix": "load", "st": "store", "stmatrix": "store",
            "atom": "atomic", "red": "atomic"}.get(head)  # fmt: skip
    if does is None or "param" in parts or "local" in parts:
        return "compute", ""
    return ("shared" if any(p.startswith("shared") for p in parts) else "global"), does


class _Iterations:
    """Which iteration of each loop the threads are in."""

    def __init__(self, program: Program, threads: int) -> None:
        ends: dict[int, int] = {}  # first instruction of a loop -> its last
        for pc, i in enumerate(program.instructions):
            target = i.operands[0] if i.opcode[0] == "bra" else None
            to = program.kernel.labels.get(target.name, pc + 1) if isinstance(
                target, Symbol) else pc + 1  # fmt: skip
            if to <= pc:
                ends[to] = max(pc, ends.get(to, 0))
        self.loops = sorted(ends.items(), key=lambda loop: (loop[0], -loop[1]))
        self.counts = {first: np.zeros(threads, np.int64) for first, _ in self.loops}
        self.last = np.full(threads, -1)

    def at(self, pc: int, run: _Run) -> tuple[tuple[int, int], ...]:
        found = []
        for first, end in self.loops:
            if not first <= pc <= end:
                continue
            count = self.counts[first]
            if pc == first:
                before = self.last if pc == run.start else np.full(len(count), pc - 1)
                inside = (before >= first) & (before <= end)
                count[run.lanes] = np.where(inside, count + 1, 1)[run.lanes]
            found.append((first, int(count[run.lanes].max())))
        return tuple(found)
