"""Puzzle week2/soft_mean: the mean of values, weighted by a softmax that is never stored."""

import torch

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows


def _inputs(draw, m, n):
    """Return hard rows; in every third row from the third on, one element is far above the others:
    in turn 33, 32, the last, 64, 128, 256 and the first."""
    x = hard_rows(draw, m, n, spread=False)
    for k, row in enumerate(x[2::3]):
        row[(33, 32, n - 1, 64, 128, 256, 0)[k % 7] % n] += 400
    return x, draw(n) * 4


def _exp(x):
    return (x.double() - x.double().amax(1, keepdim=True)).exp()


def _of_lanes(x, v, y):
    """Return the mean with exponentials relative to the maximum of each lane."""
    lanes = torch.nn.functional.pad(x.double(), (0, -x.shape[1] % 32), value=-torch.inf)
    lanes = lanes.reshape(len(x), -1, 32)
    e = (lanes - lanes.amax(1, keepdim=True)).exp().nan_to_num(0.0)
    e = e.reshape(len(x), -1)[:, : x.shape[1]]
    return e @ v.double() / e.sum(1)


EXERCISE = puzzle(
    title="average with the weights of a softmax",
    task="""
`y[m] = softmax(x[m]) · v` is the mean of the N values `v`, weighted by the softmax of row m. Support any M
and N ≥ 1 and the types float32 and float16; compute in float32. Read each row of `x` at most **twice**, and store no weights. Signature: `soft_mean(x, v, y)`.
""",
    hints=(
        "A weight is e / s, and s is the same for the whole row. Where can you move the division?",
        "The second loop adds up two sums: the exponentials, and the exponentials times the values. Shuffles combine each of them across the lanes.",
        "The second loop adds to both sums in two lines; the only division comes after the shuffles, in the line that stores the result.",
    ),
    analysis="""
The kernel needs one division per row, no weights in memory, and no third pass: a softmax that is consumed
immediately costs less than one that is stored. With a vector of values per element instead of one number,
the same kernel is attention for one query, the last exercise of this week.
""",
    asked={"work": "one warp per row", "shared_bytes": 0},
    entry="soft_mean",
    inputs=_inputs,
    result=lambda x, v: x.softmax(1) @ v,
    sizes=[(4, 37), (6, 31), (1, 1), (2, 1003), (9, 33), (17, 32), (3, 129), (9, 30)],
    count=[(9, 200), (64, 300)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, v, y: x.float().exp() @ v.float() / x.float().exp().sum(1), "exponentials "
                   "overflow or vanish, as if nothing were subtracted."),
        looks_like(lambda x, v, y: _exp(x) @ v.double(), "the result is not divided by the sum "
                   "of the exponentials, or that sum is 1."),
        looks_like(lambda x, v, y: x.double().softmax(1)[:, ::32] @ v.double()[::32], "the "
                   "weighted sum contains only lane 0's part."),
        looks_like(lambda x, v, y: x.double().softmax(1).sum(1), "the result is 1, like the sum of "
                   "the weights: the values are missing, or are in both sums."),
        looks_like(lambda x, v, y: x.double().softmax(1) @ v.double() / x.shape[1], "the result is "
                   "also divided by N, but the weights already add up to 1."),
        looks_like(_of_lanes, "each lane subtracts its own maximum, so the sums are relative to different numbers."),
        looks_like(lambda x, v, y: v.double().mean().expand(len(x)), "all values have the same weight."),
        looks_like(lambda x, v, y: (k := (x == x.amax(1, keepdim=True)).double()) @ v.double() / k.sum(1),
                   "the result is only the value beside the largest element."),
    ],
    more=lambda make: (read_at_most(make, (9, 200), {0: 2}),),
    praise="This is almost attention.",
)  # fmt: skip
