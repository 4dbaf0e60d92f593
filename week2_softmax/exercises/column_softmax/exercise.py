"""Puzzle week2/column_softmax: softmax of columns, one thread per column."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows
from ..unscaled import FINITE


def _exp(x):
    """Return the exponentials of a right kernel."""
    return (x.double() - x.double().amax(0)).exp()


EXERCISE = puzzle(
    title="take the softmax of columns",
    task="""
`y[:, n]` is the softmax of column n of `x`, for any M and N ≥ 1, in float32, float16 and bfloat16,
computed in float32, by three loops over the rows. The tests use hard columns; where a whole column is
−∞ the result is NaN, as in torch. Signature: `column_softmax(x, y)`.
""",
    hints=(
        "It is `column_sum` of week 1, three times. Which operator does the first loop use, and with which number does it begin?",
        "No thread needs data from another: no shuffle and no shared memory. A column of −∞ gives NaN without special code.",
        "The first loop uses `cute.arch.fmax` and begins with `-Float32.inf`; the second and "
        "third loops subtract the maximum inside the exponential. Divide in the line that "
        "stores.",
    ),
    analysis="""
Neighbouring threads read neighbouring columns, so each of the three passes is coalesced. For softmax
over the last dimension, the usual case, one thread per row would read with strides, so lanes share a
row instead. That is the only reason for shuffles.
""",
    asked={"work": "one thread per column"},
    entry="column_softmax",
    inputs=lambda draw, m, n: (torch.empty(m, n, dtype=draw.dtype).copy_(
        hard_rows(draw, n, m, masked=True).T),),
    result=lambda x: x.softmax(0),
    sizes=[(4, 3), (31, 5), (1, 1), (40, 2), (7, 129), (33, 31), (5, 8), (12, 9)],
    count=[(12, 40), (30, 512)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: x.float().exp() / x.float().exp().sum(0), "nothing is subtracted: "
                   "this is exp(x) / sum(exp(x)), which overflows."),
        looks_like(lambda x, y: x.float().exp() / _exp(x).sum(0).float(), "the maximum is subtracted "
                   "in the sum, but not in the numerator."),
        looks_like(lambda x, y: x.double().softmax(1), "this is the softmax of rows."),
        looks_like(lambda x, y: _exp(x), "the exponentials are not divided by their sum."),
        looks_like(lambda x, y: x.double() - x.double().logsumexp(0), "this is the logarithm of "
                   "the softmax."),
        looks_like(lambda x, y: (x.float() - x.float().amax(0).clamp(min=0)).exp() / (
            x.float() - x.float().amax(0).clamp(min=0)).exp().sum(0), FINITE),
    ],
    praise="A softmax that survives.",
)  # fmt: skip
