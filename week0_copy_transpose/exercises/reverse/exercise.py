"""Exercise week0/reverse: an index computed backwards, and off by one if one is hasty."""

from __future__ import annotations

import re

import torch

import forgekit as fk
from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import Case, Slip, clean, found, hinted, looks_like, values
from forgekit.lessons.gates.failure import Evidence

from ..scale.exercise import BLOCK, FIRST_BLOCK, all_at_work

__all__ = ["EXERCISE"]


def _case(n: int, dtype: torch.dtype) -> Case:
    x = fk.arange(n, dtype=dtype, device="virtual")
    return Case(
        (x, fk.empty(n, dtype=dtype, device="virtual")),
        {1: x.flip(0)},
        f"{n} element{'s' * (n != 1)}",
    )


def _first_block(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    want = x.flip(0)
    want[BLOCK:] = float("nan")
    return want


def _first_block_backwards(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    want = x.flip(0)
    want[:-BLOCK] = float("nan")  # of a kernel that reads x[i]
    return want


def _first_blocks(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    want = x.flip(0)
    want[1024:] = float("nan")
    return want


# -i and -1 - i leave the array with the first threads, n - 2 - i with the last one.
_BEFORE = re.compile(r"thread \([01], 0, 0\) of block \(0, 0, 0\) .*before its start")


def _counted_from_the_end(e: Evidence) -> bool:
    return "out-of-bounds" in e.kinds and _BEFORE.search(e.text) is not None


EXERCISE = Exercise(
    title="reverse a vector",
    task="""
Write a kernel with `y[0] = x[n-1]`, `y[1] = x[n-2]`, … for any length. The cell below the
solution draws it for eight elements and asks for your prediction.
""",
    hints=(
        "Which element does thread `i` read, if it writes `y[i]`?",
        "For `n = 8`, thread 0 reads element 7 and thread 7 reads element 0.",
        "`mX[n - 1 - i]` with `n = mX.shape[0]`.",
    ),
    analysis="""
The predicate stays as it is: if `i` runs over 0 … n−1, so does `n − 1 − i`. With `mX[n - i]`, off
by one, thread 0 reads `mX[n]`: try it and read what the virtual GPU says.
""",
    entry="reverse",
    groups=(
        values(
            _case,
            sizes=[(8,), (1,), (128,), (129,), (1000,), (2500,)],
            slips=[
                looks_like(lambda x, y: x, "the kernel still copies."),
                found(
                    "out-of-bounds",
                    "the reversal is of the whole vector, not of each block by itself.",
                    text="mX[127]",
                ),
                looks_like(_first_block, FIRST_BLOCK),
                looks_like(_first_block_backwards, FIRST_BLOCK),
                looks_like(
                    _first_blocks,
                    "1,024 threads are launched whatever the length; their number follows from n.",
                ),
                hinted("all NaN", "nothing is stored: assign to `mY[i]`."),
                Slip(
                    "there is no counting from the end here, as Python's lists have it: index -1 "
                    "lies before the array. The last element is number n − 1, so `n − 1 − i`.",
                    _counted_from_the_end,
                ),
                found(
                    "out-of-bounds",
                    "7 is n − 1 for eight elements only; take n from `mX.shape[0]`.",
                    text="mX[7],",
                ),
                found("out-of-bounds", "off by one: the last element is number n - 1, not n."),
            ],
        ),
        clean(_case, sizes=[(129,)]),
        all_at_work(_case),
    ),
)
