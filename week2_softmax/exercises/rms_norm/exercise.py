"""Puzzle week2/rms_norm: rows divided by their root mean square, read once."""

import torch

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

EPS = 1e-5


def _inputs(draw, m, n):
    x = draw(m, n)
    x[1::4] *= 2e-3  # close to the root of eps
    x[2::4] = 0.0
    x[7::8] *= 1000  # the mean square exceeds float16
    x[3::4, 0] = 300.0  # the square exceeds float16
    eps = (EPS, 0.1)[n % 2]
    if n % 5 == 0:  # close to the root of a smaller eps
        x[1::4] *= 1e-2
        eps = 1e-9
    return x, draw(n) + 1, eps


def _norm(x, w, eps, *, of=None, more=0.0, root=True):
    """Compute the norm in float64. of: the divisor of the sum of squares; more: an additional term
    of the sum."""
    x, w = x.double(), w.double()
    mean = (x.square().sum(1, keepdim=True) + more) / (of or x.shape[1])
    return x / ((mean + eps).sqrt() if root else mean + eps) * w


def _centred(x, w, eps):
    return _norm(x.double() - x.double().mean(1, keepdim=True), w, eps)


def _eps_outside(x, w, eps):
    return x.double() / (x.double().square().mean(1, keepdim=True).sqrt() + eps) * w.double()


def _overflown(x, w, eps):
    return torch.where(x.square().isinf().any(1, keepdim=True), 0.0, _norm(x, w, eps))


EXERCISE = puzzle(
    title="divide rows by their root mean square",
    task="""
RMSNorm is the normalisation in most language models today: `y[m, n] = x[m, n] / sqrt(mean of x[m, :]² + eps) ·
w[n]`. Rows have at most 512 elements in float32, float16 or bfloat16; compute in float32 and read `x` once. A row
of zeros stays zero. Signature: `rms_norm(mX, mW, eps: Float32,
mY)`.
""",
    hints=(
        "The kernel is a reduction whose result every lane needs, followed by a map over the same row, like softmax without its maximum.",
        "Each lane holds at most 16 elements in registers. Loop with `range_constexpr(16)` and a predicate, so that each register has a fixed number.",
        "Registers past the row hold 0 before you add the squares. Divide by `mX.shape[1]`, add "
        "`eps` under the root, and compute `cute.math.rsqrt` once, between the two loops.",
    ),
    analysis="""
For 40 rows of 400 float32, threads request 64,000 bytes of `x` and 64,000 bytes of `w`, and store 64,000 bytes.
But `w` has only 1,600 bytes, which are the same for all rows and come from a cache after the first rows. So memory
moves each row once in each direction. Without `eps`, a row of zeros becomes 0 · ∞ = NaN.
""",
    asked={"work": "one warp per row"},
    entry="rms_norm",
    inputs=_inputs,
    result=_norm,
    sizes=[(2, 4), (1, 1), (3, 31), (4, 500), (5, 33), (3, 512), (9, 257), (7, 129)],
    count=[(5, 100), (40, 400)],
    legal=lambda m, n: (m, min(512, n)),
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, w, eps, y: _norm(x, torch.ones(1), eps), "the result is not multiplied by the weight."),
        looks_like(lambda x, w, eps, y: _norm(x, w, EPS), "the values are those of a very small eps, such as 0.00001, but the "
                   "argument eps is larger here."),
        looks_like(lambda x, w, eps, y: _norm(x, w, 0.0), "eps is missing, or is not added before the root."),
        looks_like(lambda x, w, eps, y: _norm(x, w, eps, of=1), "each row is divided by the root of "
                   "the sum of its squares: the mean is missing."),
        looks_like(lambda x, w, eps, y: _norm(x, w, eps, root=False), "each row is divided by the mean "
                   "square: the root is missing."),
        looks_like(lambda x, w, eps, y: _eps_outside(x, w, eps), "eps is added to the root, but it belongs "
                   "under it."),
        looks_like(lambda x, w, eps, y: _norm(x, w.repeat_interleave(32)[: len(w)], eps), "x[m, n] is "
                   "multiplied by w[0] for n < 32, not by w[n]."),
        looks_like(lambda x, w, eps, y: _norm(x, w, eps, of=512), "the sum of the squares is divided by "
                   "512, the number of registers that a warp has for the row."),
        looks_like(lambda x, w, eps, y: _norm(x, w, eps, more=512 - x.shape[1]), "the registers seem to "
                   "hold 1 for elements that do not exist: each adds 1 to the sum of the squares."),
        looks_like(lambda x, w, eps, y: _overflown(x, w, eps), "in float16, a row with an element of 300 becomes 0: the "
                   "square of 300 is 90,000, but the largest float16 is 65,504. So the row is divided by ∞."),
        looks_like(lambda x, w, eps, y: _centred(x, w, eps), "the mean is subtracted: that is LayerNorm."),
    ],
    more=lambda make: (read_at_most(make, (5, 500), {0: 1}),),
    praise="You have normalised a language model's rows in one pass.",
)  # fmt: skip
