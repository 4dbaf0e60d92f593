"""Puzzle week2/column_softmax: softmax of columns, a thread a column."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows


def _exp(x):
    """Of what a right kernel takes the exponential of."""
    return (x.double() - x.double().amax(0)).exp()


EXERCISE = puzzle(
    title="take the softmax of columns",
    task="""
`y[:, n]` is the softmax of column n of `x`, for any M and N ≥ 1, in float32, float16 and bfloat16,
computed in float32, by three loops over the rows. The columns are
hard ones, and where all of a column is −∞ the result is NaN, as torch has it. `column_softmax(x, y)`.
""",
    hints=(
        "It is `column_sum` of week 1 three times over: which is the operator of the first loop, and "
        "with which number does it begin?",
        "Nobody needs anything from another thread: no shuffle and no shared memory. A NaN for a "
        "column of −∞ comes by itself.",
        "`cute.arch.fmax` in the first loop, beginning with `-Float32.inf`; the second and the third "
        "loop subtract the maximum inside the exponential, and the line that stores divides.",
    ),
    analysis="""
Neighbouring threads read neighbouring columns, so each of the three passes is coalesced. In softmax
over the last dimension, the usual one, a thread a row would read with strides instead, and lanes have
to share a row: that is the only reason for shuffles.
""",
    asked={"work": "one thread per column"},
    entry="column_softmax",
    inputs=lambda draw, m, n: (torch.empty(m, n, dtype=draw.dtype).copy_(
        hard_rows(draw, n, m, masked=True).T),),
    result=lambda x: x.softmax(0),
    sizes=[(4, 3), (31, 5), (1, 1), (40, 2), (7, 129), (33, 31), (5, 8), (12, 9)],
    count=[(12, 40), (30, 500)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: x.float().exp() / x.float().exp().sum(0), "nothing is subtracted: "
                   "this is exp(x) / sum(exp(x)), which overflows."),
        looks_like(lambda x, y: x.float().exp() / _exp(x).sum(0).float(), "the maximum is subtracted "
                   "in the sum, and not in what is divided by it."),
        looks_like(lambda x, y: x.double().softmax(1), "this is the softmax of rows."),
        looks_like(lambda x, y: _exp(x), "the exponentials are not divided by their sum."),
        looks_like(lambda x, y: x.double() - x.double().logsumexp(0), "this is the logarithm of "
                   "the softmax."),
        looks_like(lambda x, y: (x.float() - x.float().amax(0).clamp(min=0)).exp() / (
            x.float() - x.float().amax(0).clamp(min=0)).exp().sum(0), "the maximum begins at 0, which "
            "is larger than anything in some of these columns."),
    ],
    praise="A softmax that survives.",
)  # fmt: skip
