"""Exercise week2/threads_for: how many threads share a row."""

from __future__ import annotations

import random
from numbers import Integral

import torch

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, python_function

__all__ = ["EXERCISE"]

MOST = 36
SIGNATURE = "threads_for(columns, dtype)"
F32, F16 = torch.float32, torch.float16
INTEGERS = torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64
CASES = (
    ((1152, F32), "32 lanes have nine vectors each, 36 elements, which is allowed."),
    ((8, F32), "32 threads, one warp, are the fewest allowed."),
    ((1156, F32), "289 vectors for 32 lanes: one lane has ten of them, 40 elements."),
    ((1152, torch.float64), "32 lanes have 18 vectors of float64 each, 36 elements."),
    ((1024, F16), "32 lanes have four vectors of float16 each, 32 elements."),
    ((1032, F16), "129 vectors of float16 for 32 lanes: one lane has five, 40 elements."),
    ((4608, F32), "128 threads have 36 elements each."),
    ((4612, F32), "1,153 vectors for 128 threads: one has ten. The next power of two is 256."),
    ((36_864, F32), "1,024 threads have 36 elements each, and a block may have 1,024 threads."),
    ((36_868, F32), "one of 1,024 threads has 40 elements, and a block has at most 1,024 threads, so the answer is 0."),
    ((32_768, F16), "1,024 threads have four vectors of float16 each, 32 elements."),
    ((32_776, F16), "one of 1,024 threads has five vectors of float16, 40 elements, so the answer is 0."),
)  # fmt: skip


def rule(columns: int, dtype: torch.dtype) -> int:
    """Apply the rule from the task."""
    vec = 16 // dtype.itemsize
    vectors = columns // vec
    for threads in (32, 64, 128, 256, 512, 1024):
        if -(-vectors // threads) * vec <= MOST:
            return threads
    return 0


def _kept(submission: Submission) -> str:
    python_function(submission, SIGNATURE)
    chance = random.Random(submission.seed)
    drawn = [
        ((16 * round(2 ** (12 * chance.random())), dtype), "")
        for dtype in (F32, F16, torch.bfloat16, torch.float64, *INTEGERS)
        for _ in range(20)
    ]
    for (columns, dtype), why in (*CASES, *drawn):
        called = f"threads_for({columns:,}, {dtype})"
        try:
            got = submission.value(columns, dtype)
        except Exception as error:
            raise GateError(f"{called} raised {type(error).__name__}: {error}") from None
        want = rule(columns, dtype)
        if isinstance(got, float | torch.Tensor) and got == want:
            raise GateError(f"{called} returns {got!r}; a launch needs an integer, {want}.")
        if isinstance(got, bool) or not isinstance(got, Integral) or got != want:
            raise GateError(f"{called} returns {got!r:.100}; the rule requires {want}.", why)
    return f"{len(CASES) + len(drawn)} rows"


EXERCISE = Exercise(
    title="choose how many threads share a row",
    task="""
A block of 1,024 threads has 64 registers per thread. Suppose that everything except the row needs 28 registers, so at most 36 elements fit. Write
`threads_for(columns, dtype)`, which returns the fewest threads, out of 32, 64, 128, 256, 512 and 1,024, for
which no thread holds more than 36 elements of a row. A row consists of whole vectors of 16 bytes, and so does
each thread's part: the first thread has the vectors 0, `threads`, 2 · `threads`, … If 1,024 threads do not
suffice, return 0.
""",
    hints=(
        "Given `dtype.itemsize`, how many elements does a vector have? How many vectors does a row have?",
        "Vectors are dealt out like cards. If they do not divide evenly, how many does the first thread receive?",
        "The comparison uses the vectors of one thread, *rounded up*, times the elements per vector.",
    ),
    analysis="""
Registers per thread and threads per block share one limit: 1,024 threads with 36 elements each hold a row of
36,864 elements. With the other 28 registers per thread, they use all 65,536 registers of an SM. Production
kernels have such a table, with bounds measured for each type.
""",
    entry="threads_for",
    groups=(Group("The rule", _kept),),
    praise="You can now size a block for any row.",
)  # fmt: skip
