"""Puzzle week2/log2_softmax: weights in bits, without computing a weight."""

import math

import torch

from forgekit.lessons.gates import Misconception, looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..in_registers import ARITHMETIC, EXPONENTIALS, arithmetic
from ..rows import hard_rows

LN_2 = math.log(2)


def _log2_softmax(x):
    return x.log_softmax(1) / LN_2


def _scaled(x):
    return x.double() / LN_2


def _natural_sum(x, y):
    t = _scaled(x) - _scaled(x).amax(1, keepdim=True)
    return t - t.exp2().sum(1, keepdim=True).log()


def _with_zeros(x, y):
    return _log2_softmax(torch.nn.functional.pad(x.double(), (0, 1024 - x.shape[1])))[
        :, : x.shape[1]
    ]


def _own_sums(x, y):
    t = _scaled(x) - _scaled(x).amax(1, keepdim=True)
    lane = torch.arange(x.shape[1]) % 32
    sums = torch.zeros(len(x), 32, dtype=torch.float64).index_add(1, lane, t.exp2())
    return t - sums[:, lane].log2()


def _too_low(e):
    """Return True if each wrong element is -inf and its weight is below float32's range."""
    got, want = e.got[1], e.case.expected[1]
    low = got.isneginf() & want.isfinite() & (want < -126)
    wrong = ~torch.isclose(got.double(), want, rtol=1e-3, atol=1e-3, equal_nan=True)
    return bool(low.any() and (low == wrong).all())


def _inputs(draw, m, n):
    x = hard_rows(draw, m, n, masked=True)
    return (torch.where(x < -1e6, x, x * (1 + 19 * (m % 2))),)


EXERCISE = puzzle(
    title="write weights in bits",
    task="""
Compute `y[m, n] = log₂(softmax(x)[m, n])`, which is −3 for a weight of 1/8, for rows of any length up to 1,024.
Support float32 and float16; compute in float32. A weight of 2⁻¹⁰⁰⁰ does not fit into a `float32`, but −1000
does, so compute no weight along the way. A lane can hold its 32 elements in registers; read and write each
element once. Where x is −∞, so is y, but a row of −∞ gives NaN, as in torch. Each element may take a maximum,
one FMA, one `ex2` and two additions. Signature: `log2_softmax(x, y)`.
""",
    hints=(
        "log₂(a / b) = log₂ a − log₂ b. What is log₂ of an exponential that is written as a power of two?",
        "The exponent t = (x − m) · log₂ e, one FMA, is already log₂ of the numerator: keep it. "
        "The sum adds 2^t over the row.",
        "The last line is `t - …`. It subtracts one logarithm per row, `cute.math.log2(s, fastmath=True)`, computed after the shuffles.",
    ),
    analysis="""
The kernel takes five operations per element, as many as the softmax itself. The rounding error of m · log₂ e is
the same in every t *and* in log₂ s, so it cancels here as well. Natural logarithms would need one more
multiplication per element, by ln 2; a loss reported in bits does without it.
""",
    asked={"work": "one warp per row"},
    entry="log2_softmax",
    inputs=_inputs,
    result=_log2_softmax,
    sizes=[(2, 4), (1, 1), (5, 33), (3, 1024), (10, 127), (9, 31)],
    count=[(5, 100), (40, 1000)],
    legal=lambda m, n: (m, min(1024, n)),
    dtypes=("float32", "float16"),
    waste={"instructions": 2},
    misconceptions=[
        looks_like(lambda x, y: x.double().log_softmax(1), "the logarithm is the natural one: it is to the base e."),
        looks_like(lambda x, y: x.double().softmax(1), "the values are the weights, not their logarithms."),
        Misconception("there is -∞ where a finite logarithm belongs. It is log₂ of 0, and a weight below the "
                      "smallest float32 becomes 0 when it is computed.", _too_low),
        looks_like(lambda x, y: _scaled(x) - _scaled(x).amax(1, keepdim=True), "log₂ of the row's sum is missing, or 0: "
                   "the largest element is 0."),
        looks_like(_natural_sum, "the natural logarithm of the sum is subtracted from exponents to the base 2."),
        looks_like(lambda x, y: (x.double() * LN_2).log_softmax(1) / LN_2, "the exponents are x − m, so log₂ e is "
               "missing: the weights are those of powers of two."),
        looks_like(_with_zeros, "missing elements are treated as a finite number, such as 0, instead of −∞."),
        looks_like(_own_sums, "the values are those of lanes that each subtract the logarithm of their own sum, not of the row's."),
    ],
    more=lambda make: (read_at_most(make, (5, 1000), {0: 1}), arithmetic(make, (4, 1024), (ARITHMETIC, "float operations per element", 6.1),
                     (EXPONENTIALS, "exponentials per element", 1.1), look_at="fk.profile(*{failed})"),),
    praise="The kernel computes no weight along the way.",
)  # fmt: skip
