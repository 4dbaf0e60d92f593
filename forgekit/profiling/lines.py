"""From counts for each PTX instruction to counts for each Python source line."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forgekit.errors import SourceLine, UsageError, display_path, source_line
from forgekit.profiling.metrics import Counts, total
from forgekit.tracing.source_lines import line_at

if TYPE_CHECKING:
    from forgekit.vgpu.counters.costs import AccessCounts
    from forgekit.vgpu.counters.counting import LaunchCounts

__all__ = ["NO_LINE", "Accesses", "Instruction", "Launch", "Line", "TensorTraffic", "summed"]

NO_LINE = "(no line)"
_NEAR = 20  # lines between a kernel's first decorator and its `def`


@dataclass(frozen=True)
class Accesses:
    """What one line does to one kind of memory, such as `global_load`.

    requests; units: sectors of global, wavefronts of shared memory; ideal: the fewest that would
    do; low, high: the fewest and the most of one request; bytes_asked; width: the most bytes of a
    lane; strides: bytes between neighbouring lanes -> units beyond the ideal; None: lanes that lie
    unevenly.
    """

    kind: str
    requests: int
    units: int
    ideal: int
    low: int
    high: int
    bytes_asked: int
    width: int
    strides: Counter[int | None] = field(default_factory=Counter)

    @property
    def is_global(self) -> bool:
        return self.kind.startswith("global")

    @property
    def bytes_moved(self) -> int:
        """Bytes of the sectors; 0 for shared memory."""
        return 32 * self.units if self.is_global else 0

    @property
    def unit(self) -> str:
        return "sector" if self.is_global else "wavefront"

    def __add__(self, other: Accesses) -> Accesses:
        return Accesses(
            self.kind,
            self.requests + other.requests,
            self.units + other.units,
            self.ideal + other.ideal,
            min(self.low, other.low),
            max(self.high, other.high),
            self.bytes_asked + other.bytes_asked,
            max(self.width, other.width),
            self.strides + other.strides,
        )


class _Counted:
    """Metrics as attributes and items, from `counts`."""

    counts: Counts

    def __getitem__(self, name: str) -> int | float:
        return self.counts[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "counts":
            raise AttributeError(name)
        try:
            return self.counts[name]
        except UsageError as error:
            raise AttributeError(str(error)) from None


@dataclass(frozen=True, eq=False)
class Instruction(_Counted):
    """One PTX instruction of a line: its kernel, its text and line in the PTX, its counts."""

    kernel: str
    pc: int
    text: str
    ptx_line: int
    counts: Counts


@dataclass(frozen=True, eq=False)
class Line(_Counted):
    """One Python source line.

    Attributes:
        source: file, number and text; None for instructions without a line.
        counts: its metrics, also as attributes and items of the line itself.
        accesses: kind of memory access -> what it cost.
        instructions: the PTX instructions, in the order of the PTX.
    """

    source: SourceLine | None
    counts: Counts
    accesses: dict[str, Accesses]
    instructions: tuple[Instruction, ...]

    @property
    def number(self) -> int:
        """1-based; 0 for instructions without a line."""
        return self.source.line if self.source else 0

    @property
    def text(self) -> str:
        return self.source.text if self.source else NO_LINE

    @property
    def where(self) -> str:
        """`kernels.py, line 12`"""
        return self.source.where if self.source else NO_LINE

    @property
    def key(self) -> tuple[str, int]:
        return (self.source.filename, self.source.line) if self.source else ("~", 0)

    def to_dict(self) -> dict[str, Any]:
        return {
            "file": display_path(self.source.filename) if self.source else None,
            "line": self.number or None,
            "text": self.text,
            "metrics": self.counts.to_dict(),
            "instructions": [
                {"kernel": i.kernel, "ptx_line": i.ptx_line, "ptx": i.text,
                 "metrics": i.counts.to_dict()}
                for i in self.instructions
            ],
        }  # fmt: skip

    def __repr__(self) -> str:
        head = f"{self.where}: {self.text}" if self.source else NO_LINE
        body = "\n".join("  " + text for text in repr(self.counts).split("\n"))
        ptx = "\n".join(f"  {i.warp_instructions:>12,} × {i.text}" for i in self.instructions)
        return f"{head}\n{body}\n  PTX, executed by so many warps:\n{ptx}"


@dataclass(frozen=True)
class TensorTraffic:
    """A tensor's distinct bytes that a kernel read and wrote, of `size_bytes` that it spans."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int
    read_bytes: int
    written_bytes: int


