"""Puzzle week1/warp_prefix: prefix sums of 32 elements, by shuffles up."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _pieces(x):
    return torch.nn.functional.pad(x, (0, -len(x) % 32)).reshape(-1, 32)


def _prefix(x):
    return _pieces(x).cumsum(1).reshape(-1)[: len(x)]


def _inputs(draw, n):
    """Return numbers, with an ∞ in lanes 0 and 5 of two pieces of a long array."""
    x = draw.fractions(n)
    if n > 200:
        x[64] = x[165] = float("inf")
    return (x,)


def _wrapped(x):
    """Return the sums if a lane without a source adds its own value."""
    held = _pieces(x.double())
    for k in range(5):
        held = held + torch.cat([held[:, : 1 << k], held[:, : -(1 << k)]], 1)
    return held.reshape(-1)[: len(x)]


EXERCISE = puzzle(
    title="compute prefix sums of 32 elements",
    task="""
Cut an array of any length into pieces of 32 elements. `y[i]` is the sum of the elements from
the start of the piece through `x[i]`. The types are float32 and float16; add in float32. An
element may be ∞. With `shuffle_sync_up`, the first lanes receive their own values.

Signature: `warp_prefix(x, y)`.
""",
    hints=(
        "After a step with offset 1, a lane holds the sum of two elements, its own and its left "
        "neighbour's. Which offset makes it the sum of four?",
        "Use `shuffle_sync_up` with offsets 1, 2, 4, 8 and 16. What would the first lanes hold "
        "if they added the value that they receive?",
        "All lanes shuffle, but a lane adds only if its number is at least the offset: put the "
        "predicate around the addition, after the shuffle.",
    ),
    analysis="""
This is the scan of Hillis and Steele (1986). It takes log₂ n steps and n · log₂ n additions,
whereas a loop needs n additions. All lanes of a warp execute an addition together, so the
additional ones cost nothing. `06_practice` extends the scan to whole blocks and rows.
""",
    asked={"work": "one thread per element", "shuffles": 5, "shared_bytes": 0},
    entry="warp_prefix",
    inputs=_inputs,
    result=_prefix,
    sizes=[(5,), (1,), (32,), (1000,), (33,), (1025,), (2500,), (127,)],
    count=[(100,), (20_480,)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, y: x, "y is a copy of x: no sum reaches y."),
        looks_like(lambda x, y: _wrapped(x), "a lane without a source receives its own value, and this "
                   "kernel adds it."),
        looks_like(lambda x, y: _prefix(x) - x, "the element itself is missing from its sum."),
        looks_like(lambda x, y: _pieces(x).sum(1, keepdim=True).expand(-1, 32).reshape(-1)[: len(x)],
                   "each lane holds the sum of its whole piece, which is the result of a butterfly."),
        looks_like(lambda x, y: _pieces(x).flip(1).cumsum(1).flip(1).reshape(-1)[: len(x)], "these "
                   "are sums from the element to the end of its piece, as shuffles down compute them."),
    ],
)  # fmt: skip
