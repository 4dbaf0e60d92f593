"""Puzzle week1/tree_max: the largest element of each row, by a tree in shared memory."""

from forgekit.lessons.gates import FINITE_START, looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="the largest of each row",
    task="""
`y[m]` is the largest element of row m, for any M and N ≥ 1, in float32 and float16, by
a tree in shared memory. All elements of a row may be negative. `tree_max(x, y)` is how it is called.
""",
    hints=(
        "It is `tree_sequential` with another operator. What takes the place of `+`, and of 0?",
        "`cutlass.max(a, b)` is the larger of two. The value that changes nothing under it is −∞: "
        "`-Float32.inf`.",
        "A round begins with its barrier, outside of any `if`; then the lower half of the threads "
        "that are left takes the larger of its own word and the one half the distance further up.",
    ),
    analysis="""
Nothing in a tree asks for a sum. Any operator will do whose result does not depend on how the
elements are put into pairs (*associative*), and which has a value that changes nothing, its
*identity*: 0 for a sum, 1 for a product, −∞ for a maximum. A thread without elements holds it.
""",
    asked={"work": "one block per row", "block": 128, "barriers": 7, "bank_conflicts": 0},
    entry="tree_max",
    inputs=lambda draw, m, n: (draw.extremes(m, n),),
    result=lambda x: x.amax(1),
    sizes=[(2, 5), (1, 1), (3, 31), (2, 1000), (7, 33), (1, 1025), (3, 129), (3, 300)],
    count=[(3, 100), (40, 1000)],
    dtypes=("float32", "float16"),
    misconceptions=[
        FINITE_START,
        looks_like(lambda x, y: x.amin(1), "this is the smallest element."),
        looks_like(lambda x, y: x.double().sum(1), "this is the sum."),
        looks_like(lambda x, y: x[:, ::128].amax(1), "only what thread 0 has found is in the result: "
                   "nothing reaches it from the other threads."),
        looks_like(lambda x, y: x[:, :128].amax(1), "only the first 128 elements of a row are looked "
                   "at, one for each thread."),
    ],
)  # fmt: skip
