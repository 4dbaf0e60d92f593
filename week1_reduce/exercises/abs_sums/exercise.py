"""Puzzle week1/abs_sums: vectors and a remainder, for a tensor of any length."""

import torch

from forgekit.lessons.gates import Misconception, looks_like
from forgekit.lessons.puzzle import puzzle

PIECE = 1024


def _sums(x: torch.Tensor) -> torch.Tensor:
    """Return the sum of each piece of 1,024 elements; the last piece may be shorter."""
    return torch.stack([piece.abs().sum() for piece in x.split(PIECE)])


def _whole_vectors(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    vec = 16 // x.element_size()
    kept = x.double().clone()
    kept[len(x) // vec * vec :] = 0
    return _sums(kept)


def _inputs(draw, n):
    """Return random numbers. For even n, every eighth number is so large that adding a small one
    does not change it in float16. For odd n above 2,048, a piece has a number whose square
    overflows, and another piece has -∞; the last element is one of the two."""
    if n % 2:
        x = draw(n)
        if n > 2 * PIECE:
            x[PIECE // 2] = -30_000.0 if draw.dtype == torch.float16 else -1e25
            x[PIECE + 1] = -torch.inf
            x[-1] = x[PIECE // 2] if n % 4 == 1 else -torch.inf
        return (x,)
    x = draw(n) * 0.06
    x[::8] = draw.integers(256, 384, -(-n // 8)) * x[::8].sign()
    return (x,)


def _load_past_the_end(e):
    return "out-of-bounds" in e.kinds and "reads mX" in e.text and "past the tensor's end" in e.text


EXERCISE = puzzle(
    title="add up absolute values for any length",
    task="""
Cut `x`, of any length n, into pieces of 1,024 elements; the last piece may be shorter. `y[p]`
is the sum of the absolute values in piece `p`, in float32 and float16. Elements may be infinite. Add in float32. The last
`n % vec` elements do not fill a 16-byte vector of `vec` elements, so load them one by one.

Signature: `abs_sums(x, y)`.
""",
    hints=(
        "Begin with the whole vectors: a piece has `1024 // vec` of them, and x has `n // vec`. "
        "Lane 0 takes vectors 0, 32, 64, … of its piece.",
        "Then `n % vec` elements are left, from element `n // vec * vec` on. Which piece does an element "
        "belong to?",
        "Without a condition, every warp would add the tail. On the line before the addition, "
        "test that the element exists *and* lies in this warp's piece. `cute.math.absf` returns "
        "an absolute value; so does the larger of `value` and `-value`.",
    ),
    analysis="""
One scalar load follows the vectors, and only one warp executes it. A lane without an element adds
0: the identity belongs to the operator that combines values, not to the function that you apply to
each value.
""",
    asked={"work": "one warp per 1,024 elements", "load_bytes": 16},
    entry="abs_sums",
    inputs=_inputs,
    result=_sums,
    sizes=[(16,), (1,), (1000,), (1025,), (1024,), (1026,), (1031,), (1030,), (5000,), (1023,), (2055,)],
    count=[(100,), (40_003,)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, y: torch.stack([p.double().sum() for p in x.split(PIECE)]),
                   "the kernel adds the elements with their signs."),
        looks_like(_whole_vectors, "in this call, no lane adds the elements after the last whole vector."),
        Misconception("a load reaches past the end: whole vectors have the indices 0 to n // vec - 1, "
                      "and the remaining elements begin at index n // vec * vec.", _load_past_the_end),
    ],
    praise="Any length, and nothing left over.",
)  # fmt: skip
