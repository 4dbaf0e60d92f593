"""Puzzle week1/row_dots_vectors: dot products of the rows of two matrices."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import Draw, puzzle

from ..shares import of_lanes


def _pair(draw: Draw, m: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Of 14 bits and of 4, with sums that are exact; the first and the last product of every second
    row, of 8 bits and 4, are ±90,000, which float16 has not."""
    a, b = draw.fractions(m, n), draw.integers(-8, 9, m, n)
    a[::2] = (a[::2] * 32).round() / 32
    a[::2, [0, -1]], b[::2, 0], b[::2, -1] = 300, 300, -300
    return a, b


EXERCISE = puzzle(
    title="multiply row by row, by vectors",
    task="""
`y[m] = a[m, 0] · b[m, 0] + a[m, 1] · b[m, 1] + …`, in float32 and float16, multiplied and added
up in float32; rows are whole vectors. Called as `row_dots_vectors(a, b, y)`.
""",
    hints=(
        "Two tensors are cut alike: the vector with number i of one belongs to the vector with "
        "number i of the other.",
        "What `.load()` gives can be multiplied as a whole; a sum over its values is "
        "`.reduce(cute.ReductionOp.ADD, 0.0, 0)`.",
        "Both vectors are converted to `Float32` before they are multiplied, in the line of the "
        "product: a product of two float16 is rounded, and may be infinite.",
    ),
    analysis="""
Twice the bytes of a sum and one more operation an element. Two loads stand before the first use,
so a thread has 32 bytes in flight in place of 16: an operator with more inputs fills the memory
system more easily than one with a single input.
""",
    asked={"work": "one warp per row", "load_bytes": 16},
    entry="row_dots_vectors",
    inputs=_pair,
    result=lambda a, b: (a * b).sum(1),
    sizes=[(3, 8), (4, 256), (1, 1024), (7, 1000), (33, 136), (5, 2040)],
    count=[(5, 64), (70, 1000)],
    dtypes=("float32", "float16"),
    legal=lambda m, n: (m, max(8, n // 8 * 8)),
    promise={0: {1: 8}, 1: {1: 8}},
    misconceptions=[
        looks_like(lambda a, b, y: of_lanes(a.double() * b, 1, 4), "the result is what lane 0 has: "
                   "the lanes of a row have not met."),
        looks_like(lambda a, b, y: of_lanes(a.double() * b, 16, 4), "the result is what half of the "
                   "lanes have."),
        looks_like(lambda a, b, y: a.double().sum(1), "the sum is that of a: b is not in it."),
        looks_like(lambda a, b, y: (a.double() + b).sum(1), "the elements are added, not "
                   "multiplied."),
        looks_like(lambda a, b, y: (a.double() * a).sum(1), "a is multiplied by itself."),
        looks_like(lambda a, b, y: (a.double() * b).sum(1) + 1, "the sum does not begin at 0."),
    ],
    praise="Two streams of vectors, one sum.",
)  # fmt: skip
