"""Puzzle week0/add_row: one row, added to every row of a matrix."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import limited, picture, special

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
Compute `z[i, j] = x[i, j] + r[j]`, where `x` and `z` have M rows and N columns and `r` has N
elements. Support float32 and float16. Signature: `add_row(x, r, z)`.
""",
    hints=(
        "A matrix has two edges, so each thread needs two indices: its row and its column.",
        "Launch blocks of 32 × 8 threads in a two-dimensional grid. Which of the two indices "
        "must change from lane to lane?",
        "Compute the column from the x indices of thread and block, and the row from their y "
        "indices. The first entry of the grid counts blocks across, and the second counts blocks "
        "down. The predicate checks both edges.",
    ),
    analysis="""
The kernel loads `r` once for each row of `x`, so it requests as many sectors for `r` as for `x`. On
a GPU, a cache serves most of these requests, but the warps still have to issue them. If each thread
keeps `r[j]` in a register and processes eight rows, the warps issue an eighth as many requests for
`r`. Try this version; it passes as well.
""",
    entry="add_row",
    given=PICTURE,
    inputs=lambda draw, m, n: (special(draw(m, n)), draw(n) * (torch.arange(n) % 5 != 4)),
    result=lambda x, r: x + r,
    sizes=[
        (3, 4),
        (1, 1),
        (8, 32),
        (40, 1),
        (2, 129),
        (4200, 2),
        (2, 4200),
        (65, 33),
        (9, 100),
    ],
    count=[(24, 90), (260, 330), (64, 600)],
    dtypes=("float32", "float16"),
    legal=limited,
    misconceptions=[
        looks_like(lambda x, r, z: x, "z is equal to x, so r is not added."),
        looks_like(
            lambda x, r, z: x + r[0],
            "in this call, every element of z is x[i, j] + r[0], whatever its column.",
        ),
        looks_like(
            lambda x, r, z: x + r[: len(x), None],
            "in this call, z[i, j] is x[i, j] + r[i], but the *column* index must select the "
            "element of r.",
        ),
        looks_like(
            lambda x, r, z: x + r[torch.arange(x.numel()).reshape(x.T.shape).T % len(r)],
            "a single index counts down the columns, not along the rows. `mZ[k]` is row k % M of "
            "column k // M, so its element of r is not r[k % N].",
        ),
    ],
)
