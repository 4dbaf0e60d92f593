"""Puzzle week1/short_rows: four rows per warp, for short rows."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="share a warp among four rows",
    task="""
Add up rows that are too short to fill a warp; four rows share each warp. The launch has eight
threads per row, and no block beyond those that these threads need. There may be any
number of rows. Longer rows must also be right. N is a multiple of 8, so a row consists of whole
16-byte vectors, perhaps fewer than eight. The types are float32 and float16; add in float32.

Signature: `short_rows(x, y)`.
""",
    hints=(
        "Which row does a thread work on, and which of the row's eight lanes is it? Divide by 8, and take "
        "the remainder.",
        "Combine only the sums of a row's eight lanes: `cute.arch.warp_reduction` accepts "
        "`threads_in_group=8`.",
        "Some of a warp's rows may not exist. Put a predicate around the loads and around the "
        "store; all 32 lanes execute the shuffles, on a line outside every `if`.",
    ),
    analysis="""
With one warp per row, 64-element float32 rows keep only 16 lanes busy, and each warp executes
five shuffles for one row. Here all lanes load, and three shuffles serve four rows. For a
million such rows, an H200 took 0.067 ms with `eight_lanes` and 0.162 ms with `vectors`
(2026-11-22).
""",
    asked={"work": "eight lanes per row", "load_bytes": 16},
    entry="short_rows",
    inputs=lambda draw, m, n: (draw.fractions(m, n),),
    result=lambda x: x.sum(1),
    sizes=[(4, 8), (16, 64), (1, 8), (3, 64), (33, 40), (7, 128), (129, 24), (31, 1000)],
    count=[(5, 64), (640, 24), (640, 200)],
    dtypes=("float32", "float16"),
    legal=lambda m, n: (m, max(8, n // 8 * 8)),
    promise={0: {1: 8}},
    misconceptions=[
        looks_like(lambda x, y: x[:, : 8 * (16 // x.element_size())].double().sum(1),
                   "each lane adds one vector, but the row has more than eight."),
        looks_like(lambda x, y: torch.nn.functional.pad(x.double().sum(1), (0, -len(x) % 4)).reshape(
            -1, 4).sum(1).repeat_interleave(4)[: len(x)], "this is the sum of four rows: the "
            "shuffles combine 32 lanes, but a row has only 8."),
        looks_like(lambda x, y: x.double().sum(1) + 1, "each result is 1 more than the sum. Does it start at 0?"),
    ],
)  # fmt: skip
