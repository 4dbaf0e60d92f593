"""Puzzle week2/logsumexp: the logarithm of a row's sum of exponentials, in two passes."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows


def _from_zero(x):
    """What a maximum that begins at 0 gives, in float32."""
    m = x.float().amax(1).clamp(min=0)
    return m + (x.float() - m[:, None]).exp().sum(1).log()


def _sum(x):
    """Of the exponentials relative to the maximum; NaN where a row is all -inf."""
    return (x.double() - x.double().amax(1, keepdim=True)).exp().sum(1)


EXERCISE = puzzle(
    title="compute log-sum-exp of rows",
    task="""
`y[m]` is the logarithm of the sum of the exponentials of row m, for any M and N ≥ 1, in float32,
float16 and bfloat16, computed in float32, the row read twice. Rows
are hard ones; where all of a row is −∞ the sum is 0, and the result −∞, as torch has it.
`cute.math.log(x, fastmath=True)` is the logarithm. `logsumexp(x, y)`.
""",
    hints=(
        "`three_passes` without its third loop: what does one lane do in its place?",
        "m + log(s). Where all of a row is -inf, m is -inf as well: what should be subtracted there, so "
        "that each exponential is 0 and not NaN?",
        "Between the two loops stands a line that decides what is subtracted, the maximum or 0; the "
        "same number comes back in the line that stores.",
    ),
    analysis="""
With 0 subtracted from a row of −∞ all its exponentials are 0, and the logarithm of their sum is −∞ by
itself: one decision a row, nothing an element. Softmax did not need it, since there NaN was asked for.
""",
    asked={"work": "one warp per row"},
    entry="logsumexp",
    inputs=lambda draw, m, n: (hard_rows(draw, m, n, masked=True),),
    result=lambda x: x.logsumexp(1),
    sizes=[(3, 5), (6, 31), (1, 1), (2, 1003), (9, 33), (17, 32), (3, 129), (9, 30)],
    count=[(9, 100), (60, 300)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: x.float().exp().sum(1).log(), "nothing is subtracted: exponentials "
                   "overflow, or vanish."),
        looks_like(lambda x, y: _from_zero(x), "the maximum begins at 0, which is larger than anything "
                   "in some of these rows."),
        looks_like(lambda x, y: x.double().amax(1) + (x.double() - x.double().amax(1, keepdim=True))[
            :, ::32].exp().sum(1).log(), "only what lane 0 has added up is in the sum."),
        looks_like(lambda x, y: _sum(x).log(), "the maximum was subtracted inside and is not added "
                   "again outside."),
        looks_like(lambda x, y: _sum(x) + x.double().amax(1), "the logarithm is missing."),
        looks_like(lambda x, y: _sum(x).log2() + x.double().amax(1), "this is the logarithm to the "
                   "base 2 of the sum."),
        looks_like(lambda x, y: x.double().amax(1), "this is the maximum alone."),
        looks_like(lambda x, y: _sum(x).log() + x.double().amax(1), "only a row of -inf alone is "
                   "wrong: -inf - (-inf) is NaN."),
        looks_like(lambda x, y: torch.where(x.isneginf().all(1), 0.0, x.double().logsumexp(1)),
                   "a row of -inf alone has the sum 0, whose logarithm is -inf."),
    ],
    praise="A soft maximum.",
)  # fmt: skip
