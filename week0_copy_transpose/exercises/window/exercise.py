"""Puzzle week0/window: one predicate for the store, another for the load."""

from collections.abc import Sequence

import torch

from forgekit.lessons.gates import Evidence, Misconception, looks_like
from forgekit.lessons.puzzle import Draw, puzzle

from ..practice import limited, picture, special


def _window(
    x: torch.Tensor, top: int, left: int, size: Sequence[int] | None = None
) -> torch.Tensor:
    larger = top < -8 and left < -8  # then the window is larger than x, on all sides
    rows, columns = size or (n + 40 if larger else n // 2 + 1 for n in x.shape)
    i, j = torch.arange(rows) + top, torch.arange(columns) + left
    there = ((i >= 0) & (i < len(x)))[:, None] & ((j >= 0) & (j < x.shape[1]))
    cut = x[i.clamp(0, len(x) - 1)][:, j.clamp(0, x.shape[1] - 1)]
    return cut.masked_fill(~there, 0)


def _inside(
    x: torch.Tensor, top: int, left: int, size: Sequence[int] | None = None
) -> torch.Tensor:
    """Return True for each element of the window that is inside x."""
    return _window(torch.ones_like(x), top, left, size) > 0


def _outside(e: Evidence) -> dict[str, bool]:
    """Return the sides on which all threads left x; empty unless each thread's y and x are a row
    and a column of the window."""
    o = e.error.overrun if e.error is not None else None
    x, top, left, _ = e.case.args
    if o is None or o.shape != tuple(x.shape):
        return {}
    row, column = o.places[:, 1] + top, o.places[:, 0] + left
    if (row * x.shape[1] + column != o.numbers).any():
        return {}
    above, below = row < 0, row >= x.shape[0]
    before, behind = column < 0, column >= x.shape[1]
    every = {"above": above, "below": below, "before": before, "behind": behind}
    return {name: bool(found.all()) for name, found in every.items()} | {
        "anywhere": bool((above | below | before | behind).all())
    }


def _leaves(where: str, says: str) -> Misconception:
    return Misconception(says, lambda e: _outside(e).get(where, False))


def _inputs(draw: Draw, m: int, n: int, top: int, left: int) -> tuple[torch.Tensor, int, int]:
    """Return places; in a large matrix, the corners are ∞, which no factor of 0 removes."""
    x = special(draw.places(m, n))
    if m * n > 100:
        x[:: max(m - 1, 1), :: max(n - 1, 1)] = torch.inf
    return x, top, left


_X = torch.arange(1, 25).reshape(4, 6)
_Y = _window(_X, 2, 3)
PICTURE = picture(
    "top = 2, left = 3",
    {name: [[str(v) for v in row] for row in t.tolist()] for name, t in (("x", _X), ("y", _Y))},
    lambda text: 0 if int(text) and (int(text) == _Y).any() else None,
)

EXERCISE = puzzle(
    title="cut a window out of a matrix",
    task="""
Compute `y[i, j] = x[top + i, left + j]` in float32 and float16. The window is as large as `y`, has at most 65,535
rows, and may extend past any edge of `x`. Store 0 where `x` has no such element. `top` and `left` are integers and may be
negative. Elements may be infinite. Signature: `window(x, top, left, y)`.
""",
    hints=(
        "The kernel must answer two questions. Does this element of y exist? Does the "
        "corresponding element of x exist?",
        "A thread without an element of x must still store something. Which of the two "
        "predicates covers the store?",
        "Start with a 0 of y's type and overwrite it where x has the element. This test takes four "
        "comparisons, because an index can also be too small. Then every thread that has an "
        "element of y stores its value.",
    ),
    analysis="""
Convolutions pad their input in this way. The load has its own predicate, and elements outside the
input become zeros without any read from memory. If the window does not begin at a multiple of 8
elements, each load request fetches a fifth sector.
""",
    entry="window",
    given=PICTURE,
    inputs=_inputs,
    result=_window,
    exact=True,
    sizes=[
        (4, 6, 2, 3),
        (4, 6, -1, -2),
        (7, 5, 9, 0),
        (1, 1, 0, 0),
        (70, 66, 3, 30),
        (33, 129, -5, 90),
        (4200, 3, 30, 1),
        (3, 4200, 0, 300),
        (6, 7, 65_537, 1),
        (6, 7, 1, 65_538),
        (20, 70, 12, -3),
        (420, 3, -130, -1),
        (3, 5, -9, -10),
    ],
    count=[(30, 480, 5, 8), (200, 2060, 77, 131), (100, 510, 75, -128)],
    dtypes=("float32", "float16"),
    legal=lambda m, n, top, left: (
        *limited(m, n),
        (top + m) % (2 * m) - m,
        (left + n) % (2 * n) - n,
    ),
    misconceptions=[
        looks_like(
            lambda x, top, left, y: x[: y.shape[0], : y.shape[1]],
            "in this call, the window begins in row 0 and column 0 of x instead of row `top` and "
            "column `left`.",
        ),
        looks_like(
            lambda x, top, left, y: _window(x, left, top),
            "in this call, y[i, j] is x[left + i, top + j]: top and left are swapped.",
        ),
        looks_like(
            lambda x, top, left, y: _window(x, -top, -left),
            "in this call, y[i, j] is x[i - top, j - left]: top and left have the wrong sign.",
        ),
        looks_like(
            lambda x, top, left, y: _window(x, top, left).masked_fill(
                ~_inside(x, top, left), float("nan")
            ),
            "the elements that are never stored are exactly those that x lacks. The predicate of "
            "the load must not prevent the thread from storing 0.",
            unstored=True,
        ),
        looks_like(
            lambda x, top, left, y: _window(x, top, left).masked_fill(
                ~_inside(x[: y.shape[0], : y.shape[1]], top, left, y.shape), 0
            ),
            "in this call, y is the result of comparing the row and column in x with the size of y "
            "instead of that of x.",
        ),
        _leaves(
            "above",
            "`top` may be negative, and then the predicate admits rows above the first row of x.",
        ),
        _leaves(
            "before",
            "`left` may be negative, and then the predicate admits columns to the left of the "
            "first column of x. In every row but the first, such a thread reads from the row above.",
        ),
        _leaves("below", "the predicate admits rows below the last row of x."),
        _leaves(
            "behind",
            "the predicate admits columns to the right of the last column of x. In every row but "
            "the last, such a thread reads from the next row.",
        ),
        _leaves(
            "anywhere", "x has its own edges: the predicate of the load has to check all four."
        ),
    ],
)
