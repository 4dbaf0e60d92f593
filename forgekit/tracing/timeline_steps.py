"""Record the steps that a block's warps execute, in the virtual GPU's order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from forgekit.errors import SourceLine
from forgekit.tracing.observe import LANES, Array, Launches, linear_block
from forgekit.tracing.source_lines import LineChoice, is_meant
from forgekit.vgpu import Access, Moment

# In ascending order of priority: a step's kind is its instructions' last kind in this list.
KINDS = ("compute", "branch", "warp-wide", "shared", "global", "async copy", "barrier")
_WARP_WIDE = ("mma", "wgmma", "shfl", "vote", "redux", "match", "elect", "activemask")
_LIMIT = 60_000  # the maximum number of recorded instructions, counted once per group of threads


@dataclass(frozen=True, eq=False)
class Step:
    """Consecutive instructions of the same kind on the same source line.

    kind: one of KINDS. does: `load`, `store` or `atomic` for memory. instructions: the number of
    instructions. lanes: a mask of the executing lanes, with shape (warps, 32). loops: (first
    instruction, iteration) of each enclosing loop, from the outermost to the innermost; iterations
    count from 1.
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
    """The opening of a barrier.

    step: the index of the step before the opening. since: for each lane, the index of the step
    since which its warp has only been waiting, or -1 if the lane did not arrive at this barrier;
    its shape is (warps, 32).
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
        """Return the warps that waited for other warps."""
        waited = (self.since >= 0) & (self.since < self.since.max())
        return np.flatnonzero(waited.any(axis=1))


class Split(NamedTuple):
    source: SourceLine | None
    warp: int
    taken: tuple[int, ...]
    rest: tuple[int, ...]


class BlockTimeline(Launches):
    """Records the steps of a block in a launch, with its barriers and divergent branches.

    line: the Python line whose steps to record; None for all lines.

    Attributes:
        sources: the Python lines that the block executes. complete: True if the whole run was
            recorded.
    """

    def __init__(
        self, block: int | tuple[int, ...], launch: int, line: LineChoice | None = None
    ) -> None:
        super().__init__()
        self.block, self.launch, self.line = block, launch, line
        self.steps: list[Step] = []
        self.meetings: list[Meeting] = []
        self.splits: list[Split] = []
        self.sources: set[SourceLine | None] = set()
        self.complete = True
        self._recorded = 0
        self._row: int | None = None
        self._loops: _Iterations
        self._arrived: Array  # the step since which each lane has been waiting
        self._busy: Array  # the last step of each lane's warp
        # For the current straight-line run: the threads that accessed memory, by instruction, and
        # (instruction, number, threads) of each opened barrier.
        self._touched: dict[int, Array] = {}
        self._opened: list[tuple[int, int, Array]] = []

    def on_batch(self, m: Moment) -> None:
        super().on_batch(m)
        number = linear_block(self.block, m.record.grid)  # the grid is unknown before the launch
        ours = len(self.launches) - 1 == self.launch and number in m.blocks
        self._row = m.blocks.index(number) if ours else None
        if ours:
            self._loops = _Iterations(m.program.loops, m.n_threads)
            self._arrived, self._busy = (np.full(m.n_threads, -1) for _ in range(2))

    def on_access(self, m: Moment, access: Access) -> None:
        who = self._lanes(m, access.mask)
        if who is not None:
            self._touched[m.pc] = self._touched.get(m.pc, False) | who

    def on_barrier_done(self, m: Moment, mask: Array | None, number: int) -> None:
        who = self._lanes(m, mask)
        if who is not None:
            self._opened.append((m.pc, number, who))

    def on_divergence(self, m: Moment, taken: Array, rest: Array) -> None:
        took, stayed = self._lanes(m, taken), self._lanes(m, rest)
        source = m.program.line_at(m.pc)
        if took is None or stayed is None or not (self.complete and is_meant(self.line, source)):
            return
        pairs = zip(took.reshape(-1, LANES), stayed.reshape(-1, LANES), strict=True)
        for warp, (a, b) in enumerate(pairs):
            if a.any() and b.any():
                parts = (tuple(np.flatnonzero(p).tolist()) for p in (a, b))
                self.splits.append(Split(source, warp, *parts))

    def on_run(self, m: Moment, start: int, stop: int, mask: Array | None) -> None:
        who = self._lanes(m, mask)
        if who is None or stop == start:
            return
        self._recorded += stop - start
        if self._recorded > _LIMIT:
            self.complete = False
            return
        opened, self._opened = self._opened, []
        touched, self._touched = self._touched, {}
        for barrier in opened:
            if not start <= barrier[0] < stop:
                self._meet(m, *barrier)
        for pc in range(start, stop):
            self._execute(m, pc, start, who, touched.get(pc))
            for barrier in opened:
                if barrier[0] == pc:
                    self._meet(m, *barrier)
        self._loops.last[who] = stop - 1

    def _lanes(self, m: Moment, mask: Array | None) -> Array | None:
        """Return the recorded block's threads that are in the mask, or None if there are none."""
        if self._row is None:
            return None
        who = m.expand(mask)[self._row]
        return who.copy() if who.any() else None

    def _execute(self, m: Moment, pc: int, start: int, who: Array, touched: Array | None) -> None:
        """Record that threads execute an instruction. start: the first instruction of the
        straight-line run."""
        loops = self._loops.at(pc, start, who)
        instruction = m.program.instructions[pc]
        kind, does = _kind(instruction.opcode)
        lanes = who
        if does:
            lanes = np.zeros_like(who) if touched is None else touched
        if instruction.name not in ("ret", "exit") and lanes.any():
            source = m.program.line_at(pc)
            self.sources.add(source)
            if is_meant(self.line, source):
                _append(self.steps, Step(source, kind, does, 1, lanes.reshape(-1, LANES), loops))
        last = len(self.steps) - 1
        if kind == "barrier":
            self._arrived[who] = np.minimum(self._busy + 1, last)[who]
        self._busy[lanes.reshape(-1, LANES).any(axis=1).repeat(LANES)] = last

    def _meet(self, m: Moment, pc: int, number: int, who: Array) -> None:
        since = np.where(who, self._arrived, -1).reshape(-1, LANES)
        # If other threads were waiting for threads that now exit, `pc` is not a barrier.
        stops = [s for s in self.steps if s.kind == "barrier"]
        source = stops[-1].source if stops else m.program.line_at(pc)
        if is_meant(self.line, source):
            self.meetings.append(Meeting(len(self.steps) - 1, number, source, since))


