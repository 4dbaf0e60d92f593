"""Puzzle week0/fold_halves: two vectors in, one out."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import special

EXERCISE = puzzle(
    title="fold a vector in the middle",
    task="""
Compute `y[i] = x[i] + x[i + h]`, where `h` is the length of `y`. It is half the length of `x` and a
multiple of 8, which the grader promises to the compiler. Support float32 and float16. Write the
whole kernel and its launch. Signature: `fold_halves(x, y)`.
""",
    hints=(
        "Cut both tensors into vectors, as `copy_vectors` does. Which vector of `x` must be added "
        "to vector i?",
        "`h` elements form `h // vec` vectors. You can add the values that `load()` returns.",
        "The predicate compares i with the number of vectors of `y`. The line after it loads both "
        "vectors from `gX`, adds them, and stores the sum in vector i of `gY`.",
    ),
    analysis="""
Both loads come before the store, so a thread waits for 32 bytes at the same time, twice as many as
in a copy. In float32 the kernel moves 12 bytes per element of `y`, which is the minimum.
""",
    asked={"load_bytes": 16, "store_bytes": 16},
    entry="fold_halves",
    inputs=lambda draw, h: (special(draw(2 * h)),),
    result=lambda x: x[: len(x) // 2] + x[len(x) // 2 :],
    sizes=[(16,), (8,), (512,), (1000,), (1032,), (2504,)],
    count=[(128,), (49_000,)],
    dtypes=("float16", "float32"),
    legal=lambda h: (-(-h // 8) * 8,),
    promise={0: {0: 16}, 1: {0: 8}},
    misconceptions=[
        looks_like(lambda x, y: x[: len(y)], "in this call, y is x[:h]: the second half is missing."),
        looks_like(lambda x, y: 2 * x[: len(y)], "in this call, y is 2 * x[:h]: the first half is added to itself."),
        looks_like(lambda x, y: x[0::2] + x[1::2], "in this call, y holds sums of neighbours instead of halves."),
        looks_like(lambda x, y: x[: len(y)] + x[len(y) :].flip(0),
                   "in this call, the second half is added backwards."),
    ],
)  # fmt: skip
