"""Puzzle week2/logsumexp: the logarithm of a row's sum of exponentials, in two passes."""

import torch

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows, summing_to_1


def _inputs(draw, m, n):
    """Return hard rows, some with a result near 0; in every fourth row from the fourth on, one
    element in piece 1 is far above the others."""
    x = hard_rows(draw, m, n, masked=True)
    x[3::4, 37:38] += 400
    return (summing_to_1(x),)


def _from_zero(x):
    """Return the result for a maximum that starts at 0, in float32."""
    m = x.float().amax(1).clamp(min=0)
    return m + (x.float() - m[:, None]).exp().sum(1).log()


def _sum(x):
    """Return the sum of exponentials relative to the maximum; NaN if all elements of a row are
    -inf."""
    return (x.double() - x.double().amax(1, keepdim=True)).exp().sum(1)


EXERCISE = puzzle(
    title="compute log-sum-exp of rows",
    task="""
`y[m]` is the logarithm of the sum of the exponentials of row m. Support any M and N ≥ 1 and the types
float32, float16 and bfloat16; compute in float32. Read each row at most twice. The tests use hard rows. For a row
of −∞ the sum is 0 and the result is −∞, as in torch. `cute.math.log(x, fastmath=True)` computes the
logarithm. Signature: `logsumexp(x, y)`.
""",
    hints=(
        "The kernel is `three_passes` without its third loop. What does one lane do instead?",
        "The result is m + log(s). In a row of -inf, m is also -inf: which number must you subtract there so that each exponential is 0 and not NaN?",
        "A line between the two loops chooses the number to subtract, the maximum or 0. The line that stores the result adds the same number back.",
    ),
    analysis="""
If you subtract 0 from a row of −∞, all its exponentials are 0, and the logarithm of their sum is −∞. This
takes one comparison per row and none per element. Softmax did not need it, because its required result for
such a row is NaN.
""",
    asked={"work": "one warp per row"},
    entry="logsumexp",
    inputs=_inputs,
    result=lambda x: x.logsumexp(1),
    sizes=[(5, 5), (6, 31), (1, 1), (2, 1003), (9, 33), (17, 32), (4, 130), (9, 30)],
    count=[(9, 100), (64, 300)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: x.float().exp().sum(1).log(), "nothing seems to be subtracted: "
                   "the exponentials overflow or vanish."),
        looks_like(lambda x, y: _from_zero(x), "in a row whose elements are all far below 0, the "
                   "kernel subtracts a number far above them, so every exponential is 0. Does the "
                   "maximum start at −∞, and does the kernel subtract 0 only in rows of −∞?"),
        looks_like(lambda x, y: x.double().amax(1) + (x.double() - x.double().amax(1, keepdim=True))[
            :, ::32].exp().sum(1).log(), "the sum contains only lane 0's part."),
        looks_like(lambda x, y: _sum(x).log(), "the maximum is subtracted inside but not added back "
                   "outside."),
        looks_like(lambda x, y: _sum(x) + x.double().amax(1), "the logarithm is missing."),
        looks_like(lambda x, y: _sum(x).log2() + x.double().amax(1), "the sum's logarithm is to "
                   "the base 2."),
        looks_like(lambda x, y: x.double().amax(1), "the values are only the maximum: the logarithm of the sum is "
                   "missing, or 0."),
        looks_like(lambda x, y: _sum(x).log() + x.double().amax(1), "only rows that are all -inf are "
                   "wrong: -inf - (-inf) is NaN."),
        looks_like(lambda x, y: torch.where(x.isneginf().all(1), 0.0, x.double().logsumexp(1)),
                   "a row that is all -inf has the sum 0, whose logarithm is -inf."),
    ],
    more=lambda make: (read_at_most(make, (9, 100), {0: 2}),),
    praise="You have computed a soft maximum.",
)  # fmt: skip
