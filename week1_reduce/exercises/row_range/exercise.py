"""Puzzle week1/row_range: the distance from a row's smallest to its largest element."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="from the smallest to the largest",
    task="""
`y[m]` is the largest element of row m minus the smallest one, for any M and N ≥ 1, in float32 and
float16, subtracted in float32. Shuffles within the warps, then shared memory. `row_range(x, y)`.
""",
    hints=(
        "Two reductions at once, each with an identity of its own. How many numbers come out of the "
        "8 warps?",
        "8 largest and 8 smallest: 16 words, which lie side by side in a layout of (2, 8), or in two "
        "tensors. The first lane of each warp stores two.",
        "After the barrier the first warp goes on: a lane below 8 reads the results of one warp, the "
        "others hold −∞ and +∞, and all 32 take part in the shuffles.",
    ),
    analysis="""
Two values, one barrier: what waits is the block, and it waits once, whatever it hands over. Fusing
two reductions over a row also reads the row once in place of twice, which is where the time goes.
""",
    asked={"work": "one block per row", "block": 256, "barriers": 1, "shared_bytes": 128},
    entry="row_range",
    inputs=lambda draw, m, n: (draw.extremes(m, n, finite=True),),
    result=lambda x: x.amax(1) - x.amin(1),
    sizes=[(2, 5), (1, 1), (3, 31), (2, 1000), (7, 33), (1, 1025), (3, 129), (3, 300)],
    count=[(3, 100), (40, 1000)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, y: x.amax(1), "this is the largest element alone: the smallest one "
                   "comes out as 0."),
        looks_like(lambda x, y: x.double().amax(1).clamp(min=0) - x.amin(1).clamp(max=0), "both begin "
                   "at 0, which takes part as if it were an element."),
        looks_like(lambda x, y: x.double().amin(1) - x.amax(1), "the largest is subtracted from the "
                   "smallest."),
        looks_like(lambda x, y: x[:, :1].double().amax(1) * 0, "largest and smallest are the same."),
    ],
)  # fmt: skip
