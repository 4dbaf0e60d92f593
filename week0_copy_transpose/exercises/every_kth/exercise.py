"""Puzzle week0/every_kth: when a 16-byte vector pays off although part of it is discarded."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import limited, numbers, picture

PICTURE = picture(
    "k = 2: every second column",
    {"x": numbers(2, 8), "y": [["0", "2", "4", "6"], ["8", "10", "12", "14"]]},
    lambda text: None if int(text) % 2 else int(text) // 2,
)


def _legal(m: int, n: int, k: int) -> tuple[int, int, int]:
    k = 2 if k > 15 else 1 << max(1, k.bit_length() - 1)  # most drawn k are large
    whole = max(k, 8)
    return m, -(-limited(m, n)[1] // whole) * whole, k


def _of_vectors(x: torch.Tensor, k: int, step: int) -> torch.Tensor:
    """Return the elements kept from each 16 bytes, `step` apart."""
    vec = 16 // x.element_size()
    pieces = x.reshape(len(x), -1, vec)[:, :, : step * (vec // k) : step]
    return pieces.reshape(len(x), -1)


EXERCISE = puzzle(
    title="keep every k-th column",
    task="""
Store `y[i, c] = x[i, c * k]`, where `x` has M rows of N elements and `y` has N / k columns. `k` is
a power of two, at least 2, and known at compile time. N is a multiple of both k and 8. Support
float16 and float32. Signature: `every_kth(x, k, y)`.
""",
    hints=(
        "How many elements does a vector of 16 bytes hold, and how many of them does the kernel "
        "keep? What is the smallest k for which it keeps only one?",
        "`k` is a `cutlass.Constexpr`, so an `if cutlass.const_expr(…)` can choose the version at "
        "compile time. The size of the grid depends on this choice.",
        "`zipped_divide` cuts x into pieces of `(1, vec)` and y into pieces of `(1, vec // k)`. A "
        "thread copies its piece into registers, selects every k-th element, and stores the "
        "selected elements as one vector. If k is vec or more, use one element per thread.",
    ),
    analysis="""
For small k, both versions load the same sectors, because each sector of 32 bytes contains elements
to keep. A vector saves requests: with float16 and k = 2, one request loads four times as many
elements to keep. With float16, a vector saves nothing for k = 8 or more, and for k = 32 loading
whole rows would double the number of bytes. Count bytes to decide where vectors pay off; a
`const_expr` makes that decision for each type.
""",
    asked={
        "load_bytes": (
            "16 bytes per load if 16 bytes contain more than one element to keep",
            lambda k, itemsize: 16 if k * itemsize < 16 else 0,
        ),
    },
    entry="every_kth",
    given=PICTURE,
    inputs=lambda draw, m, n, k: (draw.places(m, n), k),
    result=lambda x, k: x[:, ::k],
    exact=True,
    sizes=[
        (2, 16, 4),
        (1, 8, 2),
        (3, 32, 8),
        (9, 72, 2),
        (5, 64, 32),
        (2100, 8, 2),
        (2, 5120, 8),
        (1, 131_072, 65_536),
        (1, 131_200, 2),
        (33, 264, 4),
        (70, 16, 2),
        (17, 80, 2),
    ],
    count=[(20, 400, 4), (40, 960, 32), (8, 16_384, 1024)],
    dtypes=("float16", "float32"),
    legal=_legal,
    promise=lambda m, n, k: {0: {1: 8}, 2: {1: max(8 // k, 1)}},
    waste={"threads": 4},
    misconceptions=[
        looks_like(
            lambda x, k, y: x[:, : y.shape[1]],
            "in this call, y holds the first columns of x instead of every k-th column.",
        ),
        looks_like(
            lambda x, k, y: x[:, 1::k],
            "in this call, y holds columns 1, k + 1, …, which are one column too far right.",
        ),
        looks_like(
            lambda x, k, y: x[:, k - 1 :: k],
            "in this call, y holds the last of each k columns instead of the first.",
        ),
        looks_like(
            lambda x, k, y: _of_vectors(x, k, 1),
            "in this call, y holds the first elements of each vector instead of every k-th element.",
        ),
        looks_like(
            lambda x, k, y: _of_vectors(x, k, 2), "in this call, the step is 2 instead of k."
        ),
    ],
)
