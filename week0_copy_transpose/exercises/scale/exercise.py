"""Exercise week0/scale: the student's first kernel, one line of arithmetic."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import special

EXERCISE = puzzle(
    title="scale a vector",
    task="""
Write a kernel that computes `y[i] = 3 * x[i] + 1` for any length. The skeleton is `guarded_kernel`,
and you need to change only one line.
""",
    hints=(
        "Change only the line inside the `if`.",
        "Inside the `if`, `mX[i]` is an ordinary number that you can compute with as in Python.",
        "A kernel returns nothing. Instead, thread `i` assigns its result to its element of `mY`.",
    ),
    analysis="""
The compiler merges the multiplication and the addition into a single instruction, `fma` (*fused
multiply-add*), which rounds once. Look for it in `fk.compile(scale, x, y).ptx`.
""",
    entry="scale",
    inputs=lambda draw, n: (special(draw(n)),),
    result=lambda x: 3 * x + 1,
    sizes=[(8,), (1,), (128,), (2500,), (129,), (257,)],
    count=[(8,), (100_003,)],
    misconceptions=[
        looks_like(lambda x, y: x, "y is equal to x, as after a copy."),
        looks_like(
            lambda x, y: 3 * (x + 1),
            "this is 3 * (x + 1), as if 1 were added before the multiplication.",
        ),
        looks_like(lambda x, y: 3 * x, "in this call, y is 3 * x, without the 1."),
    ],
    praise="You have written your first kernel.",
)
