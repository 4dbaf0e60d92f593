"""Puzzle week0/window: two predicates, one for what is written and one for what is read."""

from collections.abc import Sequence

import torch

from forgekit.lessons.gates import Evidence, Misconception, looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import picture


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
    """Which elements of the window x has."""
    return _window(torch.ones_like(x), top, left, size) > 0


def _outside(e: Evidence) -> dict[str, bool]:
    """Where x was left, by all threads that left it; empty where y and x of a thread are not shown
    to be the row and the column of the window."""
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
`y[i, j] = x[top + i, left + j]`. The window may hang over any edge of `x`: where `x` has no such
element, `y` is 0. `top` and `left` are numbers, and they may be negative. The host function is
called as `window(x, top, left, y)`; the window is as large as `y`.
""",
    hints=(
        "Two questions, not one: is there such an element of y? Is there such an element of x?",
        "A thread whose element of x is missing still has to store something. Which of the two "
        "predicates covers the store?",
        "Begin with a value of 0 in y's type, overwrite it where x has the element (four "
        "comparisons, for an index can be too small as well), and store it in every thread that "
        "has an element of y.",
    ),
    analysis="""
This is how a convolution pads and how a tile is loaded with its halo: the load has a predicate of
its own, and what is not there is a zero that is never read from memory. A window that does not
begin at a multiple of 8 elements costs a fifth sector each request; there is no way around that.
""",
    entry="window",
    given=PICTURE,
    inputs=lambda draw, m, n, top, left: (draw.places(m, n), top, left),
    result=_window,
    exact=True,
    sizes=[
        (4, 6, 2, 3),
        (4, 6, -1, -2),
        (7, 5, 9, 0),
        (1, 1, 0, 0),
        (70, 66, 3, 30),
        (33, 129, -5, 90),
        (20, 70, 12, -3),
        (3, 5, -9, -10),
    ],
    count=[(40, 100, 5, 8), (300, 500, 77, 131)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(
            lambda x, top, left, y: x[: y.shape[0], : y.shape[1]],
            "the window is cut at (0, 0): top and left are not added.",
        ),
        looks_like(
            lambda x, top, left, y: _window(x, left, top), "top and left have changed places."
        ),
        looks_like(lambda x, top, left, y: _window(x, -top, -left), "top and left are subtracted."),
        looks_like(
            lambda x, top, left, y: _window(x, top, left).masked_fill(
                ~_inside(x, top, left), float("nan")
            ),
            "what is never written is just what x does not have: the predicate of x's element "
            "must not keep the thread from storing its 0.",
            unstored=True,
        ),
        looks_like(
            lambda x, top, left, y: _window(x, top, left).masked_fill(
                ~_inside(x[: y.shape[0], : y.shape[1]], top, left, y.shape), 0
            ),
            "row and column of x are compared with the size of y; x has its own.",
        ),
        _leaves("above", "rows above the first of x are let through: `top` may be negative."),
        _leaves(
            "before",
            "columns before the first of x are let through: `left` may be negative. "
            "In the rows below, such a thread reaches into the row above its own.",
        ),
        _leaves("below", "rows below the last of x are let through."),
        _leaves(
            "behind",
            "columns behind the last of x are let through. In the rows above, such a "
            "thread reaches into the next row.",
        ),
        _leaves("anywhere", "x has its own edges: the load needs a predicate of its own."),
    ],
)
