"""Puzzle week1/warp_max: the largest element of each row, one warp per row."""

from forgekit.lessons.gates import FINITE_START, looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="find the largest element of each row with one warp",
    task="""
`y[m]` is the largest element of row m, for any M and N ≥ 1, in float32 and float16. All elements of a
row may be negative, and elements may be infinite.

Signature: `warp_max(x, y)`.
""",
    hints=(
        "Start from `warp_a_row` and change the operator: what changes in the loop, in the "
        "shuffles, and on the line before the loop?",
        "Use `cutlass.max(a, b)`; −∞ is `-Float32.inf`.",
        "All lanes of a warp share a row, so the shuffles may be inside the predicate on the row, but "
        "not inside one on the column.",
    ),
    analysis="""
Taking a maximum does not round, so the result has the same bits for any order of the lanes. The
bits of a sum depend on the order.
""",
    asked={"work": "one warp per row", "shared_bytes": 0, "barriers": 0, "shuffles": 5},
    entry="warp_max",
    inputs=lambda draw, m, n: (draw.extremes(m, n),),
    result=lambda x: x.amax(1),
    sizes=[(9, 70), (4, 17), (1, 1), (3, 31), (2, 1000), (1, 1025), (3, 129), (17, 66), (9, 30)],
    count=[(3, 100), (96, 1000)],
    dtypes=("float32", "float16"),
    misconceptions=[
        FINITE_START,
        looks_like(lambda x, y: x.amin(1), "this is the smallest element."),
        looks_like(lambda x, y: x[:, ::32].amax(1), "this is the largest of elements 0, 32, 64, "
                   "…, which are lane 0's if neighbouring lanes read neighbouring elements."),
        looks_like(lambda x, y: x[:, :32].amax(1) if x.shape[1] > 64 else None, "the result covers "
                   "only the first 32 elements of a row, one per lane."),
    ],
)  # fmt: skip
