"""Exercise week1/choose_reduction: the rule that picks a kernel for a shape."""

from __future__ import annotations

import random
from collections import defaultdict
from numbers import Integral

import torch

from forgekit.benching.recorded import Recorded, recorded
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, python_function

__all__ = ["EXERCISE"]

SIGNATURE = "choose_reduction(m, n, dtype)"
F32, F16 = torch.float32, torch.float16
CASES = (
    ((100_000, 32, F32), "8 vectors per row: each of eight lanes has one."),
    ((100_000, 512, F32), "16 vectors for each of 8 lanes are still allowed."),
    ((100_000, 1024, F16), "16 bytes are 8 elements of float16, so this row has 128 vectors."),
    ((100_000, 2048, F32), "512 vectors are 16 for each lane of a warp."),
    ((100_000, 4096, F16), "512 vectors of float16 are 16 for each lane of a warp."),
    ((100_000, 2052, F32), "513 vectors are more than 16 per lane of a warp."),
    ((3000, 8192, F16), "1,024 vectors are too many for a warp."),
    ((264, 131_072, F32), "264 rows with one block each give enough blocks, so there are no parts."),
    ((1024, 1024, F32), "one warp per row gives 128 blocks, and this row has a vector for each of "
                        "256 threads: use more threads per row, which makes more blocks."),
    ((2105, 1024, F32), "the last block is not full, but it counts: 264 blocks are enough."),
    ((64, 524_288, F32), "264 blocks for 64 rows allow 4 parts per row."),
    ((66, 524_288, F32), "264 blocks for 66 rows allow exactly 4 parts per row."),
    ((44, 524_288, F32), "264 blocks for 44 rows allow 6 parts per row, but the number of parts "
    "is a multiple of 4."),
    ((1, 16_384, F32), "a part has at least 1,024 vectors, and this row has 4,096."),
    ((1, 32_768, F16), "a part has at least 1,024 vectors, and this row of float16 has 4,096."),
    ((1, 12_400, F32), "the row has only three parts of at least 1,024 of its 3,100 vectors, fewer than "
                       "four, so it stays whole."),
    ((1, 16_380, F32), "the row has only three parts of at least 1,024 of its 4,095 vectors, fewer than "
                       "four, so it stays whole."),
    ((1, 8_192, F32), "the row has only two parts of 1,024 vectors, fewer than four, so it stays whole."),
    ((100, 1_048_576, F32), "264 blocks for 100 rows allow only 2 parts per row, fewer than four."),
    ((64, 500, F32), "there are few blocks, but 125 vectors are fewer than 256: do not add threads."),
    ((2104, 1024, F32), "263 blocks are too few, and 256 vectors are one per thread."),
    ((100_000, 512, torch.float64), "16 bytes are 2 elements of float64, so this row has 256 vectors."),
    ((100_000, 2048, torch.int8), "16 bytes are 16 elements of int8, so this row has 128 vectors."),
    ((70, 524_288, F32), "264 blocks for 70 rows allow only 3 parts per row, fewer than four."),
    ((22, 524_288, F32), "264 blocks for 22 rows allow 12 parts per row."),
    ((1, 4_194_304, F32), "264 blocks for one row allow 264 parts, and the row has enough vectors."),
    ((8, 1020, F32), "there are few blocks, but 255 vectors are fewer than 256: add no threads."),
)  # fmt: skip


