"""Puzzle week1/tile_columns: a tile of threads for columns, which adds up in shared memory."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="add up columns with a tile of threads",
    task="""
`y[n] = x[0, n] + … + x[M-1, n]` once more, any M and N, in float32, float16 and bfloat16, added up
in float32; this time for matrices that are tall. A warp
reads 32 neighbours of one row, and the eight warps of a block share the rows. At the end the
eight sums of a column meet in shared memory. The whole kernel is yours: `tile_columns(x, y)`.
""",
    hints=(
        "Give each thread two numbers: its column among 32, and its warp among 8. Which of "
        "them goes with `tidx % 32`?",
        "Each warp begins at a row of its own and goes on in steps of 8. Then 256 sums go into "
        "shared memory, and one warp reads them.",
        "A shared tensor of shape (8, 32) with rows of 32 words has no bank conflicts: neighbours "
        "in a warp are neighbours in it. The barrier stands between the line that stores there and "
        "the `if` that reads; threads beyond the last column have to reach it, too.",
    ),
    analysis="""
Eight times the threads of a thread a column, with the same sectors. A barrier, eight words read by
each thread of one warp, and no bank conflict, since a warp stores a row of the tile and reads rows
of it. Where the blocks side by side are still fewer than the multiprocessors, the rows can be split
over blocks as well, and then it is `04_few_long_rows` once more, with columns.
""",
    asked={"work": "one block per 32 columns", "block": 256},
    entry="tile_columns",
    inputs=lambda draw, m, n: (draw(m, n),),
    result=lambda x: x.sum(0),
    sizes=[(16, 4), (1, 1), (31, 33), (1000, 3), (7, 129), (9, 32), (33, 31)],
    count=[(40, 70), (600, 100)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(
            lambda x, y: x.double()[0::8].sum(0),
            "it is the sum of rows 0, 8, 16, …: the sums of the other warps are not added.",
        ),
        looks_like(
            lambda x, y: x.double()[8:].sum(0),
            "the first eight rows are left out.",
        ),
        looks_like(
            lambda x, y: x.double().sum(0) - x.double()[7::8].sum(0),
            "the sums of the last warp are left out.",
        ),
        looks_like(
            lambda x, y: x.double().sum(0) - x.double()[0::8].sum(0) + x.double()[7::8].sum(0),
            "the last warp's result is in y: it adds the sums of warps 1 to 7 to its own, as every "
            "warp here does, and each of them stores.",
        ),
    ],
)  # fmt: skip
