"""Puzzle week0/clamp: a small computation in float32, stored in another type."""

from __future__ import annotations

from typing import Any

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import Draw, puzzle

from ..practice import picture

PICTURE = picture(
    "low = -1, high = 2",
    {
        "x, float32": [["-2.5", "-1", "-0.3", "0.7", "1.9", "2.2", "7"]],
        "y, bfloat16": [["-1", "-1", "-0.3", "0.7", "1.9", "2", "2"]],
    },
    lambda text: 0 if text == "-1" else 1 if text == "2" else None,
)


def _inputs(draw: Draw, n: int) -> tuple[Any, ...]:
    return draw(n), draw.number(-1.0, -0.4), draw.number(0.2, 0.6)


def _clamped(x: torch.Tensor, low: float, high: float) -> torch.Tensor:
    return x.clamp(low, high).to(torch.bfloat16)


def _cut(x: torch.Tensor) -> torch.Tensor:
    """The upper half of each number's bits: bfloat16 by cutting, not by rounding."""
    return (x.view(torch.int32) >> 16).to(torch.int16).view(torch.bfloat16)


EXERCISE = puzzle(
    title="clamp and convert",
    task="""
`y[i]` is `x[i]`, but not below `low` and not above `high`, rounded to bfloat16. `x` is float32, `y`
is bfloat16, `low` and `high` are numbers. The host function is called as `clamp(x, low, high, y)`.
""",
    hints=(
        "Numbers are passed to a kernel as tensors are: `low: cutlass.Float32`. What does Python "
        "call the smaller of two numbers, and the larger?",
        "`min` and `max` work in a kernel. Which of the bounds belongs to which?",
        "In the one line that stores: the larger of x and low, the smaller of that and high, and "
        "last the conversion `.to(…)`, which a store into another type does not do by itself.",
    ),
    analysis="""
Six bytes an element where a float32 result would take eight: three quarters of the traffic, for a
conversion that is one instruction. Fusing what comes after a load into the kernel that loads anyway
is the cheapest speed-up there is. Clamping after the conversion gives the same numbers, since
rounding keeps the order; it costs one conversion more.
""",
    entry="clamp",
    given=PICTURE,
    inputs=_inputs,
    result=_clamped,
    exact=True,
    sizes=[(8,), (1,), (128,), (1000,), (2500,), (127,), (129,)],
    count=[(1000,), (100_003,)],
    misconceptions=[
        looks_like(lambda x, low, high, y: x.to(torch.bfloat16), "nothing is clamped."),
        looks_like(
            lambda x, low, high, y: x.clamp(min=low).to(torch.bfloat16),
            "only low is a bound: nothing is cut at high.",
        ),
        looks_like(
            lambda x, low, high, y: x.clamp(max=high).to(torch.bfloat16),
            "only high is a bound: nothing is cut at low.",
        ),
        looks_like(
            lambda x, low, high, y: torch.full_like(x, high).to(torch.bfloat16),
            "every element is high: min and max have changed places.",
        ),
        looks_like(
            lambda x, low, high, y: torch.full_like(x, low).to(torch.bfloat16),
            "every element is low: min and max have changed places.",
        ),
        looks_like(
            lambda x, low, high, y: _cut(x.clamp(low, high)),
            "the lower bits are cut off; a conversion rounds to the nearest bfloat16.",
        ),
        looks_like(
            lambda x, low, high, y: x.clamp(low, high).half().to(torch.bfloat16),
            "the value went through float16: it is rounded twice.",
        ),
    ],
)
