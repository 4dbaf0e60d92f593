"""Puzzle week1/warp_normalise: rows divided by their sums."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _after_down(x):
    """The sum that each column's lane has after shuffles down."""
    padded = torch.nn.functional.pad(x.double(), (0, -x.shape[1] % 32))
    total = padded.reshape(len(x), -1, 32).sum(1)
    for offset in (16, 8, 4, 2, 1):  # a lane without a source gets its own
        total = total + torch.cat([total[:, offset:], total[:, 32 - offset :]], 1)
    return total[:, torch.arange(x.shape[1]) % 32]


EXERCISE = puzzle(
    title="divide rows by their sums",
    task="""
`y[m, n] = x[m, n] / (x[m, 0] + … + x[m, N-1])`, so that every row adds up to 1, in float32, float16
and bfloat16, computed in float32. Every lane needs the sum. `warp_normalise(x, y)`; no row has the sum 0.
""",
    hints=(
        "Two loops over the row, and between them the sum of a warp. Which of the two kinds of "
        "shuffle leaves it in every lane?",
        "After a butterfly each lane has the sum: no lane has to hand it to the others.",
        "Divide once, not for each element: the second loop multiplies by what was computed after "
        "the shuffles, or divides by the sum; both are accepted. The line that stores converts.",
    ),
    analysis="""
A reduction whose result everybody gets is an *all-reduce*. By butterfly it costs what a reduction to
one lane costs. Softmax and the normalisations are of this form: reduce a row, then go through it
again with the result. The second reading is week 2's story.
""",
    asked={"work": "one warp per row", "shared_bytes": 0},
    entry="warp_normalise",
    inputs=lambda draw, m, n: (draw.fractions(m, n).abs() + 1,),
    result=lambda x: x / x.sum(1, keepdim=True),
    sizes=[(2, 5), (1, 1), (3, 31), (2, 1000), (1, 1025), (3, 129), (17, 32), (9, 30)],
    count=[(3, 100), (60, 500)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: x, "x is copied: nothing is divided."),
        looks_like(lambda x, y: x.double() * x.double().sum(1, keepdim=True), "each element is "
                   "multiplied by the sum."),
        looks_like(lambda x, y: x.double() / x.double().mean(1, keepdim=True), "each element is "
                   "divided by the mean."),
        looks_like(lambda x, y: x.double() / _after_down(x), "lanes divide by different sums: shuffles "
                   "down leave the row's sum in lane 0 alone."),
    ],
    praise="Half a softmax.",
)  # fmt: skip
