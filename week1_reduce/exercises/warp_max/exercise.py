"""Puzzle week1/warp_max: the largest element of each row, a warp a row."""

from forgekit.lessons.gates import FINITE_START, looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="the largest of each row, by warps",
    task="""
`y[m]` is the largest element of row m again, for any M and N ≥ 1, in float32 and float16. All
elements of a row may be negative. `warp_max(x, y)`.
""",
    hints=(
        "`warp_a_row` with another operator: what changes in the loop, in the shuffles, and in the "
        "line before the loop?",
        "`cutlass.max(a, b)`, and −∞ is `-Float32.inf`.",
        "The predicate on the row is the same for all lanes of a warp, so the shuffles may stand "
        "inside of it; one on the column may not enclose them.",
    ),
    analysis="""
In a maximum by butterfly every lane ends with the same value whatever the order, bit for bit, since
a maximum does not round. That is not so for sums.
""",
    asked={"work": "one warp per row", "shared_bytes": 0, "barriers": 0, "shuffles": 5},
    entry="warp_max",
    inputs=lambda draw, m, n: (draw.extremes(m, n),),
    result=lambda x: x.amax(1),
    sizes=[(2, 5), (1, 1), (3, 31), (2, 1000), (1, 1025), (3, 129), (17, 32), (9, 30)],
    count=[(3, 100), (100, 1000)],
    dtypes=("float32", "float16"),
    misconceptions=[
        FINITE_START,
        looks_like(lambda x, y: x.amin(1), "this is the smallest element."),
        looks_like(lambda x, y: x[:, ::32].amax(1), "only what lane 0 has found is in the result: "
                   "nothing reaches it from the other lanes."),
        looks_like(lambda x, y: x[:, :32].amax(1), "only the first 32 elements of a row are looked "
                   "at, one for each lane."),
    ],
)  # fmt: skip
