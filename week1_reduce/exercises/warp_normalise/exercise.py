"""Puzzle week1/warp_normalise: rows divided by their sums."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _after_down(x):
    """Return the sum that each column's lane holds after shuffles down."""
    padded = torch.nn.functional.pad(x.double(), (0, -x.shape[1] % 32))
    total = padded.reshape(len(x), -1, 32).sum(1)
    for offset in (16, 8, 4, 2, 1):  # a lane without a source receives its own value
        total = total + torch.cat([total[:, offset:], total[:, 32 - offset :]], 1)
    return total[:, torch.arange(x.shape[1]) % 32]


def _inputs(draw, m, n):
    """Return rows with both signs; in each row, the elements of the rarer sign are too small to
    cancel the sum. The elements of every fourth row are tiny, so that a number added to the sum
    shows."""
    x = draw.fractions(m, n).abs() + 1
    x[:, 3::5] *= -0.25
    x[1::3] *= -1
    x[2::4] *= 2.0 ** (-12 if x.dtype == torch.float16 else -60)
    return (x,)


EXERCISE = puzzle(
    title="divide each row by its sum",
    task="""
Compute `y[m, n] = x[m, n] / (x[m, 0] + … + x[m, N-1])`, so that the sum of every row of `y` is
1, in float32, float16 and bfloat16. Do the arithmetic in float32. Every lane needs the sum. No
row of `x` sums to 0.

Signature: `warp_normalise(x, y)`.
""",
    hints=(
        "Loop over the row twice, and compute the warp's sum between the loops. Which kind of "
        "shuffle leaves the sum in every lane?",
        "After a butterfly, each lane holds the sum, so you need no broadcast.",
        "The second loop divides by the sum, or multiplies by its reciprocal; the grader accepts both. "
        "Convert each result on the line that stores it.",
    ),
    analysis="""
A reduction that gives every lane the result is an *all-reduce*. With a butterfly, it costs no
more than a reduction to one lane. Softmax and the normalisation layers have this form: they
reduce a row, then go through it again with the result. Week 2 is about that second read.
""",
    asked={"work": "one warp per row", "shared_bytes": 0},
    entry="warp_normalise",
    inputs=_inputs,
    result=lambda x: x / x.sum(1, keepdim=True),
    sizes=[(2, 5), (1, 1), (3, 31), (2, 1000), (1, 1025), (3, 129), (17, 32), (9, 30)],
    count=[(3, 100), (64, 500)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: x, "y is a copy of x: the kernel does not divide."),
        looks_like(lambda x, y: x.double() * x.double().sum(1, keepdim=True), "the kernel multiplies "
                   "each element by the sum."),
        looks_like(lambda x, y: x.double() / x.double().mean(1, keepdim=True), "the kernel "
                   "divides by the mean."),
        looks_like(lambda x, y: x.double() / x.double().abs().sum(1, keepdim=True), "the kernel "
                   "adds up absolute values; the sum needs the signs."),
        looks_like(lambda x, y: x.double() / _after_down(x), "lanes divide by different sums: shuffles "
                   "down leave the row's sum only in lane 0."),
    ],
    praise="Half a softmax.",
)  # fmt: skip
