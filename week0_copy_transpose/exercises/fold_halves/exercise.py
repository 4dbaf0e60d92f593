"""Puzzle week0/fold_halves: two vectors in, one out."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="fold a vector in the middle",
    task="""
`y` has half as many elements as `x`: `y[i] = x[i] + x[i + h]`, where `h` is the length of `y`, a
multiple of 8. Support float32 and float16. The lengths are promised to the compiler. Write the
whole kernel and its launch. Signature: `fold_halves(x, y)`.
""",
    hints=(
        "Cut both tensors into vectors, as `copy_vectors` does. Which vector of `x` is the "
        "partner of vector i?",
        "`h` elements make `h // vec` vectors. You can add the values that `load()` returns.",
        "The predicate counts the vectors of `y`. The line after it loads vector i and its "
        "partner from `gX`, adds them, and stores vector i of `gY`.",
    ),
    analysis="""
Both loads come before the store, so a thread has 32 bytes in flight; a copy has 16. Twelve bytes
move per element of `y` in float32, which is the minimum.
""",
    asked={"load_bytes": 16, "store_bytes": 16},
    entry="fold_halves",
    inputs=lambda draw, h: (draw(2 * h),),
    result=lambda x: x[: len(x) // 2] + x[len(x) // 2 :],
    sizes=[(16,), (8,), (512,), (1000,), (1032,), (2504,)],
    count=[(128,), (49_000,)],
    dtypes=("float16", "float32"),
    legal=lambda h: (-(-h // 8) * 8,),
    promise={0: {0: 16}, 1: {0: 8}},
    misconceptions=[
        looks_like(lambda x, y: x[: len(y)], "the second half is missing."),
        looks_like(lambda x, y: 2 * x[: len(y)], "the first half is added to itself."),
        looks_like(lambda x, y: x[0::2] + x[1::2], "the kernel adds neighbours instead of the halves."),
        looks_like(lambda x, y: x[: len(y)] + x[len(y) :].flip(0),
                   "the kernel reads the second half backwards."),
    ],
)  # fmt: skip
