"""Puzzle week0/add_row: one row, added to every row of a matrix."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import picture

X = [[str(4 * i + j) for j in range(4)] for i in range(3)]
PICTURE = picture(
    "z = x + r, row by row",
    {
        "x": X,
        "r": [["100", "200", "300", "400"]],
        "z": [[str(100 * (j + 1) + int(x)) for j, x in enumerate(row)] for row in X],
    },
    lambda text: int(text) // 100 - 1 if len(text) == 3 else None,
)

EXERCISE = puzzle(
    title="add a row to every row",
    task="""
`z[i, j] = x[i, j] + r[j]`: `x` and `z` have M rows and N columns, `r` has N elements. The host
function is called as `add_row(x, r, z)`.
""",
    hints=(
        "A matrix has two edges, so a thread has two numbers: its row and its column.",
        "Blocks of 32 × 8 threads, and a grid of two dimensions. Which of the two numbers has to "
        "change from lane to lane?",
        "x of thread and block is the column, y the row; the grid's first entry counts blocks "
        "across, its second blocks down; and the predicate asks for both edges.",
    ),
    analysis="""
`r` is loaded once for each row of `x`: as many sectors again as `x` itself. On a GPU most of them
come from a cache, but the requests are made. A thread that keeps its `r[j]` in a register and goes
down eight rows makes an eighth of them; try it, it passes as well.
""",
    entry="add_row",
    given=PICTURE,
    inputs=lambda draw, m, n: (draw(m, n), draw(n)),
    result=lambda x, r: x + r,
    sizes=[(3, 4), (1, 1), (8, 32), (40, 1), (2, 129), (65, 33), (9, 100)],
    count=[(24, 90), (260, 330)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, r, z: x, "z holds x: r is not added."),
        looks_like(lambda x, r, z: x + r[0], "every column gets the first element of r."),
        looks_like(
            lambda x, r, z: x + r[: len(x), None],
            "row i gets r[i]: the number of the *column* chooses the element of r.",
        ),
        looks_like(
            lambda x, r, z: x + r[torch.arange(x.numel()).reshape(x.T.shape).T % len(r)],
            "a single index counts down the columns, not along the rows: `mZ[k]` is row k % M of "
            "column k // M, so its element of r is not number k % N.",
        ),
    ],
)
