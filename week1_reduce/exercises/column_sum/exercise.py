"""Puzzle week1/column_sum: the mirror image of a thread a row."""

import functools

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="add up the columns",
    task="""
`y[n] = x[0, n] + x[1, n] + … + x[M-1, n]`, for any M and N, in float32, float16
and bfloat16, added up in float32. The whole kernel is yours; it is called as `column_sum(x, y)`.
""",
    hints=(
        "It is `thread_a_row` with rows and columns exchanged. Where do they stand in it?",
        "Three places: the predicate, the loop, and the number of blocks.",
        "A variable that changes in a loop keeps its type: `total` has to be a `Float32` before the "
        "loop begins, and every element is converted in the line that adds it.",
    ),
    analysis="""
Neighbouring threads read neighbouring columns, so each load of a warp is one piece of a row: 4
sectors of float32, 2 of 16 bits. The distance from one load of a thread to its next, a whole row,
does not matter to a warp.
""",
    asked={"work": "one thread per column"},
    entry="column_sum",
    inputs=lambda draw, m, n: (draw(m, n),),
    result=lambda x: x.sum(0),
    sizes=[(3, 4), (1, 1), (31, 33), (1000, 7), (5, 1025), (33, 129), (7, 300)],
    count=[(9, 100), (64, 1500)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: x[0], "only the first row is in the result."),
        looks_like(lambda x, y: x[-1], "only the last row is in the result: each element replaces "
                   "the sum in place of being added."),
        looks_like(lambda x, y: x.double().sum(0) - x[0], "the first row is left out."),
        looks_like(lambda x, y: functools.reduce(torch.add, x), "each addition is rounded to the type "
                   "of x: add in float32."),
        looks_like(lambda x, y: x.double().sum(0) + 1, "the sum does not begin at 0."),
    ],
)  # fmt: skip
