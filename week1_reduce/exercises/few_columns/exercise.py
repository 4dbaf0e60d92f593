"""Puzzle week1/few_columns: no idle lanes where a matrix has 3 columns."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle

ROWS = 256  # of a part


def parts_of(x: torch.Tensor) -> torch.Tensor:
    """Return the column sums of each 256 rows."""
    return torch.stack([part.sum(0) for part in x.split(ROWS)])


EXERCISE = puzzle(
    title="let no lane idle",
    task="""
A contiguous matrix has few columns, 1 to 32, and any height M. Write the first of two launches:
row p of `y` gets the column sums of rows 256·p to 256·p + 255 of `x`, so `y` has ⌈M / 256⌉ rows.
All warps of a block read neighbours, whatever the number of columns. Types are float32 and
float16, accumulated in float32. Write the whole kernel.

Signature: `few_columns(x, y)`.
""",
    hints=(
        "In memory, a part is one strip of 256 · N numbers. Ignore the rows: number k of the "
        "strip belongs to column k % N.",
        "A thread that starts at number t and continues in steps of a multiple of N stays in "
        "column t % N. What is the largest multiple of N up to 256? The few threads beyond it do "
        "nothing.",
        "The line that loads takes element (k // N, k % N) of the part, with a predicate, since "
        "the last part may be shorter. In shared memory the sums of column n are then at n, n + "
        "N, n + 2·N, …",
    ),
    analysis="""
With 3 columns, a warp that reads one row uses 3 of its lanes. Here 255 of 256 threads read, and a
warp's load of float32 is 4 sectors. The step is the trick: a multiple of N keeps each thread in
its column, so one register is enough. The division and the remainder by N cost instructions once
per thread; in the loop only the row advances, by `deep`.
""",
    asked={"work": "one block per 256 rows", "block": 256},
    entry="few_columns",
    inputs=lambda draw, m, n: (draw.fractions(m, n),),
    result=parts_of,
    sizes=[(4, 3), (1, 1), (256, 2), (300, 7), (1000, 3), (257, 32), (31, 31), (600, 5)],
    count=[(300, 3), (3072, 7)],
    legal=lambda m, n: (m, min(32, n)),
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(
            lambda x, y: torch.stack([p[:: 256 // x.shape[1]].sum(0) for p in x.double().split(ROWS)]),
            "only the sums of the first N threads arrive; those of the others are in shared memory, "
            "and no thread adds them.",
        ),
    ],
    given=picture(
        "3 columns, 8 threads (yours: 256): a number is a thread; threads 6 and 7 do nothing",
        {"x": [[(str(k % 6), 5 * (k % 6)) for k in range(3 * row, 3 * row + 3)] for row in range(4)]},
    ),
)  # fmt: skip
