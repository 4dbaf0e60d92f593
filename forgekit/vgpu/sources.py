"""Name a line of the user's Python: file and number, or cell and number, with its text."""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from dataclasses import replace

from forgekit.errors import SourceLine as NamedLine
from forgekit.vgpu.ptx import Instruction, SourceLine


def source_text(source: SourceLine) -> str:
    """The text of the line, stripped; empty where it cannot be found."""
    return linecache.getline(source.file, source.line).strip()


def describe_source(source: SourceLine) -> str:
    """`cell, line 12: y[i] = x[i]` or `kernels.py, line 12: y[i] = x[i]`; never a folder."""
    return str(NamedLine(source.file, source.line, source_text(source)))


# How instructions that the compiler gives no line of their own are written in Python.
_WRITTEN_AS = {
    "atom": re.compile(r"\batomic_\w+\("),
    "red": re.compile(r"\b(atomic_\w+|red)\("),
    "fence": re.compile(r"\bfence_\w+\("),
    "membar": re.compile(r"\bfence_\w+\("),
}


def attribute(instructions: Sequence[Instruction]) -> list[Instruction]:
    """Give the instructions that carry the line after the function, in column 0, another one.

    Branches and loop arithmetic get the line before them in the PTX. So do atomics and fences,
    unless between that line and the one after them exactly one line of the source looks like it.
    """
    following: list[SourceLine | None] = []
    after: SourceLine | None = None
    for instruction in reversed(instructions):
        following.append(after)
        if instruction.source is not None and instruction.source.column:
            after = instruction.source
    result, before = [], None
    for instruction, after in zip(instructions, reversed(following), strict=True):
        source = instruction.source
        if source is not None and source.column:
            before = source
        elif before is not None:
            instruction = replace(instruction, source=_between(instruction, before, after))
        result.append(instruction)
    return result


def _between(instruction: Instruction, before: SourceLine, after: SourceLine | None) -> SourceLine:
    pattern = _WRITTEN_AS.get(instruction.opcode[0])
    if pattern is None or after is None or after.file != before.file:
        return before
    lines = range(before.line, max(after.line, before.line) + 1)
    found = [n for n in lines if pattern.search(linecache.getline(before.file, n))]
    return SourceLine(before.file, found[0], before.column) if len(found) == 1 else before
