"""Puzzle week0/every_kth: when a vector of 16 bytes pays although part of it is thrown away."""

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
    k = 1 << max(1, min(5, k.bit_length() - 1))
    whole = max(k, 8)
    return m, -(-n // whole) * whole, k


def _of_vectors(x: torch.Tensor, k: int, step: int) -> torch.Tensor:
    """Of each 16 bytes as many as are to be kept, `step` apart."""
    vec = 16 // x.element_size()
    pieces = x.reshape(len(x), -1, vec)[:, :, : step * (vec // k) : step]
    return pieces.reshape(len(x), -1)


EXERCISE = puzzle(
    title="keep every k-th column",
    task="""
`y[i, c] = x[i, c * k]`: `x` has M rows of N, `y` has N / k columns. `k` is a power of two from 2
on, known when the kernel is compiled; N is a multiple of k and of 8. The host function is called as
`every_kth(x, k, y)`, with float16 and float32.
""",
    hints=(
        "How many elements has a vector of 16 bytes, and how many of them are kept? From which k "
        "on is it a single one?",
        "`k` is a `cutlass.Constexpr`: an `if` with `cutlass.const_expr(…)` chooses the kernel "
        "while it is compiled. The grid has to follow, too.",
        "`zipped_divide` cuts x into pieces of `(1, vec)` and y into `(1, vec // k)`; a thread "
        "copies its piece into registers, picks every k-th, and stores these as one vector, or "
        "stores come in as many pieces. With k from vec on, one element a thread.",
    ),
    analysis="""
The sectors are the same either way: of 32 bytes, the ones kept and the ones not come together. What
a vector saves are requests, four times as many elements at once for float16 and k = 2. From k = 8
on it saves nothing, and once k is larger than a sector, loading whole rows would double the bytes.
Where to compute with vectors is a question of bytes, and the compiler can answer it per type.
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
    count=[(24, 512, 2), (40, 960, 32)],
    dtypes=("float16", "float32"),
    legal=_legal,
    promise=lambda m, n, k: {0: {1: 8}, 2: {1: max(8 // k, 1)}},
    waste={"threads": 4},
    misconceptions=[
        looks_like(
            lambda x, k, y: x[:, : y.shape[1]], "the first columns are kept, not every k-th."
        ),
        looks_like(lambda x, k, y: x[:, 1::k], "the columns kept are 1, k + 1, …: one too far."),
        looks_like(lambda x, k, y: x[:, k - 1 :: k], "the last of each k is kept, not the first."),
        looks_like(
            lambda x, k, y: _of_vectors(x, k, 1),
            "the first elements of each vector are kept, not every k-th of it.",
        ),
        looks_like(lambda x, k, y: _of_vectors(x, k, 2), "2 stands where k belongs."),
    ],
)
