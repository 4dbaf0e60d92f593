"""Correct the source lines of instructions, and describe lines of the user's Python code."""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from forgekit.vgpu.ptx import Instruction, SourceLocation
from forgekit.vgpu.user_lines import SourceLine


def source_text(source: SourceLocation) -> str:
    """Return the text of a source line without surrounding blanks; empty if the line is not
    found."""
    return linecache.getline(source.file, source.line).strip()


def describe_source(source: SourceLocation) -> str:
    """Return text such as `cell, line 12: y[i] = x[i]` or, without the file's folder, `kernels.py,
    line 12: y[i] = x[i]`."""
    return str(SourceLine(source.file, source.line, source_text(source)))


# For each opcode for which the compiler records no source line, the Python calls that produce it.
_CALLS = {
    "atom": re.compile(r"\batomic_(\w+)\("),
    "red": re.compile(r"\b(?:atomic_(\w+)|red)\("),
    "fence": re.compile(r"\bfence_\w+\("),
    "membar": re.compile(r"\bfence_\w+\("),
    "st": re.compile(r"\]\s*(?:[-+*/|&^%]|//|<<|>>)?=(?!=)|\.store\w*\("),  # of cutlass.Array
}
_FLOAT_EXTREMES = ("fmax", "fmin", "max_float32")  # these compile to integer max or min


class _Alike(NamedTuple):
    """Instructions without a source line that may come from the same set of Python calls.

    at: the indices of the instructions; before: the source line of the instruction before them.
    """

    at: list[int]
    before: SourceLocation
    lines: tuple[int, ...]  # source lines of the calls, one per call
    straight: bool  # True if there is no branch between the instructions


def attribute(
    instructions: Sequence[Instruction], labels: Set[int] = frozenset()
) -> list[Instruction]:
    """Correct the source lines of instructions to which the compiler assigns the line after the
    function, in column 0.

    Such an instruction gets the source line of the instruction before it in the PTX. If only a
    branch precedes it in its basic block, it gets that of the next one in the block. If it is an
    atomic, a fence or a store, it gets the line of a call between these lines (or up to the
    function's end), provided that there is only one candidate line, or that there are as many calls
    as instructions.

    labels: the indices of the instructions that follow a label.
    """
    result = list(instructions)
    alike: list[_Alike] = []
    before, start = None, 0
    pieces = [list(piece) for _, piece in itertools.groupby(instructions, _has_line)]
    for piece, following in itertools.zip_longest(pieces, pieces[1:]):
        if _has_line(piece[0]):
            before = piece[-1].source
        elif before is not None:
            source, after = before, (following or piece)[0].source  # or the function's end
            end = start + len(piece)
            for at, instruction in enumerate(piece, start):
                result[at] = replace(instruction, source=source)
                if instruction.opcode[0] == "bra" and labels.isdisjoint(range(at + 1, end + 1)):
                    source = after if following else before
            if after is not None and after.file == before.file:
                alike += _alike(piece, start, before, after.line if following else after.line - 1)
        start += len(piece)
    for at, source in _resolve(alike).items():
        result[at] = replace(result[at], source=source)
    return result


def _has_line(instruction: Instruction) -> bool:
    return instruction.source is not None and bool(instruction.source.column)


def _alike(piece: list[Instruction], start: int, before: SourceLocation, last: int) -> list[_Alike]:
    """Group the atomics, fences and stores in a piece of the PTX without source lines by the calls
    from which they may come. The piece begins at instruction `start`."""
    text = range(before.line, max(last, before.line) + 1)
    found: dict[tuple[int, ...], list[int]] = {}
    for at, instruction in enumerate(piece):
        if instruction.opcode[0] in _CALLS:
            found.setdefault(_calls(instruction, before.file, text), []).append(at)
    return [
        _Alike(
            [start + k for k in at], before, lines,
            not any(i.opcode[0] == "bra" for i in piece[at[0] : at[-1]]),
        )
        for lines, at in found.items()
    ]  # fmt: skip


def _resolve(alike: list[_Alike]) -> dict[int, SourceLocation]:
    """Return the source lines of those instructions for which they are certain; each call is
    assigned only once."""
    found: dict[int, SourceLocation] = {}
    taken: set[tuple[str, int]] = set()
    for _ in range(2):
        for at, before, lines, straight in alike:
            if at[0] in found:
                continue
            left = [line for line in lines if (before.file, line) not in taken]
            if len(left) == len(at) and (straight or len(set(left)) == 1):
                taken.update((before.file, line) for line in left)
            elif len(set(left)) == 1:
                left = left[:1] * len(at)
            else:
                continue
            for k, line in zip(at, left, strict=True):
                found[k] = SourceLocation(before.file, line, before.column)
    return found


def _calls(instruction: Instruction, file: str, text: range) -> tuple[int, ...]:
    """Return the lines of the calls that may have produced an instruction, one line per call."""
    pattern = _CALLS[instruction.opcode[0]]
    found = [
        (number, call)
        for number in text
        for call in pattern.finditer(linecache.getline(file, number).partition("#")[0])
    ]
    named = [number for number, call in found if _may_be(instruction, call)]
    # For an operation that the GPU lacks, the compiler emits a loop with cas, so a cas may come
    # from any call.
    return tuple(named or (number for number, _ in found))


def _may_be(instruction: Instruction, call: re.Match[str]) -> bool:
    name = call.group(1) if call.re.groups else None
    if name in _FLOAT_EXTREMES:
        return not {"max", "min"}.isdisjoint(instruction.opcode)
    return name is None or name in instruction.opcode
