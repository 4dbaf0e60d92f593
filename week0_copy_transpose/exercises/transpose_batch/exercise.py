"""Puzzle week0/transpose_batch: one launch transposes many matrices."""

from __future__ import annotations

import math

import torch

from forgekit.lessons.gates import GateError, Group, Misconception, Submission, looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import limited
from ..transposing import predicate_mistakes, race_mistakes, rest_is_right

_UNSTORED = Misconception(
    "every written element is correct, but some elements are never written. Does the grid have a "
    "block for every tile of every matrix?",
    rest_is_right,
)


def _largest_batch(make) -> Group:  # type: ignore[no-untyped-def]
    """Return a group that launches the largest batch, with two tiles per matrix, if the grid grows
    with the batch. Otherwise, each block loops over it, which takes long."""

    def run(submission: Submission) -> str:
        few, more, case = (make(b, 33, 1, dtype=torch.float32) for b in (16, 64, 65_535))
        grids = [submission.counted(x)[0].launches[0].grid for x in (few, more)]
        if math.prod(grids[0]) == math.prod(grids[1]):
            return "not launched: the grid does not grow with B"
        try:
            submission.sampled(case, 8)
        except GateError as error:
            error.look_at = (
                "Which sizes of the grid grow with B, and how large may each of them be?"
            )
            raise
        return "a launch with 65,535 matrices"

    return Group("A large batch", run)


EXERCISE = puzzle(
    title="transpose a batch of matrices",
    task="""
`x` has shape (B, M, N) and is row-major, so it contains B matrices of M × N, one after another.
Transpose each of them, `y[b] = x[b].T`, for any M and N and for B up to 65,535, in float32 and
float16. Use one launch, and access whole sectors in both loads and stores. Signature:
`transpose_batch(x, y)`.
""",
    hints=(
        "You have already written the transpose of a single matrix. What must a block know "
        "besides the position of its tile?",
        "A grid has three dimensions, and `cute.arch.block_idx()` returns three numbers. `mX[b, "
        "row, col]` is an element of a tensor with three modes, whose sizes are in `mX.shape`.",
        "Set the third dimension of the grid to B, and use the third block index as the first "
        "index of mX and of mY. The rest is exercise 1 of `07_transpose`, with one padding word "
        "per row, as in its exercise 2.",
    ),
    analysis="""
A batch requires only one more index. Neighbouring blocks should write neighbouring parts of one
matrix, so the batch is the third, *slowest* dimension of the grid. The size of that dimension is at
most 65,535; for a larger batch, use the first dimension or let a block transpose several matrices.
One launch per matrix would need B launches, and for small matrices a launch takes longer than its
kernel.
""",
    asked={
        "bank_conflicts": (
            "no bank conflicts in float32",
            lambda itemsize: 0 if itemsize == 4 else math.inf,
        ),
    },
    entry="transpose_batch",
    inputs=lambda draw, b, m, n: (draw(b, m, n),),
    result=lambda x: x.transpose(1, 2),
    sizes=[
        (3, 4, 2),
        (1, 1, 1),
        (3, 33, 31),
        (1, 3, 2100),
        (5, 1, 100),
        (1, 2100, 3),
        (2, 64, 40),
        (3, 40, 33),
    ],
    count=[(2, 32, 32), (3, 160, 128)],
    dtypes=("float32", "float16"),
    exact=True,
    legal=lambda b, m, n: (b, *(limited(m, n) if b < 3 else (min(m, 40), min(n, 40)))),
    waste={"threads": 4},
    misconceptions=[
        *predicate_mistakes(32, 32),
        *race_mistakes(),
        looks_like(
            lambda x, y: x[:1].transpose(1, 2).expand(x.shape[0], -1, -1),
            "every matrix of y is the transpose of the first matrix of x. Which index of mX "
            "selects the matrix?",
        ),
        looks_like(
            lambda x, y: x.reshape(y.shape),
            "y contains the elements of x in the same order: nothing is transposed.",
        ),
        looks_like(
            lambda x, y: x.flip(0).transpose(1, 2),
            "each matrix is transposed, but the batch is in the opposite order.",
        ),
        _UNSTORED,
    ],
    more=lambda make: (_largest_batch(make),),
    praise="One launch transposes many matrices.",
)
