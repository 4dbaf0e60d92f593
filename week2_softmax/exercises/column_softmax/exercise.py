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
`y[:, n]` is the softmax of column n of `x`. Support any M and N ≥ 1 and the types float32, float16 and
bfloat16; compute in float32, with at most three loops over the rows. The tests use hard columns. For a column of
−∞ the result is NaN, as in torch. Signature: `column_softmax(x, y)`.
""",
    hints=(
        "The kernel resembles week 1's `column_sum`, with three loops. Which operator does the first loop use, and what value does it start from?",
        "No thread needs data from another, so the kernel needs neither shuffles nor shared memory. A column of −∞ gives NaN without special code.",
        "The first loop uses `cute.arch.fmax` and starts at `-Float32.inf`; the second and "
        "third loops subtract the maximum inside the exponential. Divide in the line that stores the result.",
    ),
    analysis="""
Neighbouring threads read neighbouring columns, so each of the three passes is coalesced. In the usual case, a softmax over the last dimension, one thread per row would make strided accesses, so the
lanes of a warp share a row instead. That is the only reason for shuffles.
""",
    asked={"work": "one thread per column"},
    entry="column_softmax",
    inputs=lambda draw, m, n: (torch.empty(m, n, dtype=draw.dtype).copy_(
        hard_rows(draw, n, m, masked=True).T),),
    result=lambda x: x.softmax(0),
    sizes=[(4, 3), (31, 5), (1, 1), (40, 2), (7, 129), (33, 31), (5, 8), (12, 9)],
    count=[(12, 40), (30, 512)],
    dtypes=("float32", "float16", "bfloat16"),
    waste={"idle_lanes": None},  # an online loop may branch at each new maximum
    misconceptions=[
        looks_like(lambda x, y: x.float().exp() / x.float().exp().sum(0), "the values are "
                   "those of exp(x) / sum(exp(x)), as if nothing were subtracted: these exponentials overflow."),
        looks_like(lambda x, y: x.float().exp() / _exp(x).sum(0).float(), "the maximum is subtracted "
                   "in the sum, but not in the numerator."),
        looks_like(lambda x, y: x.double().softmax(1), "the values are the softmax of rows."),
        looks_like(lambda x, y: _exp(x), "the exponentials are not divided by their sum."),
        looks_like(lambda x, y: x.double() - x.double().logsumexp(0), "the values are the logarithm "
                   "of the softmax."),
        looks_like(lambda x, y: (x.float() - x.float().amax(0).clamp(min=0)).exp() / (
            x.float() - x.float().amax(0).clamp(min=0)).exp().sum(0), FINITE.replace("row", "column")),
    ],
    praise="Your softmax does not overflow.",
)  # fmt: skip
