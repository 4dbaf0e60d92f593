"""Exercise week2/choose_softmax: where a row is kept between its two uses."""

from __future__ import annotations

import random
from numbers import Integral

import torch

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, python_function

__all__ = ["EXERCISE"]

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
CASES = (
    (1000, F32, "sm_80"),
    (16_200, F32, "sm_90a"),
    (16_384, F32, "sm_90a"),
    (16_000, F16, "sm_90a"),
    (20_480, F16, "sm_90a"),
    (24_576, F32, "sm_80"),
    (49_152, BF16, "sm_90a"),
    (16_385, F32, "sm_90a"),
    (16_388, F32, "sm_90a"),
    (20_484, F16, "sm_90a"),
    (65_536, BF16, "sm_90a"),
    (65_536, F32, "sm_90a"),
    (98_304, F32, "sm_90a"),
    (131_072, F32, "sm_90a"),
    (196_608, F32, "sm_90a"),
    (196_612, F32, "sm_90a"),
    (65_536, F32, "sm_80"),
    (65_536, F32, "sm_89"),
    (65_536, F32, "sm_75"),
    (65_536, F32, "sm_90"),
    (65_536, F32, "sm_100a"),
    (65_536, F32, "sm_120"),
    (65_538, F32, "sm_100a"),
    (65_536, F32, "sm_100f"),
    (20_480, F32, "sm_75"),
    (24_576, torch.float64, "sm_90a"),
    (98_304, torch.float8_e4m3fn, "sm_90a"),
    (24_580, F32, "sm_80"),
    (24_580, F32, "sm_90a"),
    (10_000, torch.float64, "sm_90a"),
    (16_388, torch.complex64, "sm_90a"),
    (98_304, torch.bool, "sm_90a"),
    (16_385, F32, "sm_89"),
)
ARCHS = (75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121)


def _number(arch: str) -> int:
    return int("".join(c for c in arch if c.isdigit()))


def rule(n: int, dtype: torch.dtype, arch: str) -> tuple[str, int]:
    """Apply the rule from the task."""
    row, number = n * dtype.itemsize, _number(arch)
    if n <= 16_384:
        return "registers", 1
    blocks = next((b for b in (1, 2, 4, 8) if row <= b * 98_304), 0)
    if row % 16 or not blocks or number < (80 if blocks == 1 else 90):
        return "streaming", 1
    return ("cluster" if blocks > 1 else "staged"), blocks


def _facts(n: int, dtype: torch.dtype, arch: str) -> str:
    """Return the facts about a row and an architecture on which the rule depends, as text."""
    row, number = n * dtype.itemsize, _number(arch)
    whole = "whole vectors" if row % 16 == 0 else "not whole vectors"
    has = "cp.async" if number >= 80 else "no cp.async"
    has += (
        " and clusters" if number >= 90 else " but no clusters" if number >= 80 else ", no clusters"
    )
    return (
        f"The row takes {4 * n:,} bytes as float32 and {row:,} in its own type, {whole}; 64 kB are "
        f"65,536 bytes, and 96 kB are 98,304. {arch} has {has}."
    )


def _rule_kept(submission: Submission) -> str:
    python_function(submission, "choose_softmax(n, dtype, arch)")
    chance = random.Random(submission.seed)
    drawn = [
        (
            round(2 ** chance.uniform(12, 18)) // step * step,
            dtype,
            f"sm_{chance.choice(ARCHS)}{end}",
        )
        for dtype in (F32, F16, BF16)
        for end in ("", "a", "f")
        for step in (1, 4, 8, 8)
    ]
    for number in ARCHS:  # a row for cp.async and a row for clusters
        drawn += [(24_576, F32, f"sm_{number}a"), (65_536, F32, f"sm_{number}a")]
    for call in (*CASES, *drawn):
        called = f"choose_softmax({call[0]:,}, {call[1]}, {call[2]!r})"
        try:
            got = submission.value(*call)
        except Exception as error:
            raise GateError(f"{called} raised {type(error).__name__}: {error}") from None
        want = rule(*call)
        if got != want:
            raise GateError(f"{called} returns {got!r:.100}; needed {want}.\n{_facts(*call)}")
        if not isinstance(got, tuple) or not all(isinstance(x, Integral) for x in got[1:]):
            raise GateError(
                f"{called} returns {got!r:.100}; needed {want}.",
                "the number of blocks is a count, so return an int.",
            )
    return f"{len(CASES) + len(drawn)} calls"


EXERCISE = Exercise(
    title="choose where to keep a row",
    task="""
Write `choose_softmax(n, dtype, arch)`. It returns `(way, blocks)` for rows of n elements, of any torch dtype, on an architecture
such as `"sm_80"`, `"sm_90a"` or `"sm_100f"`. Return the first of these ways that is possible:

1. `"registers"`, 1 block: the row takes at most 64 kB as `float32`, a quarter of an SM's
   registers.
2. `"staged"`, 1 block: the GPU has `cp.async` (sm_80 and later), the row consists of whole
   vectors of 16 bytes, which `cp.async` needs, and takes at most 96 kB in its own type.
3. `"cluster"`, the fewest of 2, 4 and 8 blocks: the GPU has clusters (sm_90 and later), the row
   consists of whole vectors, and each block's part takes at most 96 kB.
4. `"streaming"`, 1 block.

1 kB is 1,024 bytes.
""",
    hints=(
        "A row has two sizes: in registers every element is float32, but in shared memory it keeps its type. `dtype.itemsize` is the size of an element in bytes.",
        "Two of the four ways require that the row's bytes are whole vectors. Which ways remain for other rows?",
        "The lines that test for `cp.async` and for clusters need the *number* in `arch`: 100 is more than 90, but "
        "the string 'sm_100a' sorts before 'sm_90a'.",
    ),
    analysis="""
The rule tries the places for a row from the fastest to the slowest, and each has one limit. The last kernel keeps
nothing and has no limit. The limits are measured: the first is 64 kB rather than 256 kB because a row that takes
all registers leaves no room for a second row, so no loads overlap its arithmetic. forgekit's own rule
(`forgekit/ops/tile_choice.py`) has different limits for each element size and also chooses the threads, but the
order is the same.
""",
    entry="choose_softmax",
    groups=(Group("The rule", _rule_kept),),
    praise="You have a rule for every row length.",
)  # fmt: skip
