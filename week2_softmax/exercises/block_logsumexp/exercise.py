"""Puzzle week2/block_logsumexp: log-sum-exp of rows in one pass, one block per row."""

import torch

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows, summing_to_1
from ..unseen import NAN_FROM_NOTHING


def _sum(x):
    """Return the sum of exponentials relative to the maximum; 0 if all elements of a row are
    -inf."""
    return (x.double() - x.double().amax(1, keepdim=True)).exp().nan_to_num(0.0).sum(1)


def _part(columns):
    """Return the log-sum-exp of some columns only."""
    return lambda x, y: x.double()[:, columns(x.shape[1])].logsumexp(1)


def _inputs(draw, m, n):
    """Return hard rows. In narrow types, every tenth longer row has two different elements, of
    whose exponentials one is rounded down in these types: the errors of a sum do not cancel."""
    x = hard_rows(draw, m, n, masked=True)
    if x.dtype != torch.float32 and n > 256:
        x[::10] = draw.integers(-1, 1, m, n)[::10] / 2
    return (summing_to_1(x),)


def _warp(n):
    return [k for k in range(n) if k % 256 < 32]


EXERCISE = puzzle(
    title="compute log-sum-exp in one pass, one block per row",
    task="""
As before, `y[m]` is the logarithm of the sum of the exponentials of row m. Support float32, float16 and
bfloat16; compute in float32. Read each element **once**. The tests use hard rows; a row of −∞ gives −∞. Signature: `block_logsumexp(x, y)`.
""",
    hints=(
        "Each thread carries (m, s) through its part of the row. Which are merged first, lanes or warps?",
        "The same merge absorbs an element (as the pair (x, 1)), another lane's pair, and another warp's pair. Write it once, as a function with `@cute.jit`, and call it in all three places.",
        "Put eight pairs into shared memory. After one barrier, each lane reads the pair `tidx % 8`, and a butterfly of three steps merges them. Thread 0 stores m + log(s) in the last line.",
    ),
    analysis="""
If only the loss is needed, a softmax costs no more than reading each row once and writing one number. The pair
of a row of −∞ is (−∞, 0), and m + log s is −∞ without special code. With (m, s), only the merge needs a
special case.
""",
    asked={"work": "one block per row", "block": 256, "sharing": 8, "barriers": 1, "shared_bytes": 256},
    entry="block_logsumexp",
    inputs=_inputs,
    result=lambda x: x.logsumexp(1),
    sizes=[(5, 5), (4, 1000), (6, 31), (1, 1), (2, 1025), (9, 33), (3, 129), (6, 300)],
    count=[(3, 250), (20, 2000)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: _sum(x).log(), "the maximum is not added back to the logarithm."),
        looks_like(lambda x, y: _sum(x) + x.double().amax(1), "the logarithm is missing."),
        looks_like(lambda x, y: x.double().amax(1), "the result is the maximum alone."),
        looks_like(_part(_warp), "the result contains only the first warp's part."),
        looks_like(_part(lambda n: range(0, n, 256)), "the result contains only thread 0's part."),
        looks_like(lambda x, y: torch.where(x.isneginf().all(1), torch.nan, x.double().logsumexp(1)),
                   "only rows that are all -inf are wrong: -inf - (-inf) is NaN."),
        NAN_FROM_NOTHING,
    ],
    more=lambda make: (read_at_most(make, (3, 500), {0: 1}),),
)  # fmt: skip
