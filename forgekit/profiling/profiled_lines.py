"""Convert counts per PTX instruction to counts per Python source line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from forgekit.errors import SourceLine, display_path
from forgekit.profiling.metrics import ByName, Counts, total
from forgekit.profiling.predicting.facts import Facts, facts_of
from forgekit.vgpu import AccessCounts, Recording, TensorTraffic

NO_LINE = "(no line)"
Place = tuple[str, str, int]  # (displayed name, file, line)
_PREFIX = "kernel_cutlass_"  # the prefix of the compiler's kernel names


class _Counted(ByName):
    counts: Counts

    @property
    def accesses(self) -> dict[str, AccessCounts]:
        """Map each kind of memory access to its counts."""
        return self.counts.accesses

    def __getitem__(self, name: str) -> int | float:
        return self.counts[name]


@dataclass(frozen=True, eq=False)
class ProfiledInstruction(_Counted):
    """A PTX instruction: its kernel, its text, its line in the PTX and its Python line."""

    kernel: str
    pc: int
    text: str
    ptx_line: int
    source: SourceLine | None
    counts: Counts


@dataclass(frozen=True, eq=False)
class ProfiledLine(_Counted):
    """A Python source line and its cost.

    Attributes:
        source: the line's file, number and text; None for instructions without a line.
        counts: the line's metrics, also available as attributes and items of this object.
        instructions: the PTX instructions, in PTX order.
    """

    source: SourceLine | None
    counts: Counts
    instructions: tuple[ProfiledInstruction, ...]

    @property
    def number(self) -> int:
        """Return the 1-based line number; 0 for instructions without a line."""
        return self.source.line if self.source else 0

    @property
    def text(self) -> str:
        return self.source.text if self.source else NO_LINE

    @property
    def where(self) -> str:
        """Return text such as `kernels.py, line 12`."""
        return self.source.where if self.source else NO_LINE

    @property
    def key(self) -> Place:
        return _place(self.source)

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
        return f"{head}\n{body}\n  PTX, with the number of warps that executed it:\n{ptx}"


@dataclass(frozen=True, eq=False)
class Launch(_Counted):
    """A launch of a kernel and its cost.

    Attributes:
        kernel: the kernel's Python name. grid, block, cluster: the dimensions (x, y, z).
        counts: the counts of the whole launch, also available as the launch's attributes and items;
            lines: the counts by source line;
        tensors: maps each tensor's name to the device memory that was touched; shared_bytes: shared
            memory per block.
        pace: the inputs of the time model, and the counts; None if `Profile.time` must run the
            kernel again to obtain them.
        sample: None if all blocks ran. Otherwise counts are estimates: `blocks` of `n_blocks` ran,
            and `disagreement` is the difference between two halves of the sample (0.1: 10 %).
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counts: Counts
    lines: tuple[ProfiledLine, ...]
    tensors: dict[str, TensorTraffic]
    shared_bytes: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)
    pace: tuple[Facts, Any] | None = None
    sample: Any = None

    @property
    def bytes_touched(self) -> int:
        """Return the minimum traffic: the distinct bytes read plus the distinct bytes written."""
        return int(self["unique_bytes_read"] + self["unique_bytes_written"])


def launches_of(recording: Recording, *, pace: bool = False) -> tuple[Launch, ...]:
    """Return each launch with its counts by source line. pace: True to add the inputs of the time
    model.
    """
    launches = []
    counted = recording.counts
    facts: Sequence[Facts | None] = [None] * len(counted)
    if pace:
        facts = facts_of(recording)
    for found, of in zip(counted, facts, strict=True):
        code, record = found.program, found.record
        kernel = kernel_name(code.kernel.name, code.line_at(0) if code.instructions else None)
        accesses: dict[int, list[AccessCounts]] = {}
        for (pc, _), access in found.accesses.items():
            accesses.setdefault(pc, []).append(access)
        instructions = []
        for pc in (pc for pc, times in enumerate(found.warp_instructions) if times):
            ptx, source = code.instructions[pc], code.line_at(pc)
            counts = Counts({
                "warp_instructions": found.warp_instructions[pc],
                "thread_instructions": found.thread_instructions[pc],
                "divergent_branches": found.divergent[pc],
            }, accesses.get(pc, ()))  # fmt: skip
            instructions.append(ProfiledInstruction(kernel, pc, ptx.text, ptx.line, source, counts))
        lines = _by_line(instructions)
        whole = total([line.counts for line in lines])
        whole += Counts({"unique_bytes_read": found.read_bytes,
                         "unique_bytes_written": found.written_bytes})  # fmt: skip
        tensors, shared = {t.name: t for t in found.tensors}, code.shared_bytes(record)
        launches.append(Launch(kernel, record.grid, record.block, whole, lines, tensors, shared,
                               record.cluster, None if of is None else (of, found),
                               found.sample))  # fmt: skip
    return tuple(launches)


def kernel_name(mangled: str, first: SourceLine | None) -> str:
    """Return a kernel's Python name, or the compiler's name if there is no source.

    first: the source line of the kernel's first instruction.
    """
    name = mangled.removeprefix(_PREFIX)
    found = re.match(r"def\s+(\w+)", first.text) if first is not None else None
    return found[1] if found is not None and name.startswith(found[1]) else name


def summed(launches: Sequence[Launch]) -> tuple[ProfiledLine, ...]:
    """Merge the lines of several launches: add up the counts of equal lines and of their
    instructions."""
    if len(launches) == 1:
        return launches[0].lines
    found: dict[tuple[str, int], ProfiledInstruction] = {}
    for i in (i for launch in launches for line in launch.lines for i in line.instructions):
        same = found.get((i.kernel, i.pc))
        found[i.kernel, i.pc] = replace(i, counts=same.counts + i.counts) if same else i
    return _by_line(found.values())


def _by_line(instructions: Iterable[ProfiledInstruction]) -> tuple[ProfiledLine, ...]:
    """Group instructions by source line, in source order."""
    parts: dict[Place, list[ProfiledInstruction]] = {}
    for i in instructions:
        parts.setdefault(_place(i.source), []).append(i)
    return tuple(
        ProfiledLine(part[0].source, total([i.counts for i in part]), tuple(part))
        for _, part in sorted(parts.items(), key=lambda item: item[0])
    )  # fmt: skip


def _place(source: SourceLine | None) -> Place:
    """Return a sort key for lines that begins with the displayed name, so that the order does not
    depend on the location of files. Instructions without a line come last.
    """
    if source is None:
        return "~", "", 0
    name = re.sub(r"\d+", lambda n: n[0].zfill(6), display_path(source.filename))  # cell 9, cell 10
    return name, source.filename, source.line
