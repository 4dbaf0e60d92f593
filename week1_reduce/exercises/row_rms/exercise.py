"""Puzzle week1/row_rms: the root mean square of rows, one block per row."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, m, n):
    x = draw.fractions(m, n)
    x[::4] += 290  # the mean of the squares exceeds float16
    x[::2, 0] = x[1::2, -1] = 301.3  # the square exceeds float16
    # the root lies 3/8 of the way between two numbers of x's type, so a small error rounds it up
    step = torch.finfo(x.dtype).eps
    x[3::4] = 1 + step * (draw.integers(0, 25, len(x[3::4]), 1) + (torch.arange(n) < n * 3 // 8))
    x[5::6] = 0  # the reciprocal root is infinite
    if n % 16 == 15 or m == 8:  # small, so that a number added to the mean shows
        x *= 2.0 ** (-12 if x.dtype == torch.float16 else -30)
    return (x,)


EXERCISE = puzzle(
    title="compute the root mean square of each row",
    task="""
Compute `y[m] = √((x[m, 0]² + … + x[m, N-1]²) / N)` for any M and N, in float32, float16 and
bfloat16. Do the arithmetic in float32. (RMSNorm divides by this number.)

Signature: `row_rms(x, y)`.
""",
    hints=(
        "A sum of squares is still a sum. Which line of a block's row sum changes, and what do "
        "you add at the end?",
        "`Float32(mX.shape[1])` is the number of elements, and `cute.math.sqrt` computes the square root.",
        "300 fits in float16, but its square does not, so convert each element before the line that "
        "squares it. Compute the mean and the root on the line where one thread stores the result.",
    ),
    analysis="""
The tree works the same whatever the numbers mean. So a reduction can transform each element
after loading it, and the result before storing it, nearly for free. Libraries call the first
transformation a *prologue* and the second an *epilogue*.
""",
    asked={"work": "one block per row", "block": 128, "barriers": 7},
    entry="row_rms",
    inputs=_inputs,
    result=lambda x: x.square().mean(1).sqrt(),
    sizes=[(2, 5), (2, 2049), (1, 1), (3, 31), (2, 1000), (4, 2049), (7, 257), (3, 129), (3, 300)],
    count=[(3, 200), (9, 5000)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: x.double().square().sum(1), "this is the sum of the squares."),
        looks_like(lambda x, y: x.double().square().sum(1).sqrt(), "this is the square root of "
                   "the sum: divide by the number of elements first."),
        looks_like(lambda x, y: x.double().square().mean(1), "this is the mean of the squares: "
                   "the square root is missing."),
        looks_like(lambda x, y: x.double().mean(1), "this is the mean: nothing is squared."),
        looks_like(lambda x, y: (x.double().square().sum(1) + 128).div(x.shape[1]).sqrt(), "each "
                   "of the 128 threads seems to start its sum at 1."),
        looks_like(lambda x, y: x[:, :256].double().square().sum(1).div(x.shape[1]).sqrt(), "the sum "
                   "contains only the first 256 elements of a row."),
        looks_like(lambda x, y: x.square().double().mean(1).sqrt() if x.dtype == torch.float16 else None,
                   "the squares are computed in float16, whose largest number is 65,504; the square "
                   "of 301 exceeds it."),
        looks_like(lambda x, y: x.double().square().mean(1).to(x.dtype).double().sqrt()
                   if x.dtype != torch.float32 else None, "the mean is rounded to the type of x "
                   "before its root; compute both in float32."),
    ],
    praise="RMSNorm is half done.",
)  # fmt: skip
