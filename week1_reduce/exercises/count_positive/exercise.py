"""Puzzle week1/count_positive: a counter in memory that every block adds to, once."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, m, n):
    """Numbers, zeros, and numbers that float16 would take for zeros."""
    x = draw(m, n)
    x[:, 1::3] = 0
    x[:, 2::3] *= 1e-30
    return (x,)


EXERCISE = puzzle(
    title="count with one atomic a block",
    task="""
`y[m]` is how many elements of row `m` are greater than 0: float32 rows of any length, counted in
int32. A block adds what it has counted to `y[row]` by `cute.arch.atomic_add`. `y` holds arbitrary values at first: a launch of its own sets it to 0.
Called as `count_positive(x, y)`.
""",
    hints=(
        "Two kernels, one host function. In which of them does a thread write to `y` plainly?",
        "A warp counts with `cute.arch.warp_reduction` of `Int32` numbers; the warps of a block meet in "
        "shared memory, as ever.",
        "`mY.iterator + row` is the pointer that the atomic addition takes, in a line for one thread of "
        "the block.",
    ),
    analysis="""
Whole numbers add up without rounding, so the order in which blocks arrive does not matter:
atomics are deterministic here. One addition a block also keeps them rare: additions to one
address are done one after the other.
""",
    asked={
        "blocks": ("one block per 2,048 columns of a row", lambda m, n: m * -(-n // 2048)),
        "block": 256,
        "launches": 2,
        "global_atomics": ("one atomic per block", lambda m, n: m * -(-n // 2048)),
    },
    entry="count_positive",
    inputs=_inputs,
    result=lambda x: (x > 0).sum(1).to(torch.int32),
    sizes=[(1, 2048), (1, 2049), (3, 1), (2, 1000), (257, 33), (1, 7000), (3, 4097)],
    count=[(1, 2050), (4, 9_000)],
    misconceptions=[
        looks_like(lambda x, y: (x < 0).sum(1).to(torch.int32), "the negative ones are counted."),
        looks_like(lambda x, y: torch.full_like(y, x.shape[1]), "all elements are counted."),
        looks_like(lambda x, y: y.new_zeros(len(y)), "the counts are 0: they are cleared after the "
                   "counting, or nothing is added."),
    ],
    praise="Many blocks, one number, the same one every time.",
)  # fmt: skip
