"""Puzzle week1/column_sum: the mirror image of one thread per row."""

import functools

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="add up the columns",
    task="""
Compute `y[n] = x[0, n] + x[1, n] + … + x[M-1, n]` for any M and N, in float32, float16 and
bfloat16. Add in float32. Write the whole kernel and its launch.

Signature: `column_sum(x, y)`.
""",
    hints=(
        "Swap rows and columns in `thread_a_row`. Where does the kernel use them?",
        "In three places: the predicate, the loop, and the number of blocks.",
        "A variable that changes in a loop keeps its type: make `total` a `Float32` before the loop, "
        "and convert every element on the line that adds it.",
    ),
    analysis="""
Neighbouring threads read neighbouring columns, so each load of a warp covers one contiguous
piece of a row, which is 4 sectors for float32 and 2 for 16-bit types. Consecutive loads of one
thread are a whole row apart, but only the lanes of the same load have to be close together.
""",
    asked={"work": "one thread per column"},
    entry="column_sum",
    inputs=lambda draw, m, n: (draw.fractions(m, n),),
    result=lambda x: x.sum(0),
    sizes=[(3, 4), (1, 1), (31, 33), (1000, 7), (5, 1025), (33, 129), (7, 300)],
    count=[(9, 100), (64, 1536)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: x[0], "the result contains only the first row."),
        looks_like(lambda x, y: x[-1], "the result contains only the last row: add each element "
                   "to the sum instead of overwriting the sum."),
        looks_like(lambda x, y: x.double().sum(0) - x[0], "the first row is missing."),
        looks_like(lambda x, y: functools.reduce(torch.add, x), "each addition rounds to the "
                   "type of x; add in float32."),
        looks_like(lambda x, y: x.double().sum(0) + 1, "each result is 1 more than the sum. Does it start at 0?"),
    ],
)  # fmt: skip
