"""Puzzle week1/row_dots_vectors: dot products of the rows of two matrices."""

import numpy as np
import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import Draw, puzzle

from ..shares import of_lanes, shared


def _all_lanes(block: np.ndarray, thread: np.ndarray) -> str:
    loading = len(np.unique(thread[0]))
    return f"only {loading} of a warp's 32 lanes load row 0." if loading < 32 else ""


def _pair(draw: Draw, m: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return 14-bit and 4-bit numbers, so that sums are exact; every fourth row exchanges them. In
    every second row, a has only 8 bits, and the first and last products are ±90,000, which float16
    cannot represent; in every second of these float32 rows, both are 90,000, so that the sum is out
    of float16's range. In the other rows, the first product is −800, so that lane 0 does not have
    the largest share."""
    a, b = draw.fractions(m, n), draw.integers(-8, 9, m, n)
    a[::2] = (a[::2] * 32).round() / 32
    a[::2, [0, -1]], b[::2, 0], b[::2, -1] = 300, 300, -300
    if a.dtype == torch.float32:
        b[2::4, -1] = 300
    a[1::2, 0], b[1::2, 0] = -100, 8
    a[3::4], b[3::4] = b[3::4], a[3::4].clone()
    return a, b


EXERCISE = puzzle(
    title="compute dot products with vector loads",
    task="""
Compute `y[m] = a[m, 0] · b[m, 0] + a[m, 1] · b[m, 1] + …` in float32 and float16. Multiply and
add in float32. N is a multiple of 8, so rows consist of whole 16-byte vectors.

Signature: `row_dots_vectors(a, b, y)`.
""",
    hints=(
        "Cut both tensors the same way: vector i of one pairs with vector i of the other.",
        "You can multiply two loaded vectors with `*`; `.reduce(cute.ReductionOp.ADD, 0.0, 0)` adds the "
        "products.",
        "On the line with the product, convert both vectors to `Float32` before you multiply: a "
        "product of two float16 numbers is rounded, and may overflow.",
    ),
    analysis="""
The kernel reads twice as many bytes as a sum and performs one more operation per pair. Two
loads come before the first use, so a thread has 32 bytes in flight instead of 16. An operator
with more inputs keeps memory busy more easily.
""",
    asked={"work": "one warp per row", "load_bytes": 16},
    entry="row_dots_vectors",
    inputs=_pair,
    result=lambda a, b: (a * b).sum(1),
    sizes=[(3, 256), (4, 8), (1, 1024), (7, 1000), (33, 136), (5, 2040)],
    count=[(5, 64), (64, 1000)],
    waste={"idle_lanes": 6.0},  # lanes may load two vectors per turn
    dtypes=("float32", "float16"),
    legal=lambda m, n: (m, max(8, n // 8 * 8)),
    promise={0: {1: 8}, 1: {1: 8}},
    misconceptions=[
        looks_like(lambda a, b, y: of_lanes(a.double() * b, 1, 4), "the result is only the sum "
                   "of lane 0: the sums of the other lanes are missing."),
        looks_like(lambda a, b, y: of_lanes(a.double() * b, 16, 4), "the result is the sum of only "
                   "half of the lanes."),
        looks_like(lambda a, b, y: a.double().sum(1), "this is the sum of a, without b."),
        looks_like(lambda a, b, y: (a.double() + b).sum(1), "the kernel adds the elements of a "
                   "pair instead of multiplying them."),
        looks_like(lambda a, b, y: (a.double() * a).sum(1), "the kernel multiplies a by itself."),
        looks_like(lambda a, b, y: (a.double() * b).sum(1) + 1, "each result is 1 more than the "
        "sum. Does it start at 0?"),
    ],
    more=lambda make: (shared(make, (3, 1024), "thread", _all_lanes),),
    praise="Two streams of vectors, one sum.",
)  # fmt: skip
