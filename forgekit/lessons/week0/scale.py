"""Exercise week0/scale: the first kernel of one's own, one line of arithmetic."""

from __future__ import annotations

import torch

import forgekit as fk
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import Case, Counter, clean, counters, found, hinted, looks_like, values

__all__ = ["EXERCISE"]


def _case(n: int, dtype: torch.dtype) -> Case:
    x = fk.randn(n, dtype=dtype, device="virtual")
    want = 3 * x.float() + 1
    return Case((x, fk.empty(n, dtype=dtype, device="virtual")), {1: want}, f"{n} elements")


def _without_the_last(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    want = 3 * x + 1
    want[-1:] = float("nan")
    return want


def _first_blocks(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    want = 3 * x + 1
    want[1024:] = float("nan")
    return want


EXERCISE = Exercise(
    title="scale a vector",
    notebook="00_start_here",
    task="""
Write a kernel that computes `y[i] = 3 * x[i] + 1` for any length. It starts as `guarded_kernel`
did; one line changes.
""",
    hints=(
        "Only the line inside the `if` changes.",
        "Inside the `if`, `mX[i]` is an ordinary number: compute with it as you would in Python.",
        "`mY[i] = 3.0 * mX[i] + 1.0`",
    ),
    analysis="""
One multiplication and one addition: the compiler makes a single `fma` of them, *fused
multiply-add*, which rounds once. Look for it in `fk.compile(scale, x, y).ptx`.
""",
    entry="scale",
    groups=(
        values(
            _case,
            sizes=[(8,), (1,), (128,), (129,), (1000,), (2500,)],
            slips=[
                looks_like(lambda x, y: x, "the kernel still copies."),
                looks_like(lambda x, y: 3 * (x + 1), "1 is added before the multiplication."),
                looks_like(lambda x, y: 3 * x, "the + 1 is missing."),
                found(
                    "out-of-bounds",
                    "no predicate keeps the threads beyond the last element away from memory.",
                ),
                looks_like(
                    _without_the_last, "the last element is left out; the predicate is `i < n`."
                ),
                looks_like(
                    _first_blocks,
                    "1,024 threads are launched whatever the length; their number follows from n.",
                ),
                hinted("all NaN", "nothing is stored: assign to `mY[i]`."),
                hinted("NaN", "blocks overlap, or leave gaps: what is `i` in block 1?"),
            ],
        ),
        clean(_case, sizes=[(129,)]),
        counters(
            _case,
            (1024,),
            [
                Counter(
                    lambda p: 1024 / p["global_store_requests"],
                    "threads at work in a store instruction",
                    at_least=16,
                    ideal=32,
                    look_at="One thread an element, as in guarded_kernel: a loop over the "
                    "elements leaves 31 of every 32 threads idle.",
                ),
            ],
            name="All threads at work",
        ),
    ),
    praise="Your first kernel.",
)
