"""Puzzle week1/two_launch_max: parts of rows in one launch, their maximum in a second."""

import torch

from forgekit.lessons.gates import FINITE_START, looks_like
from forgekit.lessons.puzzle import puzzle


def _maxima(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each piece of 1,024 columns, and of each row."""
    parts = torch.stack([piece.amax(1) for piece in x.split(1024, dim=1)], dim=1)
    return parts, x.amax(1)


EXERCISE = puzzle(
    title="find the largest of a long row in two launches",
    task="""
The largest element of each row, for few rows of any length, float32. A block has a
piece of 1,024 columns and writes its maximum into `part[row, piece]`; a second launch, a block a
row, makes `y[row]` of them. One host function does both, called as `two_launch_max(x, part, y)`;
`part` has as many columns as there are pieces. All elements may be negative.
""",
    hints=(
        "Two kernels, and two `.launch(...)` in one host function: the second begins when the first "
        "has ended.",
        "Both kernels end alike: the maximum of a block, of what each of its threads has. That "
        "function can be written once, with `@cute.jit`, and called in both.",
        "The grid of the first launch is `(pieces, rows, 1)`, from the shape of `part`; a thread "
        "whose columns do not exist goes on with the identity, in the line before its loop.",
    ),
    analysis="""
The end of a launch is the strongest order there is: no counter, no fence, and the second kernel
may read all that the first has written. What it costs is the start of one more kernel, and
`part`, memory that somebody has to own. A maximum is the same in any order; a sum would be, too,
as each part and the order of the parts are fixed.
""",
    asked={
        "blocks": ("one block per 1,024 columns of a row", lambda m, n: m * -(-n // 1024)),
        "block": 256,
        "launches": 2,
    },
    entry="two_launch_max",
    inputs=lambda draw, m, n: (draw.extremes(m, n),),
    result=_maxima,
    sizes=[(1, 1024), (1, 1025), (3, 1), (2, 1000), (7, 33), (1, 5000), (3, 2049)],
    count=[(1, 1025), (1, 264_000), (4, 12_000)],
    exact=True,
    misconceptions=[
        FINITE_START,
        looks_like(lambda x, part, y: torch.stack([p[:, :256].amax(1) for p in
                                                   x.split(1024, dim=1)], 1),
                   "only the first 256 columns of a piece are in its maximum."),
    ],
)  # fmt: skip
