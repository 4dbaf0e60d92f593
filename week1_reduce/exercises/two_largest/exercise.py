"""Puzzle week1/two_largest: a reduction whose values are pairs."""

import torch

from forgekit.lessons.gates import FINITE_START, looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, m, n):
    x = draw.extremes(m, n)
    if n > 31:  # in every fourth row, the largest also occurs in lane 5
        x[::4, 5] = x[::4].max(1).values
    if n > 64:  # in the second of four, 32 columns from its place, so in the same lane
        best, at = x[1::4].max(1, keepdim=True)
        x[1::4] = x[1::4].scatter(1, torch.where(at < 32, at + 32, at - 32), best)
    return (x,)


EXERCISE = puzzle(
    title="find the two largest elements",
    task="""
Find the largest and the second largest element of each row, and write them to `y[m, 0]` and
`y[m, 1]`. If the largest element occurs twice, both results are that number. Rows are float32
and have at least two elements, which may be infinite.

Signature: `two_largest(x, y)`.
""",
    hints=(
        "What does a lane have to remember about the elements that it has seen?",
        "When you merge two pairs, the larger of the two first numbers becomes the new first. "
        "Which two numbers can be the new second?",
        "The new second is the larger of two numbers: the smaller of the two firsts, and the "
        "larger of the two seconds. Compute it on the line after the shuffles, before you change "
        "the first.",
    ),
    analysis="""
This merge of pairs is associative and commutative, and its identity is (−∞, −∞). A tree needs
nothing more. Top-k for small k works the same way, with more numbers per lane.
""",
    asked={"work": "one warp per row"},
    entry="two_largest",
    inputs=_inputs,
    result=lambda x: x.topk(2, 1).values,
    sizes=[(3, 4), (1, 2), (5, 31), (3, 33), (2, 1001), (64, 65), (3, 100)],
    count=[(5, 100), (192, 300)],
    legal=lambda m, n: (m, max(2, n)),
    exact=True,
    misconceptions=[
        FINITE_START,
        looks_like(lambda x, y: x.max(1, keepdim=True).values.expand(-1, 2), "both results are the "
                   "largest element, also in a row that contains it once."),
    ],
    given=picture(
        "largest and second largest",
        {"x": [["4", ("9", 0), "1", ("7", 1)], [("5", 0), "2", ("5", 1), "3"]], "y": [[("9", 0), ("7", 1)], [("5", 0), ("5", 1)]]},
    ),
)  # fmt: skip