@dataclass(frozen=True, eq=False)
class Launch(_Counted):
    """One launch of one kernel.

    Attributes:
        kernel: its name as it is written in Python; grid, block: (x, y, z).
        counts: of the whole launch, also as attributes and items; lines: by source line;
        tensors: name -> device memory touched; shared_bytes: shared memory of one block.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counts: Counts
    lines: tuple[Line, ...]
    tensors: dict[str, TensorTraffic]
    shared_bytes: int = 0

    @property
    def bytes_touched(self) -> int:
        """Distinct bytes read plus distinct bytes written: what has to move at least."""
        return int(self["unique_bytes_read"] + self["unique_bytes_written"])


def launch_of(found: LaunchCounts, kernel: str) -> Launch:
    """One launch's counts, by source line."""
    parts: dict[tuple[str, int], list[tuple[SourceLine | None, Instruction]]] = {}
    accesses: dict[int, dict[str, AccessCounts]] = {}
    for (pc, kind), counted in found.accesses.items():
        accesses.setdefault(pc, {})[kind] = counted
    for pc, n in enumerate(found.warp_instructions):
        if not n:
            continue
        source = _shown(line_at(found.program, pc))
        ptx = found.program.instructions[pc]
        counts = _counts(found, pc, accesses.get(pc, {}))
        instruction = Instruction(kernel, pc, ptx.text, ptx.line, counts)
        key = (source.filename, source.line) if source else ("~", 0)
        parts.setdefault(key, []).append((source, instruction))
    lines = []
    for entries in parts.values():
        instructions = tuple(i for _, i in entries)
        kinds = [a for i in instructions for a in accesses.get(i.pc, {}).items()]
        lines.append(
            Line(entries[0][0], total([i.counts for i in instructions]), _joined(kinds),
                 instructions)
        )  # fmt: skip
    whole = total([line.counts for line in lines])
    whole.add("unique_bytes_read", found.read_bytes)
    whole.add("unique_bytes_written", found.written_bytes)
    tensors = {
        t.name: TensorTraffic(t.name, t.dtype, t.shape, t.size_bytes, t.read_bytes, t.written_bytes)
        for t in found.tensors
    }
    ordered = tuple(sorted(lines, key=lambda line: line.key))
    shared = found.program.shared_bytes(found.record)
    record = found.record
    return Launch(kernel, record.grid, record.block, whole, ordered, tensors, shared)


@functools.lru_cache(maxsize=1 << 12)
def _shown(source: SourceLine | None) -> SourceLine | None:
    """The line itself; for a kernel's first decorator, which its prologue carries, the `def`."""
    if source is None or not source.text.startswith("@"):
        return source
    for number in range(source.line + 1, source.line + _NEAR):
        line = source_line(source.filename, number)
        if line.text.startswith("def "):
            return line
    return source


def _counts(found: LaunchCounts, pc: int, accesses: dict[str, AccessCounts]) -> Counts:
    counts = Counts({
        "warp_instructions": found.warp_instructions[pc],
        "thread_instructions": found.thread_instructions[pc],
        "divergent_branches": found.divergent[pc],
    })  # fmt: skip
    for kind, a in accesses.items():
        unit = "sectors" if kind.startswith("global") else "wavefronts"
        counts.add(f"{kind}_requests", a.requests)
        counts.add(f"{kind}_{unit}", a.units)
        counts.add(f"{kind}_ideal_{unit}", a.ideal)
        counts.add(f"{kind}_bytes_asked", a.threads * a.width)
    return counts


def _joined(found: Iterable[tuple[str, AccessCounts]]) -> dict[str, Accesses]:
    result: dict[str, Accesses] = {}
    for kind, a in found:
        one = Accesses(
            kind, a.requests, a.units, a.ideal, a.low, a.high, a.threads * a.width, a.width,
            a.strides,
        )  # fmt: skip
        result[kind] = result[kind] + one if kind in result else one
    return result


def summed(launches: Sequence[Launch]) -> tuple[Line, ...]:
    """The lines of several launches: what they share is added up, kernels' instructions too."""
    if len(launches) == 1:
        return launches[0].lines
    parts: dict[tuple[str, int], list[Line]] = {}
    for launch in launches:
        for line in launch.lines:
            parts.setdefault(line.key, []).append(line)
    result = []
    for lines in parts.values():
        kinds: dict[str, Accesses] = {}
        for line in lines:
            for kind, a in line.accesses.items():
                kinds[kind] = kinds[kind] + a if kind in kinds else a
        instructions: dict[tuple[str, int], Instruction] = {}
        for i in (i for line in lines for i in line.instructions):
            same = instructions.get((i.kernel, i.pc))
            counts = i.counts if same is None else same.counts + i.counts
            instructions[i.kernel, i.pc] = Instruction(i.kernel, i.pc, i.text, i.ptx_line, counts)
        result.append(
            Line(lines[0].source, total([line.counts for line in lines]), kinds,
                 tuple(instructions.values()))
        )  # fmt: skip
    return tuple(sorted(result, key=lambda line: line.key))
