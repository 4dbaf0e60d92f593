"""Puzzle week2/layer_norm: mean and variance of a row in registers, without cancellation."""

import torch

from forgekit.lessons.gates import Misconception, looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

EPS = 1e-5


def _inputs(draw, m, n):
    """Return numbers of about 1000 ± 4, for which float32 has seven digits, equal ones, of about 0 ± 0.004, whose
    variance is near eps, or of about -3000 ± 16 (beside a 0 in float16), and an eps that is negligible, very small or does not fit
    in 16 bits."""
    x = draw(m, n) * 4 + 1000
    x[1::4] = (x[1::4] - 1000) / 1000
    x[2::4] = (draw(m, 1)[2::4] * 300 + 1000).round().clamp(-2048, 2048)  # exact in float16
    x[3::4] = x[3::4] * 4 - 7000
    if draw.dtype == torch.float16:
        x[3::4, 0] = 0.0  # 3000 from the mean: float16 does not have the square
    return x, draw(n) + 1, draw(n), (EPS, 33 + 2**-6, EPS, 1e-7)[n % 4]


def _norm(x, w, b, eps, *, of=None, more=0.0, centre=True):
    """Compute the norm in float64. of: the divisor of the sum of squares; more: the number of
    registers without an element that the sum includes as 0 - mean; centre: subtract the mean at the
    end."""
    x, w, b = x.double(), w.double(), b.double()
    mean = x.mean(1, keepdim=True)
    squares = (x - mean).square().sum(1, keepdim=True) + more * mean.square()
    scale = (squares / (of or x.shape[1]) + eps).rsqrt()
    return (x - mean if centre else x) * scale * w + b


_empty_registers = looks_like(
    lambda x, w, b, eps, y: _norm(x, w, b, eps, more=1024 - x.shape[1]), ""
)


def _beside_bias(e):
    """Return True unless the result is close to the bias alone, as for a large variance."""
    return bool((e.got[4].double() - e.case.args[2].double()).abs().amax() > 1e-3)


def _eps_outside(x, w, b, eps):
    x = x.double() - x.double().mean(1, keepdim=True)
    return x / (x.square().mean(1, keepdim=True).sqrt() + eps) * w.double() + b.double()


def _scaled(e):
    """Return True if each row is x - mean times its own wrong number, or NaN."""
    got, (x, w, b, *_) = e.got[4].double(), e.case.args
    centred = (x.double() - x.double().mean(1, keepdim=True)) * w.double()
    y = got - b.double()
    nan = y.isnan().all(1)
    factor = (y * centred).sum(1) / centred.square().sum(1)
    close = 1e-3 if x.dtype == torch.float16 else 5e-5
    off = (y - factor[:, None] * centred).abs().amax(1) < close * y.abs().amax(1)
    vary = centred.abs().amax(1) > 0
    right = (x.double().var(1, correction=0) + e.case.args[3]).rsqrt()
    wrong = (factor / right - 1).abs() > 8 * torch.finfo(x.dtype).eps
    off = off.where(vary, y.abs().amax(1) < 1e-3)  # x - mean is 0: any factor has this result
    return bool((off & vary & wrong).any() and (nan | off).all())


def _mean_rounded(e):
    """Return True if only rows of equal elements are wrong, each by a multiple of w."""
    got, (x, w, b, *_) = e.got[4].double(), e.case.args
    y, w = got - b.double(), w.double()
    off = y.abs().amax(1) > e.case.tolerances["atol"]
    equal = x.amax(1) == x.amin(1)
    times = (y * w).sum(1) / w.square().sum()
    close = (y - times[:, None] * w).abs().amax(1) < 0.01 * y.abs().amax(1)
    wrong = off & equal
    right = torch.isclose(got, e.case.expected[4].double(), **e.case.tolerances).all(1)
    return bool(wrong.any() and close[wrong].all() and right[~wrong].all())


