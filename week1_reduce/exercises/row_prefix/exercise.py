"""Puzzle week1/row_prefix: a prefix sum of rows of any length, piece by piece."""

import numpy as np

from forgekit.lessons.gates import looks_like
from forgekit.lessons.pictures import coloured, picture
from forgekit.lessons.puzzle import puzzle

from ..shares import shared


def _all_lanes(block, thread):
    loading = len(np.unique(thread[0]))
    return f"only {loading} of a warp's 32 lanes load row 0." if loading < 32 else ""


def _pieces(x):
    x = x.double()
    return __import__("torch").cat([p.cumsum(1) for p in x.split(32, 1)], 1)


EXERCISE = puzzle(
    title="compute prefix sums of rows of any length",
    task="""
Compute the inclusive prefix sum of each row, for float32 rows of any length. A warp goes
through its row in pieces, for example of 32 elements, and carries the sum of all earlier pieces.

Signature: `row_prefix(x, y)`.
""",
    hints=(
        "Within a piece, compute a prefix sum with `shuffle_sync_up`. The pieces to its left "
        "contribute one number, which is the same for all lanes.",
        "Every lane executes the shuffles of the last piece, even if the row has no element for "
        "it. What does such a lane hold?",
        "After a piece, lane 31 has the new carry. On the last line of the loop, a broadcast "
        "gives it to all lanes.",
    ),
    analysis="""
The kernel reads and writes each row once, but it processes the pieces of a row one after
another. With a few long rows, most of a GPU is idle. Decoupled look-back (Merrill and Garland,
2016) lets many blocks share a row and still moves every byte only once.
""",
    asked={"work": "one warp per row"},
    entry="row_prefix",
    inputs=lambda draw, m, n: (draw.fractions(m, n),),
    result=lambda x: x.cumsum(1),
    sizes=[(1, 5), (1, 1), (3, 33), (2, 64), (5, 1000), (9, 31), (3, 100)],
    count=[(5, 100), (96, 300)],
    waste={"load_sectors": 4.5, "store_sectors": 4.5},  # a lane may take four neighbours
    misconceptions=[
        looks_like(lambda x, y: _pieces(x), "each piece restarts at 0: no sum is carried over."),
        looks_like(lambda x, y: x.double().cumsum(1) - x, "each sum lacks its own element: this is the *exclusive* prefix sum."),
    ],
    more=lambda make: (shared(make, (3, 256), "thread", _all_lanes),),
    given=picture(
        "pieces of 4 (instead of 32) with the sum carried into each piece",
        {"x": [coloured([3, 1, 4, 1, 5, 9, 2, 6, 5], {k: k // 4 for k in range(9)})],
         "y": [coloured([3, 4, 8, 9, 14, 23, 25, 31, 36], {k: k // 4 for k in range(9)})],
         "carry": [["0"] * 4 + ["9"] * 4 + ["31"]]},
    ),
)  # fmt: skip
