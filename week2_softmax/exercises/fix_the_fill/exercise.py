"""Puzzle week2/fix_the_fill: the value of missing elements."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows


def _in_tile(x: torch.Tensor, value: float) -> torch.Tensor:
    """Return the softmax over the tile of 512 whose remainder holds this value."""
    n = x.shape[1]
    return torch.nn.functional.pad(x.double(), (0, 512 - n), value=value).softmax(1)[:, :n]


def _inputs(draw, m, n):
    """Return hard rows, with a 0 in each plain one; the fourth is one number, whose neighbours are
    far away."""
    x = hard_rows(draw, m, n, masked=True)
    plain = x[-n % 5 :: 5, n // 2]
    plain[plain.isfinite()] = 0.0
    x[3:4] = -(2.0**126)
    return (x,)


EXERCISE = puzzle(
    title="fix the fill",
    task="""
This softmax handles rows of up to 512 `float32` in whole vectors. Its treatment of the tail was
copied from a kernel that adds up rows. The softmax is correct for rows of 512 elements, and for scores around +1000. Make it correct for all rows of
whole vectors, including rows far below 0 and rows of −∞ (whose result is NaN, as in torch). Signature: `fix_the_fill(x, y)`.
""",
    hints=(
        "Run it on one row of four ones. Which sum do the resulting weights imply, and where does the excess come from?",
        "A lane without a vector still has registers, whose contents take part in the maximum and in the sum.",
        "Which number changes no maximum and has the exponential 0? It belongs in the line before `cute.copy`. A large negative number does not work, because some rows lie below it.",
    ),
    analysis="""
One value suits both reductions: −∞ changes no maximum, and its exponential adds 0 to the sum. If the fill is
0, a missing element raises a negative maximum to 0, and adds e^(−m) to the sum. Where m is large, that term is
negligible, so scores around +1000 hide it. Where all scores are far below 0, every result is 0. A fill of
−10,000, or of the lowest number of the type, works only for rows with an element above it.
""",
    asked={"load_bytes": 16},
    entry="fix_the_fill",
    inputs=_inputs,
    result=lambda x: x.softmax(1),
    sizes=[(2, 4), (1, 8), (5, 512), (10, 200), (7, 132), (9, 508), (3, 256)],
    count=[(5, 64), (50, 500)],
    legal=lambda m, n: (m, min(512, max(4, n // 4 * 4))),
    promise={0: {1: 4}, 1: {1: 4}},
    misconceptions=[
        looks_like(lambda x, y: _in_tile(x, 0.0), "missing elements are treated as 0, because the fill is 0 or absent: they raise the maximum of a row of negative numbers, and each adds to the sum."),
        looks_like(lambda x, y: _in_tile(x, -10_000.0), "missing elements are treated as a finite "
                   "number, which becomes the maximum where all elements of a row are smaller."),
        looks_like(lambda x, y: _in_tile(x, -3.4028234663852886e38), "each row of −∞ gives 0 instead of NaN: "
                   "either a missing element counts as a finite number, which is then the largest of all, or "
                   "the kernel avoids NaN."),
    ],
    praise="You have filled the tail with the operator's identity.",
)  # fmt: skip
