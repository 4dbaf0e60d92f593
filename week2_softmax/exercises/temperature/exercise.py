"""Puzzle week2/temperature: softmax of x / t, with everything folded into one FMA."""

import math
from dataclasses import replace

import torch

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..in_registers import ARITHMETIC, DIVISIONS, arithmetic
from ..rows import hard_rows

T = (2765 / 512, 2.0, 1.0, 0.5)  # the first one is not exact in 16 bits
FAR = {24: 2.0**-7, 520: 2.0**12}  # t of rows with this many elements


def _inputs(draw, m, n):
    """Return hard rows and t. low: rounding x / t may be right, but at -20,000 its error would be
    too large. Equal elements may be farther below 0 if x / t is exact."""
    x, t = hard_rows(draw, m, n, masked=True, low=1000, spread=False), T[(m + n // 8) % 4]
    t = FAR.get(n, t)
    x[3::5, 2 * n // 3] += 200 * t  # far above the maximum of the lower half of the lanes
    if t != T[0]:
        x[4::5] = -(2.0**127) * min(t, 1)
    if n in FAR:  # weights of ordinary size in the first row
        x[0] = (draw(1, n)[0].float() * 3 * t).where(x[0].isfinite(), -torch.inf)
    return x, t


def _unfused(x, t, y):
    """Round each x · log₂ e / t to float32 before the subtraction."""
    factor = torch.tensor(math.log2(math.e)) / t
    scaled = x.float() * factor
    e = (scaled - scaled.amax(1, keepdim=True)).double().exp2()
    return e / e.sum(1, keepdim=True)


def _no_maximum(x, t, y):
    e = (x.float() / t).exp()
    return e / e.sum(1, keepdim=True)


def _with_zeros(x, t, y):
    n = x.shape[1]
    return (torch.nn.functional.pad(x.double(), (0, 1024 - n)) / t).softmax(1)[:, :n]


EXERCISE = puzzle(
    title="divide by a temperature for free",
    task="""
Compute `y = softmax(x / t)` of each row for a number t > 0, the *temperature*: a small t sharpens the weights, and a large t evens them out. Rows have up to 1,024 elements; N is a multiple of 8. Support float32 and bfloat16; compute in float32. Some elements are −∞; a row of −∞ gives NaN, as in torch. Keep the row in registers; read and write it once. Each element may take a maximum, **one FMA, one `ex2`**, an addition and a multiplication, but no division, so t adds no cost. You may use this notebook's `exp2` and `fma`.
Signature: `temperature(x, t, y)`.
""",
    hints=(
        "Write e^((x − m) / t) as a power of two. Which factors of the exponent are the same for the whole row?",
        "One factor combines t and log₂ e, and the subtracted number is the other constant; compute each of them once. The maximum uses x as loaded, because dividing by t > 0 does not change which element is largest.",
        "The line with the exponentials is `exp2(fma(x, …, …))`. The line before it computes both constants, with the only division by t. Compute the reciprocal of the sum once per row.",
    ),
    analysis="""
An FMA scales the exponent by a constant for free: attention's softmax, with its factor 1/√d, takes exactly as
many instructions per element as a softmax without it. All elements of a row share the rounding error of
m · log₂ e / t, so dividing by the sum cancels it. With a separate product, each x · log₂ e / t would be rounded
before the subtraction, and rows around 1,000 would reveal it.
""",
    asked={"work": "one warp per row", "load_bytes": 16, "store_bytes": 16, "shared_bytes": 0},
    entry="temperature",
    inputs=_inputs,
    result=lambda x, t: (x / t).softmax(1),
    sizes=[(5, 16), (3, 256), (2, 24), (10, 1024), (7, 1000), (1, 16), (6, 24), (3, 232), (6, 520), (1, 8)],
    count=[(5, 256), (40, 1000)],
    dtypes=("float32", "bfloat16"),
    waste={"instructions": 2},
    legal=lambda m, n: (m, min(1024, max(8, n // 8 * 8))),
    promise={0: {1: 8}, 2: {1: 8}},
    misconceptions=[
        looks_like(lambda x, t, y: x.double().softmax(1), "the values are the softmax of x: t has no effect."),
        looks_like(lambda x, t, y: (x.double() * t).softmax(1), "x is multiplied by t."),
        looks_like(lambda x, t, y: (x.double() / t * 0.6931471805599453).softmax(1), "the exponentials are 2^(x / t) instead of e^(x / t): "
                   "log₂ e is missing."),
        looks_like(lambda x, t, y: x.double().softmax(1) / t, "the weights are divided by t, not x."),
        looks_like(_with_zeros, "missing elements are treated as a finite number, such as 0, instead of −∞."),
        looks_like(_no_maximum, "nothing is subtracted, or a maximum that is not divided by t: the exponentials of a row around 1,000 are infinite, and "
                   "those of a row around -1,000 are all 0."),
        looks_like(_unfused, "x · log₂ e / t is rounded for each element separately, before the maximum is subtracted: "
                   "where x is large, the error is large, and it stays in the exponent."),
    ],
    more=lambda make: (
        read_at_most(make, (5, 1000), {0: 1}),
        *(replace(arithmetic(make, (8, 1024), (DIVISIONS, "divisions per element", 0.1),
                             (ARITHMETIC, "float operations per element", 5.8), dtype=dtype,
                             look_at="fk.profile(*{failed})"), name=f"Arithmetic in {dtype}")
          for dtype in ("float32", "bfloat16")),
    ),
    praise="Your temperature costs nothing.",
)  # fmt: skip
