"""Puzzle week1/two_rows: sums of two rows per block."""

import numpy as np

from forgekit.lessons.gates import found, looks_like
from forgekit.lessons.puzzle import puzzle
from forgekit.text import plural

from ..shares import shared


def _inputs(draw, m, n):
    """Return numbers, with one ∞ in the fifth row if the matrix is large."""
    x = draw.fractions(m, n)
    if m > 6:
        x[4, n // 2] = float("inf")
    return (x,)


def _halves(block, thread):
    """Two neighbouring rows belong to the two halves of one block, and each half's four warps
    share a row."""
    for m, n in np.ndindex(block.shape):
        first, half = m // 2 * 2, thread[m, n] // 128
        if (block[m, n], half) != (block[first, 0], m % 2):
            other = (
                f", and thread {thread[first, 0]} of block {block[first, 0]} loads mX[{first}, 0]"
            ) * ((m, n) != (first, 0))
            return (
                f"thread {thread[m, n]} of block {block[m, n]} loads mX[{m}, {n}]{other}. The task gives "
                "one row to the first 128 threads of a block and the next row to the other 128."
            )
        if (warps := len(np.unique(thread[m] // 32))) < 4:
            return (
                f"row {m} is loaded by {plural(warps, 'warp')}; needed four. The task gives each row "
                "to 128 threads."
            )
    return ""


EXERCISE = puzzle(
    title="add up two rows per block",
    task="""
Add up rows again, this time two rows per block: the first 128 threads add one row, and the
other 128 threads add the next. M and N may be any numbers, including odd ones. The types are
float32 and float16; accumulate in float32.

Signature: `two_rows(x, y)`.
""",
    hints=(
        "Which row does a thread work on, and what is its index among that row's threads?",
        "Use `tidx // 128` and `tidx % 128`. The trees need 256 words of shared memory, 128 per row.",
        "If M is odd, the last block has a row for only half of its threads. The other half must still "
        "reach every barrier: put the predicate around the loads and around the store, not around the "
        "tree.",
    ),
    analysis="""
A barrier waits for all threads of a block, including those without a row. These threads add
zeros, which costs nothing, because their warps would otherwise wait. If rows are short or
numerous, let one block add several of them.
""",
    asked={"work": "one block per two rows", "block": 256, "barriers": 7},
    entry="two_rows",
    inputs=_inputs,
    result=lambda x: x.sum(1),
    sizes=[(2, 300), (2, 3), (1, 1), (3, 31), (2, 1000), (7, 33), (1, 1025), (3, 129), (5, 300)],
    count=[(5, 100), (10, 5000)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, y: x.double().sum(1) + x.double().sum(1).roll(-1), "each sum "
                   "contains both rows of a block."),
        looks_like(lambda x, y: x[:, :128].double().sum(1), "the sum contains only the first 128 "
                   "elements of a row."),
        looks_like(lambda x, y: x[:, ::128].double().sum(1), "the result is the sum of elements 0, "
                   "128, 256, … alone, as if only the first thread of each row counted."),
        found("divergent-barrier", "some threads of the block do not reach the barrier. Threads without "
              "a row, or without a sum to add, have to reach it as well."),
    ],
    more=lambda make: (shared(make, (4, 1000), "warp", _halves),),
)  # fmt: skip
