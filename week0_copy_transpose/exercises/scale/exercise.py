"""Exercise week0/scale: the first kernel of one's own, one line of arithmetic."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

EXERCISE = puzzle(
    title="scale a vector",
    task="""
Write a kernel that computes `y[i] = 3 * x[i] + 1` for any length. It starts as `guarded_kernel`
did; one line changes.
""",
    hints=(
        "Only the line inside the `if` changes.",
        "Inside the `if`, `mX[i]` is an ordinary number: compute with it as you would in Python.",
        "A kernel has no result: what thread `i` has computed, it assigns to its element of `mY`.",
    ),
    analysis="""
One multiplication and one addition: the compiler makes a single `fma` of them, *fused
multiply-add*, which rounds once. Look for it in `fk.compile(scale, x, y).ptx`.
""",
    entry="scale",
    inputs=lambda draw, n: (draw(n),),
    result=lambda x: 3 * x + 1,
    sizes=[(8,), (1,), (128,), (2500,), (129,), (257,)],
    count=[(8,), (100_003,)],
    misconceptions=[
        looks_like(lambda x, y: x, "the kernel still copies."),
        looks_like(lambda x, y: 3 * (x + 1), "1 is added before the multiplication."),
        looks_like(lambda x, y: 3 * x, "the + 1 is missing."),
    ],
    praise="Your first kernel.",
)