# -- from instructions to steps ----------------------------------------------------------------
def _append(steps: list[Step], step: Step) -> None:
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


def _kind(parts: tuple[str, ...]) -> tuple[str, str]:
    """Return the kind of an opcode, and `load`, `store`, `atomic` or "" for its effect on
    memory."""
    head = parts[0]
    if head in ("bar", "barrier"):
        return ("warp-wide" if "warp" in parts else "barrier"), ""
    if head in _WARP_WIDE:
        return "warp-wide", ""
    if head in ("bra", "ret", "exit"):
        return "branch", ""
    if head == "cp" and "async" in parts:
        copies = not any("group" in p or p == "wait_all" for p in parts)
        return "async copy", "load" if copies else ""
    does = {"ld": "load", "ldu": "load", "ldmatrix": "load", "st": "store", "stmatrix": "store",
            "atom": "atomic", "red": "atomic"}.get(head)  # fmt: skip
    if does is None or "param" in parts or "local" in parts:
        return "compute", ""
    return ("shared" if any(p.startswith("shared") for p in parts) else "global"), does


class _Iterations:
    def __init__(self, loops: list[tuple[int, int]], threads: int) -> None:
        self.loops = loops
        self.counts = {first: np.zeros(threads, np.int64) for first, _ in self.loops}
        self.last = np.full(threads, -1)

    def at(self, pc: int, start: int, who: Array) -> tuple[tuple[int, int], ...]:
        """Return (first instruction, iteration) of each loop that the threads are in after a run
        from `start` to `pc`."""
        found = []
        for first, end in self.loops:
            if not first <= pc <= end:
                continue
            count = self.counts[first]
            if pc == first:
                before = self.last if pc == start else np.full(len(count), pc - 1)
                inside = (before >= first) & (before <= end)
                count[who] = np.where(inside, count + 1, 1)[who]
            found.append((first, int(count[who].max())))
        return tuple(found)
