"""Puzzle week0/transpose_batch: many matrices turned by one launch."""

from math import inf

from forgekit.lessons.gates import Misconception, looks_like
from forgekit.lessons.puzzle import puzzle

from ..transposing import predicate_mistakes, race_mistakes

EXERCISE = puzzle(
    title="transpose a batch of matrices",
    task="""
`x` has B matrices of M × N, one after the other: shape (B, M, N), row-major. Turn each of them,
`y[b] = x[b].T`, for every B, M and N, in float32 and float16. One launch, and whole sectors on both
sides. The host function is called as `transpose_batch(x, y)`.
""",
    hints=(
        "Each matrix is a transpose that you have written. What does a block need to know besides "
        "the place of its tile?",
        "A grid has three sizes, and `cute.arch.block_idx()` gives three numbers. `mX[b, row, "
        "col]` is an element of a tensor with three modes, whose sizes stand in `mX.shape`.",
        "The third size of the grid is B, and the third block index is the first index of mX and "
        "of mY. All else is exercise 1 of `07_transpose` with a pitch of its exercise 2.",
    ),
    analysis="""
A batch costs one index. The batch must not be the *fast* side of the grid: neighbouring blocks
should write neighbouring parts of one matrix, so it is the third. And a launch for each matrix would
be B launches: for small matrices a launch takes longer than the work in it.
""",
    asked={
        "bank_conflicts": (
            "no bank conflicts in float32",
            lambda itemsize: 0 if itemsize == 4 else inf,
        ),
    },
    entry="transpose_batch",
    inputs=lambda draw, b, m, n: (draw(b, m, n),),
    result=lambda x: x.transpose(1, 2),
    sizes=[(2, 4, 3), (1, 1, 1), (3, 33, 31), (1, 5, 70), (5, 1, 100), (2, 64, 40), (3, 40, 33)],
    count=[(2, 32, 32), (3, 160, 128)],
    dtypes=("float32", "float16"),
    exact=True,
    waste={"threads": 4},
    misconceptions=[
        *predicate_mistakes(32, 32),
        *race_mistakes(),
        looks_like(
            lambda x, y: x[:1].transpose(1, 2).expand(x.shape[0], -1, -1),
            "every matrix of y is the first of x turned: the batch's number is missing where x is "
            "read.",
        ),
        looks_like(
            lambda x, y: x.reshape(y.shape), "nothing is turned: y holds x in the order of x."
        ),
        looks_like(
            lambda x, y: x.flip(0).transpose(1, 2),
            "each matrix is turned, and they stand in the opposite order.",
        ),
        Misconception(
            "what is written is right, and some elements are never written: does the grid have a "
            "block for every tile of every matrix?",
            lambda e: "unwritten-output" in e.kinds and not e.never.all(),
        ),
    ],
    praise="Many matrices, one launch.",
)
