"""Puzzle week0/every_kth: when a vector of 16 bytes pays although part of it is discarded."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import numbers, picture

PICTURE = picture(
    "k = 2: every second column",
    {"x": numbers(2, 8), "y": [["0", "2", "4", "6"], ["8", "10", "12", "14"]]},
    lambda text: None if int(text) % 2 else int(text) // 2,
)


def _legal(m: int, n: int, k: int) -> tuple[int, int, int]:
    k = 2 if k > 15 else 1 << max(1, k.bit_length() - 1)  # of drawn k: most are large
    whole = max(k, 8)
    return m, -(-n // whole) * whole, k


def _of_vectors(x: torch.Tensor, k: int, step: int) -> torch.Tensor:
    """Return as many elements of each 16 bytes as are kept, `step` apart."""
    vec = 16 // x.element_size()
    pieces = x.reshape(len(x), -1, vec)[:, :, : step * (vec // k) : step]
    return pieces.reshape(len(x), -1)


EXERCISE = puzzle(
    title="keep every k-th column",
    task="""
Store `y[i, c] = x[i, c * k]`, where `x` has M rows of N elements and `y` has N / k columns. `k`
is a power of two, at least 2, and known when the kernel is compiled. N is a multiple of k and
of 8. Support float16 and float32. Signature: `every_kth(x, k, y)`.
""",
    hints=(
        "How many elements does a vector of 16 bytes hold, and how many of them are kept? From "
        "which k on is only one kept?",
        "`k` is a `cutlass.Constexpr`: an `if cutlass.const_expr(…)` chooses the kernel while "
        "it is compiled. The grid has to follow that choice.",
        "`zipped_divide` cuts x into pieces of `(1, vec)` and y into pieces of `(1, vec // "
        "k)`. A thread copies its piece into registers, picks every k-th element, and stores "
        "these as one vector. For k from vec on, use one element per thread.",
    ),
    analysis="""
The sectors are the same in both versions: elements that are kept share each sector of 32 bytes with
elements that are not. A vector saves requests: with float16 and k = 2, one request loads four times
as many kept elements. With float16 it saves nothing from k = 8 on, and at k = 32 loading whole rows
would double the bytes. Count bytes to decide where vectors pay off; a `const_expr` makes that
decision per type.
""",
    asked={
        "load_bytes": (
            "16 bytes per load where they hold more than one element that is kept",
            lambda k, itemsize: 16 if k * itemsize < 16 else 0,
        ),
    },
    entry="every_kth",
    given=PICTURE,
    inputs=lambda draw, m, n, k: (draw.places(m, n), k),
    result=lambda x, k: x[:, ::k],
    exact=True,
    sizes=[(2, 16, 4), (1, 8, 2), (3, 32, 8), (9, 72, 2), (5, 64, 32), (33, 264, 4), (17, 80, 2)],
    count=[(24, 512, 4), (40, 960, 32)],
    dtypes=("float16", "float32"),
    legal=_legal,
    promise=lambda m, n, k: {0: {1: 8}, 2: {1: max(8 // k, 1)}},
    waste={"threads": 4},
    misconceptions=[
        looks_like(
            lambda x, k, y: x[:, : y.shape[1]], "the first columns are kept, not every k-th."
        ),
        looks_like(lambda x, k, y: x[:, 1::k], "the columns kept are 1, k + 1, …: one too far."),
        looks_like(
            lambda x, k, y: x[:, k - 1 :: k], "the last of each k columns is kept, not the first."
        ),
        looks_like(
            lambda x, k, y: _of_vectors(x, k, 1),
            "the first elements of each vector are kept, not every k-th element.",
        ),
        looks_like(lambda x, k, y: _of_vectors(x, k, 2), "the step is 2 instead of k."),
    ],
)
