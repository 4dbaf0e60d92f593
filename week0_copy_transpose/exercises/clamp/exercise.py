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


def _at_half(x: torch.Tensor, above: int = 0) -> torch.Tensor:
    """Return the numbers halfway between two bfloat16 numbers, of which the lower is even if
    `above` is 1, and odd if it is -1; increase them by that many units of float32."""
    bits = x.view(torch.int32) & -(1 << 16 + abs(above))
    return (bits + 0x8000 + above + 0x10000 * (above < 0)).view(torch.float32)


def _inputs(draw: Draw, n: int) -> tuple[Any, ...]:
    """Return x and bounds on both sides of 0, both above 0, or both below. In long arrays, half of
    the elements are halfway between two bfloat16 numbers, and some are ±∞ or NaN. Some arrays and their
    bounds are very large."""
    x, low, high = draw(n), draw.number(-1.0, -0.4), draw.number(0.2, 0.6)
    low, high = _at_half(torch.tensor([low, high]), above=-1 if n % 2 else 1).tolist()
    if n > 100:
        x[::2] = _at_half(x[::2])
        x[17:100:50] = torch.nan
        x.view(torch.int32)[31:100:50] = 0x7FFFFFFF  # the NaN that GPUs generate
        x[24::50], x[43::50] = torch.inf, -torch.inf
        low, high = ((low, high), (high / 2, high), (low, low / 2))[n % 3]
    if n > 100 and n % 4 == 0:
        x, low, high = x * 2.0**120, low * 2.0**120, high * 2.0**120
    return x, low, high


def _clamped(x: torch.Tensor, low: float, high: float) -> torch.Tensor:
    return x.clamp(low, high).to(torch.bfloat16)


def _cut(x: torch.Tensor) -> torch.Tensor:
    """Return bfloat16 numbers by cutting off the lower half of the bits, without rounding."""
    return (x.view(torch.int32) >> 16).to(torch.int16).view(torch.bfloat16)


EXERCISE = puzzle(
    title="clamp and convert",
    task="""
Limit each element to the range from `low` to `high`, then round it to bfloat16. Before rounding,
`y[i]` is `low` where `x[i]` is less than `low`, `high` where it is greater than `high`, and `x[i]`
otherwise, so NaN stays NaN. `x` is float32, `y` is bfloat16, and `low` and `high` are numbers.
Signature: `clamp(x, low, high, y)`.
""",
    hints=(
        "A number is a parameter, just like a tensor; annotate it as in `low: cutlass.Float32`. "
        "Which Python functions return the smaller and the larger of two numbers?",
        "`min` and `max` work inside a kernel. Which of them applies `low`, and which applies "
        "`high`?",
        "A single line can compute and store: take the larger of x and low, then the smaller of "
        "that value and high, and convert the result with `.to(…)`. A store does not convert to "
        "another type by itself.",
    ),
    analysis="""
The kernel moves six bytes per element; with a float32 result it would move eight. So one conversion
instruction saves a quarter of the traffic. Moving such work into a kernel that loads the data
anyway is called **fusion**.
""",
    entry="clamp",
    given=PICTURE,
    inputs=_inputs,
    result=_clamped,
    exact=True,
    sizes=[(8,), (1,), (128,), (1000,), (2500,), (127,), (129,)],
    count=[(1000,), (100_003,)],
    misconceptions=[
        looks_like(
            lambda x, low, high, y: x.to(torch.bfloat16),
            "y is x, rounded: no element of this call is limited.",
        ),
        looks_like(
            lambda x, low, high, y: x.clamp(min=low).to(torch.bfloat16),
            "only low limits the values; those above high are stored as they are.",
        ),
        looks_like(
            lambda x, low, high, y: x.clamp(max=high).to(torch.bfloat16),
            "only high limits the values; those below low are stored as they are.",
        ),
        looks_like(
            lambda x, low, high, y: torch.full_like(x, high).to(torch.bfloat16),
            "every element equals high, as if min and max were swapped.",
        ),
        looks_like(
            lambda x, low, high, y: torch.full_like(x, low).to(torch.bfloat16),
            "every element equals low, as if min and max were swapped.",
        ),
        looks_like(
            lambda x, low, high, y: _cut(x.clamp(low, high)),
            "in this call, each result consists of the upper 16 bits of its value, without rounding to "
            "the nearest bfloat16.",
        ),
        looks_like(
            lambda x, low, high, y: x.clamp(low, high).half().to(torch.bfloat16),
            "in this call, each result equals its value rounded first to float16, then to bfloat16. "
            "Round only once.",
        ),
    ],
)
