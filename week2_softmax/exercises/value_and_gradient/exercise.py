"""Puzzle week2/value_and_gradient: a mean weighted by softmax, and its gradient, in one kernel."""

import torch

from forgekit.lessons.gates import Misconception, looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows, steep


def _both(x, w):
    y = x.softmax(1)
    value = (w * y).sum(1)
    return value, (w - value[:, None]) * y


def _online(x, w, *, rescale_s=True, rescale_t=True):
    """Return the value from 32 lanes that may forget to rescale, but merge correctly."""
    lanes = torch.nn.functional.pad(x.double(), (0, -x.shape[1] % 32), value=-torch.inf)
    weights = torch.nn.functional.pad(w.double(), (0, -x.shape[1] % 32))
    m, s, t = torch.full((len(x), 32), -torch.inf), 0.0, 0.0
    for e, weight in zip(lanes.split(32, 1), weights.split(32, 1), strict=True):
        m_new = torch.maximum(m, e)
        scale, e = (m - m_new).exp().nan_to_num(), (e - m_new).exp().nan_to_num()
        s = s * (scale if rescale_s else 1) + e
        t = t * (scale if rescale_t else 1) + e * weight
        m = m_new
    scale = (m - m.amax(1, keepdim=True)).exp()
    return (t * scale).sum(1) / (s * scale).sum(1)


def _without_the_value(e):
    """Return True if dx is w·y."""
    from forgekit.checking.compare import compare

    x, w = e.case.args[:2]
    return compare(e.got[3], w.double() * x.double().softmax(1), rtol=1e-4, atol=1e-5).ok


EXERCISE = puzzle(
    title="compute a value and its gradient in one kernel",
    task="""
`value[m] = Σ w[m, n] · softmax(x[m])[n]` is the mean of `w`, weighted by a softmax. Compute it and its gradient `dx[m, n]` with respect to `x` in one launch, without storing the softmax. Support float32 rows of any length. Read `x` and `w` at most twice. The kernel must not overflow when elements of x are 1,000 or -1,000. Signature: `value_and_gradient(x, w, value, dx)`.
""",
    hints=(
        "With L = value and dL/dy = w, the formula of this notebook gives dx. What is its Σ dy·y "
        "here?",
        "The first pass is online, with three numbers per lane: m, s = Σ exp(x - m) and t = Σ w·exp(x - m). What must the kernel do with s and t when m grows?",
        "To merge the lanes, first find the maximum of the warp. Then rescale s and t in the lines before their two sums.",
    ),
    analysis="""
The third number of the triple (m, s, t) is rescaled together with s; the value is t / s. With a row of V
instead of the number w, this is the loop of flash attention, which rescales its accumulator in the same line. A
kernel that computes forward, loss and gradient together reads x and w twice and writes dx: 5 matrices, or 3 with
rows in registers. Three separate kernels would also write y and read it twice.
""",
    asked={"work": "one warp per row"},
    entry="value_and_gradient",
    inputs=lambda draw, m, n: (steep(hard_rows(draw, m, n)), draw(m, n) + 2),
    result=_both,
    sizes=[(2, 5), (1, 1), (5, 31), (6, 1000), (4, 1025), (5, 129), (17, 32), (8, 33)],
    count=[(3, 100), (64, 500)],
    rtol=2e-5,
    atol=1e-6,
    waste={"loaded": 1.1},
    misconceptions=[
        Misconception("dx is w·y: the value is not subtracted.", _without_the_value),
        looks_like(lambda x, w, value, dx: (w * x.exp()).sum(1) / x.exp().sum(1), "exponentials "
                   "overflow or are all 0, as if no maximum were subtracted."),
        looks_like(lambda x, w, value, dx: (w * (x.double() - x.amax(1, True)).exp()).sum(1), "value "
                   "is Σ w·exp(x - max), not yet divided by the sum of exponentials, or by a sum of 1."),
        looks_like(lambda x, w, value, dx: w.double().mean(1), "value is the unweighted mean of w. With "
                   "up to 32 columns, a merge of lanes that does not rescale s and t has the same result."),
        looks_like(lambda x, w, value, dx: _online(x, w, rescale_t=False), "t keeps terms relative "
                   "to an older maximum: rescale it where m grows."),
        looks_like(lambda x, w, value, dx: _online(x, w, rescale_s=False), "s keeps terms relative "
                   "to an older maximum: rescale it where m grows."),
    ],
    more=lambda make: (read_at_most(make, (3, 100), {0: 2, 1: 2}),),
    praise="You have computed a loss and its gradient without a softmax in memory.",
)  # fmt: skip
