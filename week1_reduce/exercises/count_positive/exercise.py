"""Puzzle week1/count_positive: a counter in memory to which every block adds once."""

import numpy as np
import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..shares import shared


def _equal_shares(block, thread):
    """Each piece of 2,048 columns has a block of its own, all of whose threads load elements."""
    pieces = [row[k : k + 2048] for row in block for k in range(0, block.shape[1], 2048)]
    if len({p[0] for p in pieces}) < len(pieces) or any((p != p[0]).any() for p in pieces):
        return "some block does not load exactly the 2,048 columns of one piece of a row."
    if (loading := len(np.unique(thread[0, :2048]))) < 256:
        return f"only {loading} of a block's 256 threads load elements."
    return ""


def _inputs(draw, m, n):
    """Return numbers, zeros, numbers that float16 would round to 0, ∞, and in long rows a few NaN.
    Of several rows, the last has only positive elements, among them the smallest float32."""
    x = draw(m, n)
    x[:, 1::3] = 0
    x[:, 2::3] *= 1e-30
    x[:, 3::48] = torch.inf
    if n > 2048:
        x[:, 6::48] = torch.nan
    if m > 1:
        x[-1] = draw(n).abs() + 1
        x[-1, ::48] = 2.0**-149
    return (x,)


EXERCISE = puzzle(
    title="count with one atomic per block",
    task="""
`y[m]` is the number of elements of row `m` that are greater than 0. Rows are float32 and have
any length; elements may be infinite or NaN, and NaN is not greater than 0. Counts are int32. Blocks add their counts to `y[row]` with `cute.arch.atomic_add`.
`y` holds arbitrary values at first, so a separate launch has to set it to 0.

Signature: `count_positive(x, y)`.
""",
    hints=(
        "Write two kernels and one host function. Which kernel writes `y` with a plain store?",
        "A warp adds up its counts with `cute.arch.warp_reduction` over `Int32` numbers. The "
        "warps of a block combine their counts in shared memory, as in `sum_of_block`.",
        "`mY.iterator + row` is the pointer for the atomic addition. Only one thread of the block "
        "executes that line.",
    ),
    analysis="""
Integer additions do not round, so the order in which blocks arrive does not matter, and the
counts are deterministic. One atomic per block also keeps the number of atomics small. This
helps because memory performs atomics on the same address one after another.
""",
    asked={
        "blocks": ("one block per 2,048 columns of a row", lambda m, n: m * -(-n // 2048)),
        "first_block": 256,
        "block": 256,
        "launches": 2,
        "global_atomics": ("at most one atomic per block", lambda m, n: m * -(-n // 2048)),
    },
    entry="count_positive",
    inputs=_inputs,
    result=lambda x: (x > 0).sum(1).to(torch.int32),
    sizes=[(1, 2048), (1, 2049), (3, 1), (2, 1000), (257, 33), (513, 1), (1024, 1), (1, 7000), (3, 4097)],
    count=[(1, 2050), (513, 33), (4, 8_192)],
    misconceptions=[
        looks_like(lambda x, y: (x < 0).sum(1).to(torch.int32), "the negative elements are counted."),
        looks_like(lambda x, y: torch.full_like(y, x.shape[1]), "all elements are counted."),
        looks_like(lambda x, y: y.new_zeros(len(y)), "the counts are 0: does the kernel clear y "
                   "after counting, or does no block add to it?"),
    ],
    more=lambda make: (shared(make, (2, 5000), "block", _equal_shares),),
    praise="Many blocks, one counter, and the same count every time.",
)  # fmt: skip
