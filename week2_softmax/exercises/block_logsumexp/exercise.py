"""Puzzle week2/block_logsumexp: log-sum-exp of rows in one pass, a block a row."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows
from ..unseen import NAN_FROM_NOTHING


def _sum(x):
    """Of the exponentials relative to the maximum; 0 where a row is all -inf."""
    return (x.double() - x.double().amax(1, keepdim=True)).exp().nan_to_num(0.0).sum(1)


def _part(columns):
    """log-sum-exp of some columns alone."""
    return lambda x, y: x.double()[:, columns(x.shape[1])].logsumexp(1)


def _warp(n):
    return [k for k in range(n) if k % 256 < 32]


EXERCISE = puzzle(
    title="compute log-sum-exp in one pass, a block a row",
    task="""
`y[m]` is the logarithm of the sum of the exponentials of row m again, in float32, float16 and bfloat16,
computed in float32; now each element is read **once**. Rows are hard ones, and of a row of −∞ the result is −∞.
`block_logsumexp(x, y)`.
""",
    hints=(
        "Each thread carries (m, s) through its part of the row. What is merged in which order: lanes, "
        "then warps?",
        "The same merge serves an element, which is the pair (x, 1), another lane and another warp: "
        "written once, as a function with `@cute.jit`, it is called three times.",
        "Eight pairs in shared memory, one barrier, and then each lane reads the pair `tidx % 8`: a "
        "butterfly of three steps merges them. Thread 0 stores m + log(s) in the last line.",
    ),
    analysis="""
A read and a number a row: this is what remains of a softmax when only the loss is wanted. Of a row
of −∞ the pair is (−∞, 0), and m + log s is −∞ by itself: with (m, s) no case is special any more,
except inside the merge.
""",
    asked={"work": "one block per row", "block": 256, "barriers": 1, "shared_bytes": 256},
    entry="block_logsumexp",
    inputs=lambda draw, m, n: (hard_rows(draw, m, n, masked=True),),
    result=lambda x: x.logsumexp(1),
    sizes=[(3, 5), (4, 1000), (6, 31), (1, 1), (2, 1025), (9, 33), (3, 129), (6, 300)],
    count=[(3, 500), (20, 2000)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: _sum(x).log(), "the maximum is not added again to the logarithm."),
        looks_like(lambda x, y: _sum(x) + x.double().amax(1), "the logarithm is missing."),
        looks_like(lambda x, y: x.double().amax(1), "this is the maximum alone."),
        looks_like(_part(_warp), "only what the first warp has seen is in the result."),
        looks_like(_part(lambda n: range(0, n, 256)), "only what thread 0 has seen is in the result."),
        looks_like(lambda x, y: torch.where(x.isneginf().all(1), torch.nan, x.double().logsumexp(1)),
                   "only a row of -inf alone is wrong: somewhere -inf - (-inf) is computed."),
        NAN_FROM_NOTHING,
    ],
)  # fmt: skip