def rule(m: int, n: int, dtype: torch.dtype) -> tuple[int, int]:
    """Apply the rule from the task."""
    vectors = n * dtype.itemsize // 16
    threads = next((t for t in (8, 32) if vectors <= 16 * t), 256)
    if -(-m // (256 // threads)) < 264 and vectors >= 256:
        threads = 256
    parts = min(264 // m, vectors // 1024) // 4 * 4
    return threads, max(parts, 1)


def _answer(submission: Submission, m: int, n: int, dtype: torch.dtype) -> object:
    called = f"choose_reduction({m:,}, {n:,}, {dtype})"
    try:
        return submission.value(m, n, dtype)
    except Exception as error:
        raise GateError(f"{called} raised {type(error).__name__}: {error}") from None


def _rule_kept(submission: Submission) -> str:
    python_function(submission, SIGNATURE)
    chance = random.Random(submission.seed)
    drawn = [
        ((chance.randint(1, 3000), 8 * round(4 ** (8.5 * chance.random())), dtype), "")
        for dtype in (F32, F16, torch.bfloat16)
        for _ in range(20)
    ]
    for (m, n, dtype), why in (*CASES, *drawn):
        got, want = _answer(submission, m, n, dtype), rule(m, n, dtype)
        whole = isinstance(got, tuple) and all(isinstance(x, Integral) for x in got)
        if got != want or not whole:
            called = f"choose_reduction({m:,}, {n:,}, {dtype})"
            happened = f"{called} gives {got!r:.100}; needed {want}."
            if got == want:
                why = "both are counts, so return whole numbers of type int."
            elif got == want[::-1]:
                why = "threads come first, then parts."
            elif isinstance(got, tuple) and len(got) == 2:
                of = int("part" in why)  # the number that the reason is about
                why = why if got[of] != want[of] else ""
            else:
                why = ""
            raise GateError(happened, why)
    return f"{len(CASES) + len(drawn)} shapes"


def _times(run: Recorded) -> dict[tuple[tuple[int, ...], str], dict[str, float]]:
    """Return the recorded milliseconds by call and step."""
    found: dict[tuple[tuple[int, ...], str], dict[str, float]] = defaultdict(dict)
    for row in run.rows:
        found[row.shape, row.dtype][row.step] = row.ms
    return found


def _as_recorded(submission: Submission) -> str:
    names = {(8, 1): "8 lanes a row", (32, 1): "a warp a row", (256, 1): "a block a row"}
    worst = 1.0
    for ((m, n), dtype), ms in _times(recorded("week1/05_choose")).items():
        got = _answer(submission, m, n, getattr(torch, dtype))
        assert isinstance(got, tuple)  # it keeps the rule
        best = min(ms[name] for name in (*names.values(), "parts, two launches") if name in ms)
        worst = max(worst, ms[names.get(got, "parts, two launches")] / best)
    return (
        f"as recorded on an H200, never more than {worst - 1:.0%} slower than the best of the four"
    )


EXERCISE = Exercise(
    title="write the rule",
    task="""
Write `choose_reduction(m, n, dtype)`, which returns `(threads, parts)` for the kernel in this
notebook. The matrix has m rows of n elements; a row consists of whole 16-byte vectors.

1. threads: the smallest of 8, 32 and 256 that gives no thread more than 16 vectors of its row;
   256 if none of them does.
2. If this gives fewer than 264 blocks (of 256 threads), and a row has at least 256 vectors, take
   256 threads.
3. parts: as many as possible with at most 264 blocks in total and at least 1,024 vectors per
   part, rounded down to a multiple of 4, or 1 if that gives fewer than 4.
""",
    hints=(
        "Start with the number of 16-byte vectors per row; `dtype.itemsize` is the size of an "
        "element in bytes.",
        "A block has `256 // threads` rows, and the last block may not be full. Which way do you "
        "round the number of blocks?",
        "Two bounds limit the parts, one by blocks and one by vectors. In one line, take the "
        "smaller and round it down to a multiple of 4; then replace 0 by 1.",
    ),
    analysis="""
With this rule, no shape gets a slow kernel: on the 18 recorded calls, the rule is at most 3 %
slower than the best of the four ways, whereas each way alone is more than ten times slower for
some shape. The constants of such a rule come from measurements and hold for one GPU. Forgekit's
constants are in `forgekit/ops/tile_choice.py`, each with its reason.
""",
    entry="choose_reduction",
    groups=(
        Group("The rule", _rule_kept),
        Group("On the H200", _as_recorded),
    ),
    praise="Two numbers describe the kernel for any shape.",
)
