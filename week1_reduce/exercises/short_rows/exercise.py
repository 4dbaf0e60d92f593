"""Puzzle week1/short_rows: four rows a warp, where rows are short."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="share a warp among four rows",
    task="""
Sums of rows that are too short for a warp, so four rows share one. Any number of rows; rows are whole vectors of 16 bytes, of which there may be fewer than
eight or more; float32 and float16, added up in float32. Called as `short_rows(x, y)`.
""",
    hints=(
        "Which row does a thread have, and which of the eight places in it? One division by 8, one "
        "remainder.",
        "The lanes of a row combine their sums alone: `cute.arch.warp_reduction` takes "
        "`threads_in_group=8`.",
        "A warp may have a row that exists beside one that does not. Only the loads and the store "
        "stand behind a predicate; the shuffle is for all 32 lanes, in a line outside of every `if`.",
    ),
    analysis="""
With a warp a row, rows of 64 float32 keep 16 lanes busy, and each warp computes five shuffles for
one row. Here all lanes load, and three shuffles serve four rows: `eight_lanes` in the table below
takes less than half the time of `vectors` for a million rows of 64 float32.
""",
    asked={"work": "eight lanes per row", "load_bytes": 16},
    entry="short_rows",
    inputs=lambda draw, m, n: (draw.fractions(m, n),),
    result=lambda x: x.sum(1),
    sizes=[(4, 8), (16, 64), (1, 8), (3, 64), (33, 40), (7, 128), (129, 24), (31, 1000)],
    count=[(5, 64), (600, 64)],
    dtypes=("float32", "float16"),
    legal=lambda m, n: (m, max(8, n // 8 * 8)),
    promise={0: {1: 8}},
    misconceptions=[
        looks_like(lambda x, y: x[:, : 8 * (16 // x.element_size())].double().sum(1),
                   "each lane adds one vector, and the row has more than eight."),
        looks_like(lambda x, y: torch.nn.functional.pad(x.double().sum(1), (0, -len(x) % 4)).reshape(
            -1, 4).sum(1).repeat_interleave(4)[: len(x)], "the sum is that of four rows: the shuffles "
            "go over 32 lanes, and a row has 8."),
        looks_like(lambda x, y: x.double().sum(1) + 1, "the sum does not begin at 0."),
    ],
)  # fmt: skip
