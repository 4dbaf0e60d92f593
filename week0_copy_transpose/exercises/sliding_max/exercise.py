"""Puzzle week0/sliding_max: neighbours share their loads through a tile with a halo."""

import torch

from forgekit.lessons.gates import found, looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import coloured, halo_missing, loaded_once, picture

X = [3, -1, 4, -6, -5, -9, -2, -7]


def _max_of(x: torch.Tensor, width: int, beyond: float = -torch.inf) -> torch.Tensor:
    """Return the maximum of the `width` elements that begin at each element; `beyond` follows the
    last element."""
    longer = torch.cat((x, x.new_full((width - 1,), beyond)))
    return longer.unfold(0, width, 1).amax(-1)


_Y = _max_of(torch.tensor(X, dtype=torch.float32), 4).int().tolist()
PICTURE = picture(
    "the largest of four, or of those that exist",
    {
        "x": [coloured(X, {0: 0, 1: 0, 2: 0, 3: 0, 5: 1, 6: 1, 7: 1})],
        "y": [coloured(_Y, {0: 0, 5: 1})],
    },
)


def _values(draw, n):
    """Return numbers of all sizes, with ∞ in a long array; the last one is the largest of the others
    if n is odd, else minus infinity."""
    x = draw.integers(-99, 20, n)
    if n > 900:
        x[11::61] = torch.inf
    x[-2:] = 20 if n % 2 else -3.0e38
    x[-1:] = 30 if n % 2 else -torch.inf
    return x


EXERCISE = puzzle(
    title="find the largest of four neighbours",
    task="""
Let `y[i]` be the largest of `x[i]`, `x[i + 1]`, `x[i + 2]` and `x[i + 3]`, or of those that exist.
Each block must load its elements from global memory *once* and share them. Both tensors are
float32; elements may be infinite. Signature: `sliding_max(x, y)`.
""",
    hints=(
        "A block of 128 threads needs more than 128 elements of x. How many more does it need, "
        "and which threads load them?",
        "Where x has no element, shared memory must hold a value that is never the maximum. Which "
        "value is that? It is not 0, because all elements of x may be negative.",
        "Use a tile of 128 + 3 elements. Every thread stores its own element, and each of the "
        "first three threads also stores one element of the halo, 128 places further on. Past the "
        "end of x, store -cutlass.Float32.inf. After a barrier, read four elements of the tile.",
    ),
    analysis="""
Without shared memory, the kernel would load each element four times. With it, a block loads 131
elements for 128 results; the three extra elements are called the *halo*. The larger the tile, the
smaller the share of the halo. All 128 threads must reach the barrier, including those past the end
of x, so the predicates enclose only the loads and the store, not the whole body.
""",
    asked={"barriers": 1},
    entry="sliding_max",
    given=PICTURE,
    inputs=lambda draw, n: (_values(draw, n),),
    result=lambda x: _max_of(x, 4),
    exact=True,
    sizes=[(8,), (1,), (1000,), (128,), (2500,), (129,), (257,), (1024,)],
    count=[(1000,), (50_001,)],
    misconceptions=[
        looks_like(lambda x, y: x, "in this call, y is equal to x."),
        looks_like(lambda x, y: _max_of(x, 3), "each result is the largest of three elements."),
        looks_like(lambda x, y: _max_of(x, 5), "each result is the largest of five elements."),
        looks_like(
            lambda x, y: _max_of(x.flip(0), 4).flip(0),
            "each result is the largest of x[i] and the three elements *before* it.",
        ),
        looks_like(
            lambda x, y: _max_of(x, 4, 0.0),
            "in this call, y is the result of a 0 past the end of x, and 0 is larger than any "
            "negative number. Use minus infinity.",
        ),
        halo_missing(lambda e: 3),
        found(
            "shared-race",
            "a thread reads an element that another may not have stored yet.",
            text=" reads shared memory",
        ),
        found(
            "shared-race",
            "a thread overwrites an element that another may not have read yet.",
            text=" writes shared memory",
        ),
    ],
    more=lambda make: (loaded_once(make, (1000,), (2500,)),),
)
