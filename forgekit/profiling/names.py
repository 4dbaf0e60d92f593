"""Kernels' names as a student wrote them."""

from __future__ import annotations

import linecache
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forgekit.vgpu.program import Program

__all__ = ["kernel_name"]

_PREFIX = "kernel_cutlass_"
_NEAR = 20  # lines between a kernel's first decorator and its `def`


def kernel_name(program: Program) -> str:
    """The name of a kernel in Python; the compiler's own where the source cannot be had."""
    mangled = program.kernel.name
    plain = mangled.removeprefix(_PREFIX)
    source = program.instructions[0].source if program.instructions else None
    if source is not None:  # the prologue carries the line of the first decorator
        for number in range(source.line, source.line + _NEAR):
            found = re.match(r"\s*def\s+(\w+)", linecache.getline(source.file, number))
            if found:
                return found[1] if plain.startswith(found[1]) else plain
    return plain
