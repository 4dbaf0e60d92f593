"""Puzzle week1/max_subarray: an operator that is associative but not commutative."""

import torch

from forgekit.lessons.gates import FINITE_START, looks_like
from forgekit.lessons.pictures import coloured, picture
from forgekit.lessons.puzzle import puzzle


def _kadane(x):
    best = here = x[:, 0]
    for n in range(1, x.shape[1]):
        here = x[:, n] + here.clamp(min=0)
        best = best.maximum(here)
    return best


def _inputs(draw, m, n):
    x = draw.fractions(m, n)
    x[2::3] = x[2::3] * 1e35 - 3.39e38  # below numbers that often serve as -inf
    x[3::4, n // 3] = -torch.inf
    x[5::6] = -torch.inf
    return (x,)


def _in_order(key):
    """Return the result for a row whose elements come in the order of key(piece of 32, lane)."""
    return lambda x, y: _kadane(x[:, sorted(range(x.shape[1]), key=lambda n: key(n // 32, n % 32))])


EXERCISE = puzzle(
    title="find the largest sum of consecutive elements",
    task="""
For each row, find the largest sum of consecutive elements `x[m, i] + … + x[m, j]` with `i ≤ j`.
Rows are float32, have any length, and may contain −∞. Describe a piece of a row by four numbers: its sum, and
the largest sum of any beginning, any end, and any run of elements in it.

Signature: `max_subarray(x, y)`.
""",
    hints=(
        "When you merge two neighbouring pieces, the best sum is the best of the left piece, the "
        "best of the right piece, or an end of the left joined to a beginning of the right.",
        "The merge is associative, but left and right must not change places. With "
        "`shuffle_sync_down` and offsets 1, 2, 4, 8, 16, in this order, lane 0 always receives "
        "the piece directly to the right of its own.",
        "A lane without an element holds the identity: sum 0, and −∞ for the other three. Set it "
        "on the line before the predicate.",
    ),
    analysis="""
Every operation with an associative merge and an identity fits the same tree. If the merge is
not commutative, the tree may merge only neighbouring pieces, in order. You can match a regular
expression, check that parentheses balance, or evaluate a polynomial in this way.
""",
    asked={"work": "one warp per row"},
    entry="max_subarray",
    inputs=_inputs,
    result=_kadane,
    sizes=[(2, 4), (1, 1), (5, 31), (3, 33), (2, 500), (9, 65), (3, 100)],
    count=[(5, 100), (64, 300)],
    misconceptions=[
        looks_like(lambda x, y: x.max(1).values, "only single elements are compared: ends and beginnings are not joined."),
        looks_like(lambda x, y: _kadane(x).clamp(min=0), "an empty piece counts, with the sum 0: "
        "the identity of a maximum is −∞."),
        FINITE_START,
        looks_like(lambda x, y: x.double().sum(1), "the whole row is added up."),
        looks_like(_in_order(lambda piece, lane: (-piece, lane)), "a merge swaps left and "
                   "right: this is the result for a row whose 32-element groups are in reverse "
                   "order, or are each reversed."),
        looks_like(_in_order(lambda piece, lane: (piece, f"{lane:05b}"[::-1])), "the shuffles begin with the offset 16, "
                   "so lane 0 merges lane 16 as if it were its neighbour. Offsets 1, 2, 4, 8, 16 keep neighbours together."),
    ],
    given=picture(
        "the best piece: 4 - 1 + 2 + 1 = 6",
        {"x": [coloured([-2, 1, -3, 4, -1, 2, 1, -5, 4], {3: 0, 4: 0, 5: 0, 6: 0})], "y": [[("6", 0)]]},
    ),
    praise="Right for largest sums that begin and end at every place that was tried.",
)  # fmt: skip
