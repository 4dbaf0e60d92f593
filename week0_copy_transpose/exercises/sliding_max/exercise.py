"""Puzzle week0/sliding_max: neighbours share what they load; a tile with a halo."""

import torch

from forgekit.lessons.gates import found, looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import coloured, halo_missing, picture

X = [3, -1, 4, -6, -5, -9, -2, -7]


def _max_of(x: torch.Tensor, width: int, beyond: float = -torch.inf) -> torch.Tensor:
    """Return the largest of `width` elements from each one on; `beyond` follows the last one."""
    longer = torch.cat((x, x.new_full((width - 1,), beyond)))
    return longer.unfold(0, width, 1).amax(-1)


_Y = _max_of(torch.tensor(X, dtype=torch.float32), 4).int().tolist()
PICTURE = picture(
    "the largest of four, or of what is left",
    {
        "x": [coloured(X, {0: 0, 1: 0, 2: 0, 3: 0, 5: 1, 6: 1, 7: 1})],
        "y": [coloured(_Y, {0: 0, 5: 1})],
    },
)


def _values(draw, n):
    """Return numbers of all sizes; the last ones win against nothing but minus infinity."""
    x = draw.integers(-99, 20, n)
    x[-2:] = -3.0e38
    x[-1:] = -torch.inf
    return x


EXERCISE = puzzle(
    title="the largest of four neighbours",
    task="""
`y[i]` is the largest of `x[i]`, `x[i + 1]`, `x[i + 2]` and `x[i + 3]`, or of as many of them as
exist. Each block loads its elements from global memory *once* and shares them. Both tensors are
float32. Signature: `sliding_max(x, y)`.
""",
    hints=(
        "A block of 128 threads needs more than 128 elements of x. How many more, and which "
        "threads load them?",
        "Which value can shared memory hold where x has no element, so that it is never the "
        "maximum? Not 0: all of x may be negative.",
        "Use a tile of 128 + 3 elements. Every thread stores its element; the first three also "
        "store one element of the halo, 128 places further on. Store -cutlass.Float32.inf past "
        "the end of x. After a barrier, read four elements of the tile.",
    ),
    analysis="""
Without shared memory the kernel would load each element four times. With it, a block loads 131
elements for 128 results; the three extra elements are the *halo*. In a larger tile the halo is a
smaller share. All 128 threads must reach the barrier, including those past the end of x, so the
predicates enclose the loads and the store, not the whole body.
""",
    asked={"barriers": 1},
    entry="sliding_max",
    given=PICTURE,
    inputs=lambda draw, n: (_values(draw, n),),
    result=lambda x: _max_of(x, 4),
    exact=True,
    sizes=[(8,), (1,), (1000,), (128,), (2500,), (129,), (257,)],
    count=[(1000,), (50_001,)],
    misconceptions=[
        looks_like(lambda x, y: x, "y holds x: nothing is compared."),
        looks_like(lambda x, y: _max_of(x, 3), "that is the largest of three."),
        looks_like(lambda x, y: _max_of(x, 5), "that is the largest of five."),
        looks_like(
            lambda x, y: _max_of(x.flip(0), 4).flip(0),
            "that is the largest of x[i] and the three *before* it.",
        ),
        looks_like(
            lambda x, y: _max_of(x, 4, 0.0),
            "0 takes part past the end of x and wins against negative numbers. Minus infinity "
            "never wins.",
        ),
        halo_missing(3),
        found(
            "shared-race", "a thread reads an element that its neighbour may not have stored yet."
        ),
    ],
)
