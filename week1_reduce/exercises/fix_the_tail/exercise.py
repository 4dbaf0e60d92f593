"""Puzzle week1/fix_the_tail: registers that keep what was loaded before."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _left_over(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Where lanes without a vector in the last of several tiles add their vector of the one before."""
    n = x.shape[1]
    whole = n // 128 * 128
    if not whole or whole == n:
        raise ValueError("not this case")
    return x.double().sum(1) + x[:, n - 128 : whole].double().sum(1)


EXERCISE = puzzle(
    title="fix the tail",
    task="""
Somebody has moved the `fill` of `vectors` out of the loop, to save instructions. The kernel is
right for rows of up to 128 float32, and for multiples of 128. Fix it for all rows of whole
vectors. Float32 alone.
""",
    hints=(
        "What do the registers of a lane hold in the last tile, if its vector is not there?",
        "A copy whose predicate is false leaves the registers alone.",
        "Each tile needs the identity in its registers before the copy, in the line before "
        "`cute.copy`. (Or the sum leaves out what was not loaded.)",
    ),
    analysis="""
The first tile was right because of the `fill` before the loop, and full tiles because every lane
loads. Only a partial tile behind a full one shows it: the lanes that have no vector there add
their last one once more. Four moves a vector are the price of the right answer.
""",
    asked={"load_bytes": 16},
    entry="fix_the_tail",
    inputs=lambda draw, m, n: (draw.fractions(m, n).abs() + 1,),
    result=lambda x: x.sum(1),
    sizes=[(1, 128), (2, 1000), (1, 132), (3, 200), (5, 4), (33, 252), (7, 1024)],
    count=[(5, 64), (64, 1000)],
    legal=lambda m, n: (m, max(4, n // 4 * 4)),
    promise={0: {1: 4}},
    misconceptions=[
        looks_like(_left_over, "lanes without a vector in the last tile add the one that is left in "
                   "their registers from the tile before."),
        looks_like(lambda x, y: x.double().sum(1) + -x.shape[1] % 128, "lanes without a vector add "
                   "something else than 0."),
        looks_like(lambda x, y: x[:, : x.shape[1] // 128 * 128].double().sum(1), "the last tile, "
                   "which is not full, is left out."),
        looks_like(lambda x, y: x[:, :128].double().sum(1), "only the first tile of a row is "
                   "added up."),
        looks_like(lambda x, y: 0 * x.sum(1), "all registers are cleared after the copy, or the "
                   "sum is of registers that were never loaded."),
    ],
    praise="A predicate says what is not loaded; the identity says what is there instead.",
)  # fmt: skip
