"""Puzzle week1/compensated: Kahan's sum, a thread a row."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _plain(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(len(x))
    for n in range(x.shape[1]):
        total = total + x[:, n]
    return total


def _inputs(draw, m, n):
    x = draw(m, n).abs() + 0.1
    x[::2, 0] = 30_000.0  # every number after it loses digits
    return (x,)


EXERCISE = puzzle(
    title="keep what rounding loses",
    task="""
Sums of rows in float32, compensated: the result is to be within 2⁻²³ of the exact sum,
relatively, where the sum one by one is off by far more. Keep the part that an addition has lost in a
second variable and add it to the next number. (`compensated(x, y)`.)
""",
    hints=(
        "Two variables live through the loop: the sum, and what is still to be added.",
        "With `s = total + value`, what `s` has of `value` is `s - total`.",
        "Before it is added, each element of the row gets what the addition before it has lost; the "
        "line after the addition computes again what is lost now.",
    ),
    analysis="""
Four operations an element in place of one, and no more bytes: while a kernel waits for memory, that
is nearly free. The compiler must not simplify `b - (s - a)` to 0, which is true of real numbers and
not of these; CuTe DSL leaves the order of floating-point operations as you wrote it.
""",
    asked={"work": "one thread per row"},
    entry="compensated",
    inputs=_inputs,
    result=lambda x: x.sum(1),
    sizes=[(2, 3), (1, 1), (3, 31), (5, 1025), (2, 4001), (33, 100), (7, 129)],
    count=[(40, 50), (300, 200)],
    rtol=2.0**-23,
    atol=0.0,
    misconceptions=[
        looks_like(lambda x, y: _plain(x), "this is the sum one by one: what is lost is not kept, or "
                   "not added."),
    ],
    praise="Rounding took it, and you took it back.",
)  # fmt: skip
