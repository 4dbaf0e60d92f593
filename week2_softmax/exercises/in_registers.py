"""Provide a gate on arithmetic per element for exercises in 02_the_row_in_registers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from forgekit.lessons.gates import Counter, counted, counters

if TYPE_CHECKING:
    from forgekit.lessons.gates import Group
    from forgekit.profiling.profile import Profile

__all__ = ["ARITHMETIC", "DIVISIONS", "EXPONENTIALS", "arithmetic"]

ARITHMETIC = r"(fma|mul|add|sub|max|min|div|rcp|ex2|lg2|setp|selp)\S*\.f32"
DIVISIONS = r"div\.\S*f32"  # one instruction in PTX, many in machine code
EXPONENTIALS = r"ex2\."


def arithmetic(
    make: Callable[..., Any],
    size: tuple[int, int],
    *limits: tuple[str, str, float],
    look_at: str,
    dtype: str = "float32",
) -> Group:
    """Return a group that counts PTX instructions of some kinds per element of a call.

    size: (rows, columns), in full vectors. limits: a pattern of opcodes, their name, and the
    allowed number per element.
    """
    rows, columns = size

    def of(pattern: str) -> Callable[[Profile], float]:
        def measure(p: Profile) -> float:
            every = [i for line in p.all_lines for i in line.instructions]
            found = [i for i in every if re.match(pattern, i.text)]
            return sum(i["thread_instructions"] for i in found) / (rows * columns)

        return measure

    fused = of(r"fma\.")
    gates = [
        Counter(
            of(pattern),
            called,
            at_most=most,
            misconceptions=[
                counted(
                    lambda p, of=pattern: of == ARITHMETIC and fused(p) < 0.9,
                    "a product and a sum are two "
                    "operations, or one as an FMA: `x * a + b` in float32.",
                )
            ],
        )
        for pattern, called, most in limits
    ]
    return counters(make, size, gates, dtype, name="Arithmetic per element", look_at=look_at)
