"""Puzzle week0/window: two predicates, one for what is written and one for what is read."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import numbers, picture


def _window(x: torch.Tensor, top: int, left: int) -> torch.Tensor:
    rows, columns = (n // 2 + 1 for n in x.shape)
    y = torch.zeros(rows, columns, dtype=x.dtype)
    for i in range(rows):
        for j in range(columns):
            if 0 <= top + i < x.shape[0] and 0 <= left + j < x.shape[1]:
                y[i, j] = x[top + i, left + j]
    return y


def _inside(x: torch.Tensor, top: int, left: int) -> torch.Tensor:
    """Which elements of the window x has."""
    return _window(torch.ones_like(x), top, left) > 0


_X = torch.arange(1, 25).reshape(4, 6)
_Y = _window(_X, 2, 3)
PICTURE = picture(
    "top = 2, left = 3",
    {name: [[str(v) for v in row] for row in t.tolist()] for name, t in (("x", _X), ("y", _Y))},
    lambda text: 0 if int(text) and (_Y == int(text)).any() else None,
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
    sizes=[(4, 6, 2, 3), (4, 6, -1, -2), (7, 5, 9, 0), (1, 1, 0, 0), (70, 66, 3, 30),
           (33, 129, -5, 90), (20, 70, 12, -3)],
    count=[(40, 100, 5, 8), (300, 500, 77, 131)],
    dtypes=("float32", "float16"),
    slips=[
        looks_like(
            lambda x, top, left, y: x[: y.shape[0], : y.shape[1]],
            "the window is cut at (0, 0): top and left are not added.",
        ),
        looks_like(
            lambda x, top, left, y: _window(x, left, top), "top and left have changed places."
        ),
        looks_like(
            lambda x, top, left, y: _window(x, -top, -left), "top and left are subtracted."
        ),
        looks_like(
            lambda x, top, left, y: _window(x, top, left).masked_fill(~_inside(x, top, left), float("nan")),
            "what is never written is just what x does not have: the predicate of x's element "
            "must not keep the thread from storing its 0.",
        ),
    ],
)
