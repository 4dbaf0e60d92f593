"""Puzzle week1/tile_columns: a tile of threads for columns, which adds in shared memory."""

import numpy as np

from forgekit.lessons.gates import looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle

from ..shares import shared


def _eight_warps(block, thread):
    """All eight warps load elements of the first 32 columns, 32 at a time."""
    warps = thread[:, :32] // 32
    if (mixed := (warps != warps[:, :1]).any(1)).any():
        m = mixed.argmax()
        return f"several warps load row {m} of the first 32 columns; the task gives it to one warp."
    if (loading := len({*warps[:, 0]})) < 8:
        return f"{loading} of 8 warps load the first 32 columns; in the task, all eight share the rows."
    if (lanes := len(np.unique(thread[0, :32] % 32))) < 32:
        return f"{lanes} lanes load the first 32 elements of row 0; the task gives each lane one."
    return ""


EXERCISE = puzzle(
    title="add up columns with a tile of threads",
    task="""
Compute `y[n] = x[0, n] + … + x[M-1, n]` for tall matrices with any M and N, in float32, float16
and bfloat16. Accumulate in float32. A warp reads 32 neighbouring elements of one row, and the
eight warps of a block share the rows. At the end, the block combines the eight sums of each
column in shared memory. Write the whole kernel.

Signature: `tile_columns(x, y)`.
""",
    hints=(
        "Give each thread two numbers: its column among 32 and its warp among 8. Which of them is "
        "`tidx % 32`?",
        "Each warp starts at a different row and continues in steps of 8 rows. Then the block "
        "stores 256 sums in shared memory, and one warp reads them.",
        "A shared tensor of shape (8, 32) with rows of 32 words has no bank conflicts, because "
        "neighbouring lanes access neighbouring words. The barrier goes between the line that "
        "stores there and the `if` around the reads. Threads without a column have to reach it "
        "as well.",
    ),
    analysis="""
This kernel has eight times as many threads as the kernel with one thread per column, but loads
the same sectors. The price is one barrier, and seven reads of shared memory by each thread of
one warp. There are no bank conflicts, because a warp stores one row of the tile and reads one
row at a time. If there are still fewer blocks than multiprocessors, split the rows over blocks
as well, as in `04_few_long_rows`.
""",
    asked={"work": "one block per 32 columns", "block": 256},
    entry="tile_columns",
    inputs=lambda draw, m, n: (draw.fractions(m, n),),
    result=lambda x: x.sum(0),
    sizes=[(16, 4), (1, 1), (31, 33), (1000, 3), (7, 129), (9, 32), (33, 31)],
    count=[(40, 70), (600, 96)],
    waste={"store_sectors": None},  # each warp may store some of the 32 sums
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(
            lambda x, y: x.double()[0::8].sum(0),
            "y holds only the sum of rows 0, 8, 16, …, as if the other warps' sums were not added.",
        ),
        looks_like(
            lambda x, y: x.double()[8:].sum(0) if len(x) > 8 else None,
            "the first eight rows are left out.",
        ),
        looks_like(
            lambda x, y: x.double().sum(0) - x.double()[7::8].sum(0),
            "rows 7, 15, 23, … are left out, as if the last warp's sum were not added.",
        ),
        looks_like(
            lambda x, y: (
                x.double().sum(0) - x.double()[0::8].sum(0) + x.double()[7::8].sum(0)
                if len(x) > 7
                else None
            ),
            "rows 7, 15, 23, … count twice and rows 0, 8, 16, … are missing, as if warp 7 added "
            "the sums of warps 1 to 7 to its own and stored last.",
        ),
    ],
    more=lambda make: (shared(make, (300, 70), "warp", _eight_warps),),
    given=picture(
        "2 warps of 4 lanes (yours: 8 warps of 32); colours are warps, numbers are lanes",
        {"x": [[(str(lane), 20 * (row % 2)) for lane in range(4)] for row in range(4)],
         "shared memory": [[(str(lane), 20 * warp) for lane in range(4)] for warp in range(2)]},
    ),
)  # fmt: skip
