"""Puzzle week0/three_sums: neighbours through shared memory, with a barrier and two edges."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import loaded_once


def _shifted(x, by):
    out = x.roll(by, 1)
    out[:, :by] = 0
    return out


def _sums(x, left=True):
    right = x.roll(-1, 1)
    right[:, -1] = 0
    return (_shifted(x, 1) if left else 0) + x + right


def _inputs(draw, rows):
    x = draw(rows, 128)
    x[1::3, 0], x[2::3, -1] = torch.inf, -torch.inf  # 0 times an end of the row is NaN
    x[3::6, 31::32], x[6::6, 32::32] = torch.inf, -torch.inf  # or of a warp's part
    return (x,)


EXERCISE = puzzle(
    title="add three neighbours",
    task="""
Each row has 128 elements. Compute `y[row, i] = x[row, i-1] + x[row, i] + x[row, i+1]`, where
elements outside the row count as 0. Elements may be infinite. Load each element of `x` from global memory once: a thread gets
its neighbours' elements from shared memory or by shuffles. Write the whole kernel. Signature:
`three_sums(x, y)`.
""",
    hints=(
        "As in `mirror`, each thread stores, waits and reads. Which elements that other threads "
        "stored does each thread read here?",
        "The first and the last thread of a row have only one neighbour. Begin with the thread's "
        "own element, and add each neighbour under its own predicate.",
        "All threads must reach the barrier, so put it before the first `if`.",
    ),
    analysis="""
Without shared memory, the kernel would load each element three times. A cache would serve two of
these loads, but each of them is still an instruction and a request, and the profile counts both.
""",
    asked={"work": "one block per row", "block": 128, "sharing": 4, "barriers": 1, "shared_bytes": 512},
    entry="three_sums",
    inputs=_inputs,
    result=_sums,
    sizes=[(1,), (2,), (7,), (5,), (3,)],
    count=[(2,), (1030,)],
    misconceptions=[
        looks_like(lambda x, y: x, "only the element itself is stored."),
        looks_like(lambda x, y: _shifted(x, 1) + x, "the right neighbour is missing."),
        looks_like(lambda x, y: _sums(x, left=False), "the left neighbour is missing."),
        looks_like(lambda x, y: x.roll(1, 1) + x + x.roll(-1, 1), "the kernel treats the row as a ring, but the two ends of a row are not neighbours."),
    ],
    more=lambda make: (loaded_once(make, (3,)),),
    praise="Each element is loaded once and used three times.",
)  # fmt: skip
