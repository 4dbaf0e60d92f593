"""Exercise week0/scale: the first kernel of one's own, one line of arithmetic."""

from __future__ import annotations

import torch

import forgekit as fk
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import (
    Case,
    Counter,
    Group,
    clean,
    counted,
    counters,
    found,
    hinted,
    looks_like,
    values,
)
from forgekit.lessons.gates.submission import MakeCase

__all__ = ["BLOCK", "EXERCISE", "FIRST_BLOCK", "all_at_work"]

BLOCK = 128
FIRST_BLOCK = (
    "only the first block's 128 elements are written. Two things to ask: is the grid big enough "
    "for n, and does `i` count across blocks, as `bidx * 128 + tidx` does?"
)


def _case(n: int, dtype: torch.dtype) -> Case:
    x = fk.randn(n, dtype=dtype, device="virtual")
    want = 3 * x.float() + 1
    return Case((x, fk.empty(n, dtype=dtype, device="virtual")), {1: want}, f"{n} elements")


def _without_the_last(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    want = 3 * x + 1
    if len(x) < BLOCK:  # with 129 elements the same is missing after the first block
        want[-1:] = float("nan")
    return want


def _first_block(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    want = 3 * x + 1
    want[BLOCK:] = float("nan")
    return want


def _first_blocks(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    want = 3 * x + 1
    want[1024:] = float("nan")
    return want


def all_at_work(make: MakeCase) -> Group:
    """The group that stops a loop over all elements; `make` gives a case of float32."""
    n = 1024
    again = (
        "each element is stored again and again: more than one thread loops over all the elements."
    )
    idle = (
        "one store instruction serves 32 threads at once. A loop in one thread leaves 31 of every "
        "32 threads idle."
    )
    gate = Counter(
        "global_store_requests",
        "store instructions",
        at_most=n // 16,
        ideal=n // 32,
        slips=[
            counted(lambda p: p["global_store_bytes_asked"] >= 2 * 4 * n, again),
            counted(lambda p: True, idle),
        ],
        look_at="One element a thread, as in guarded_kernel, and no loop.",
    )
    return counters(make, (n,), [gate], name="All threads at work")


EXERCISE = Exercise(
    title="scale a vector",
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
                looks_like(_first_block, FIRST_BLOCK),
                looks_like(
                    _first_blocks,
                    "1,024 threads are launched whatever the length; their number follows from n.",
                ),
                hinted("all NaN", "nothing is stored: assign to `mY[i]`."),
                hinted("NaN", "blocks overlap, or leave gaps: what is `i` in block 1?"),
            ],
        ),
        clean(_case, sizes=[(129,)]),
        all_at_work(_case),
    ),
    praise="Your first kernel.",
)
