"""Puzzle week2/fix_the_fill: what counts as an element where there is none."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows


def _in_tile(x: torch.Tensor, value: float) -> torch.Tensor:
    """The softmax over the tile of 512 whose remainder holds this value."""
    n = x.shape[1]
    return torch.nn.functional.pad(x.double(), (0, 512 - n), value=value).softmax(1)[:, :n]


EXERCISE = puzzle(
    title="fix the fill",
    task="""
Somebody took the tail from a kernel that adds up rows. This softmax, for rows of up to 512
`float32` in whole vectors, is right for rows of 512, and right for scores around +1000. Make it
right for all rows of whole vectors, also for those that are −∞ everywhere (NaN, as torch has
it) or lie far below 0. Called as `fix_the_fill(x, y)`.
""",
    hints=(
        "Run it on one row of four ones: what does it give, and what would four ones among other numbers "
        "have to be divided by to give that?",
        "A lane without a vector has registers all the same, and takes part in the maximum and in the sum "
        "with what they hold.",
        "What changes no maximum, and has 0 as its exponential? It belongs in the line before `cute.copy`; "
        "a large negative number is not the same, for there are rows below it.",
    ),
    analysis="""
One value is the identity of both reductions: −∞ changes no maximum, and its exponential adds 0.
With 0, each element that is not there adds e^(−m) to the sum and pulls the maximum up to 0.
Where m is large, that is nothing, so scores around +1000 hide it; where all scores are far below
0, everything is 0. And −10,000, or the lowest number of the type, is "−∞ enough" only for rows
that have something above it.
""",
    asked={"load_bytes": 16},
    entry="fix_the_fill",
    inputs=lambda draw, m, n: (hard_rows(draw, m, n, masked=True),),
    result=lambda x: x.softmax(1),
    sizes=[(2, 4), (1, 8), (5, 512), (10, 200), (7, 132), (9, 508)],
    count=[(5, 64), (50, 500)],
    legal=lambda m, n: (m, min(512, max(4, n // 4 * 4))),
    promise={0: {1: 4}, 1: {1: 4}},
    misconceptions=[
        looks_like(lambda x, y: _in_tile(x, 0.0), "elements that are not there take part as 0, "
                   "which fills them, or nothing does: they raise the maximum of a row of negative numbers, and each adds to the sum."),
        looks_like(lambda x, y: _in_tile(x, -10_000.0), "elements that are not there take part with a finite "
                   "number, and where all elements of a row are smaller, that becomes the maximum."),
        looks_like(lambda x, y: _in_tile(x, -3.4028234663852886e38), "elements that are not there take "
                   "part with the lowest number of the type; in a row of −∞ it is the largest of all."),
    ],
    praise="The identity of the operator, and of nothing else.",
)  # fmt: skip