EXERCISE = puzzle(
    title="normalise rows by mean and variance",
    task="""
LayerNorm is `y[m, n] = (x[m, n] − mean) / sqrt(variance + eps) · w[n] + b[n]` with the mean and the variance
(divided by N) of row m. Rows have at most 1,024 elements in float32 or float16; compute in float32 and read `x`
once. A row's elements may be 1000 ± 4 or −3000 ± 16, for which the mean of the squares minus
the square of the mean loses most of its digits. If all are the same whole number, `x − mean` has to be exactly 0. You may call `block_sum` twice, or not at all. Signature: `layer_norm(mX, mW, mB, eps: Float32, mY)`.
""",
    hints=(
        "The row is in registers, with 8 elements per thread. Go through it twice, first for the mean and then for the squared distances from it.",
        "Every thread needs both sums of the block. For each sum, use shuffles, store one word per warp, wait at a barrier, and let all threads add the four words.",
        "Registers past the row hold 0, which is far from the mean, so put the predicate around the line that adds the squares as well. If the second sum reused the first sum's words, you would need another barrier.",
    ),
    analysis="""
With x = 1000 ± 4, the mean of the squares is about 1,000,016, where float32 has steps of 1/16, and both terms of
the difference are off by several steps. For 50 rows of 700 elements, that variance is wrong by up to 2 %, and the
two-pass variance by less than 2 parts in 10 million. Welford's `(count, mean, m2)` from week 1 also passes, with
one barrier and an error of at most 3 parts in a million, but it takes 63,200 instructions instead of 50,100.
""",
    asked={"work": "one block per row", "block": 128, "sharing": 4, "barriers": 2},
    entry="layer_norm",
    inputs=_inputs,
    result=_norm,
    sizes=[(2, 100), (3, 31), (15, 703), (3, 1000), (1, 1), (5, 33), (2, 1024), (3, 257), (7, 129)],
    count=[(5, 100), (20, 700)],
    legal=lambda m, n: (m, min(1024, n)),
    dtypes=("float32", "float16"),
    atol=2e-4,
    misconceptions=[
        looks_like(lambda x, w, b, eps, y: _norm(x, w, 0 * b, eps), "the bias is not added."),
        looks_like(lambda x, w, b, eps, y: _norm(x, torch.ones(1), b, eps), "the result is not multiplied by the weight."),
        looks_like(lambda x, w, b, eps, y: _norm(x, w, b, eps, centre=False), "the mean is not subtracted from "
                   "the stored value."),
        looks_like(lambda x, w, b, eps, y: _norm(x, w, b, eps, of=x.shape[1] - 1), "the sum of the squares is "
                   "divided by N - 1."),
        looks_like(lambda x, w, b, eps, y: _norm(x, w, b, eps, of=1), "the sum of the squares is not divided "
                   "by N."),
        Misconception("registers without an element are included in the variance: each adds the square of 0 - mean.",
                      lambda e: _empty_registers.when(e) and _beside_bias(e)),
        looks_like(lambda x, w, b, eps, y: _norm(x, w, b, EPS), "the values are those of a very small "
                   "eps, such as 0.00001, but the argument eps is larger here."),
        looks_like(lambda x, w, b, eps, y: _norm(x, w, b, 0.0), "in this call, the values are those of an "
                   "eps of 0, with which 0 would be divided by 0 in a row whose elements are all equal."),
        looks_like(lambda x, w, b, eps, y: _eps_outside(x, w, b, eps), "eps is added to the root, but it "
                   "belongs under it."),
        Misconception("in a row of equal elements, x - mean is not 0, so the mean is rounded more than once. Divide by N only once, "
             "after adding up the whole row, and do not multiply by 1 / N.", _mean_rounded),
        Misconception("the mean is correct: each wrong row is x - mean with a wrong factor, or NaN, so look at the "
             "variance and its root. If the square of the mean is subtracted from the mean of the squares, the difference has "
             "few correct digits near a million, where float32 has steps of 1/16.", _scaled),
    ],
    more=lambda make: (read_at_most(make, (5, 1000), {0: 1}),),
)  # fmt: skip
