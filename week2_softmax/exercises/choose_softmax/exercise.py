"""Exercise week2/choose_softmax: where a row is kept between its two uses."""

from __future__ import annotations

import random
from numbers import Integral

import torch

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, python_function

__all__ = ["EXERCISE"]

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
WHOLE = "rows that are not whole vectors of 16 bytes cannot be copied asynchronously, 16 bytes at a time."
CASES = (
    ((1000, F32, "sm_80"), "4,000 bytes are far below 64 kB."),
    ((16_200, F32, "sm_90a"), "64 kB are 65,536 bytes, and this row has 64,800."),
    ((16_384, F32, "sm_90a"), "exactly 64 kB are allowed."),
    ((16_000, F16, "sm_90a"), "16,000 float32 in registers take 62.5 kB."),
    ((20_480, F16, "sm_90a"), "in registers an element takes 4 bytes, whatever its type: this row takes 80 kB."),
    ((24_576, F32, "sm_80"), "exactly 96 kB are allowed, and sm_80 has asynchronous copies."),
    ((49_152, BF16, "sm_90a"), "in shared memory, elements keep their own type: at 2 bytes each, this row takes 96 kB."),
    ((16_385, F32, "sm_90a"), WHOLE),
    ((16_388, F32, "sm_90a"), "16 bytes are 4 elements of float32, so this row consists of whole vectors."),
    ((20_484, F16, "sm_90a"), WHOLE + " 16 bytes are 8 elements of float16."),
    ((65_536, BF16, "sm_90a"), "128 kB are two parts of 64 kB."),
    ((65_536, F32, "sm_90a"), "256 kB: two parts would be 128 kB each."),
    ((98_304, F32, "sm_90a"), "384 kB are four parts of 96 kB."),
    ((131_072, F32, "sm_90a"), "512 kB: four parts would be 128 kB each."),
    ((196_608, F32, "sm_90a"), "768 kB are eight parts of 96 kB."),
    ((196_612, F32, "sm_90a"), "eight parts would be a little more than 96 kB each."),
    ((65_536, F32, "sm_80"), "there are no clusters before sm_90."),
    ((65_536, F32, "sm_89"), "there are no clusters before sm_90."),
    ((65_536, F32, "sm_75"), "75 is less than 90: there are no clusters before sm_90."),
    ((65_536, F32, "sm_90"), "the rule says sm_90 and later, with or without a letter."),
    ((65_536, F32, "sm_100a"), "100 is more than 90, although '1' sorts before '9'."),
    ((65_536, F32, "sm_120"), "120 is more than 90."),
    ((65_538, F32, "sm_100a"), WHOLE),
    ((65_536, F32, "sm_100f"), "an architecture's number may have the letter a or f behind it."),
    ((20_480, F32, "sm_75"), "there are no asynchronous copies before sm_80."),
    ((24_576, torch.float64, "sm_90a"), "at 8 bytes each, this row takes 192 kB."),
    ((98_304, torch.float8_e4m3fn, "sm_90a"), "at 1 byte each, this row takes 96 kB."),
    ((24_580, F32, "sm_80"), "this row takes 16 bytes more than 96 kB."),
    ((24_580, F32, "sm_90a"), "this row takes 16 bytes more than 96 kB."),
)  # fmt: skip


def rule(n: int, dtype: torch.dtype, arch: str) -> tuple[str, int]:
    """Apply the rule from the task."""
    row, number = n * dtype.itemsize, int("".join(c for c in arch if c.isdigit()))
    if n <= 16_384:
        return "registers", 1
    blocks = next((b for b in (1, 2, 4, 8) if row <= b * 98_304), 0)
    if row % 16 or not blocks or number < (80 if blocks == 1 else 90):
        return "streaming", 1
    return ("cluster" if blocks > 1 else "staged"), blocks


def _rule_kept(submission: Submission) -> str:
    python_function(submission, "choose_softmax(n, dtype, arch)")
    chance = random.Random(submission.seed)
    drawn = [
        ((round(2 ** chance.uniform(12, 18)) // step * step, dtype, arch), "")
        for dtype in (F32, F16, BF16)
        for arch in ("sm_80", "sm_90a", "sm_100a")
        for step in (1, 4, 8, 8)
    ]
    for (n, dtype, arch), why in (*CASES, *drawn):
        called = f"choose_softmax({n:,}, {dtype}, {arch!r})"
        try:
            got = submission.value(n, dtype, arch)
        except Exception as error:
            raise GateError(f"{called} raised {type(error).__name__}: {error}") from None
        want = rule(n, dtype, arch)
        whole = isinstance(got, tuple) and all(isinstance(x, Integral) for x in got[1:])
        if got != want or not whole:
            if got == want:
                why = "the number of blocks is a count, so return an int."
            raise GateError(
                f"{called} returns {got!r:.100}; needed {want}.",
                why if isinstance(got, tuple) else "",
            )
    return f"{len(CASES) + len(drawn)} calls"


EXERCISE = Exercise(
    title="choose where to keep a row",
    task="""
Write `choose_softmax(n, dtype, arch)`. It returns `(way, blocks)` for rows of n elements, of any torch dtype, on an architecture such as `"sm_90a"`. Return the first of these
ways that is possible:

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
