"""Puzzle week1/row_max_vectors: the largest element of each row, 16 bytes at a time."""

import numpy as np

from forgekit.lessons.gates import FINITE_START, looks_like
from forgekit.lessons.puzzle import puzzle

from ..shares import shared


def _every_lane(block, thread):
    """Return what is wrong if a lane loads nothing of a row that has several vectors per lane."""
    lanes = len(np.unique(thread[0]))
    return f"only {lanes} of 32 lanes load elements of row 0." if lanes < 32 else ""


EXERCISE = puzzle(
    title="find the largest element with vector loads",
    task="""
`y[m]` is the largest element of row `m`, in float32 and float16. N is a multiple of 8, so rows
consist of whole 16-byte vectors, but may have fewer vectors than a warp has lanes. All elements of
a row may be negative, and elements may be infinite.

Signature: `row_max_vectors(x, y)`.
""",
    hints=(
        "Start from `warp_a_row`, with another operator and wider loads: cut the row `mX[row, "
        "None]` into vectors with `cute.zipped_divide`, and let lane 0 take vectors 0, 32, 64, …",
        "`.reduce(cute.ReductionOp.MAX, …, 0)` turns a loaded vector into one number. "
        "`cute.arch.fmax` returns the larger of two numbers.",
        "A lane without a vector takes part in the shuffles with its start value. On the line "
        "before the loop, set this value to the identity of max, `-Float32.inf`.",
    ),
    analysis="""
If the maximum started at 0, the result for a row of negative numbers would be 0, and a test
with numbers of both signs would not reveal the mistake. A maximum does not depend on the order
and does not round, so every kernel computes the same bits.
""",
    asked={"work": "one warp per row", "load_bytes": 16},
    entry="row_max_vectors",
    inputs=lambda draw, m, n: (draw.extremes(m, n),),
    result=lambda x: x.amax(1),
    sizes=[(3, 8), (4, 256), (1, 1024), (7, 1000), (33, 136), (5, 2040)],
    count=[(5, 64), (64, 1000)],
    waste={"idle_lanes": 6.0},  # lanes may load two vectors per turn
    dtypes=("float32", "float16"),
    exact=True,
    legal=lambda m, n: (m, max(8, n // 8 * 8)),
    promise={0: {1: 8}},
    misconceptions=[
        FINITE_START,
        looks_like(lambda x, y: x[:, :1].amax(1), "the result is only the first element."),
        looks_like(lambda x, y: x.amin(1), "this is the smallest element."),
    ],
    more=lambda make: (shared(make, (2, 1024), "thread", _every_lane),),
    praise="A different operator needs a different identity.",
)  # fmt: skip
