"""Puzzle week2/confidence: the largest weight of a softmax and its column, in one pass."""

import torch

from forgekit.lessons.gates import Misconception, looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows
from ..unseen import NAN_FROM_NOTHING


def _first(x):
    """Return the first column of the largest element, as NumPy defines it."""
    return torch.from_numpy(x.double().numpy().argmax(1)).int()


def _just_below(x):
    """Return the next smaller number of the dtype; x: not 0."""
    bits = x.view(torch.int16 if x.itemsize == 2 else torch.int32)
    return torch.where(x > 0, bits - 1, bits + 1).view(x.dtype)


def _inputs(draw, m, n):
    """Return hard rows. In most rows, the largest element appears twice: in lanes 0 and 31, within
    lane 5, or in lanes 1 and 0, with the first in lane 1. In some of these rows, the first is a
    little smaller. In every fourth row the last element is the largest, by 1 or by 10. In every ninth, the largest are -0.0, then 0.0, which are equal.
    In every fifth row, from the second on, lane 7 has only -inf, unless it has the largest."""
    x = hard_rows(draw, m, n)
    rows = torch.arange(m) % 4
    for k, (first, second) in enumerate([(0, 31), (5, 37), (1, 32)]):
        if second < n:
            x[rows == k, first] = x[rows == k].amax(1)
            x[rows == k, second] = x[rows == k, first]
            few = (rows == k) & (torch.arange(m) % 8 > 3)
            x[few, first] = _just_below(x[few, second])
    x[3::4, -1] = x[3::4].amax(1) + 1
    x[7::8, -1] += 9
    if n > 37:
        x[2::9] = -x[2::9].abs().clamp(max=100)
        x[2::9, n // 3], x[2::9, -1] = -0.0, 0.0
    lane = x[1::5, 7::32]
    lane[lane < x[1::5].amax(1, keepdim=True)] = -torch.inf
    return (x,)


def _columns(alternative):
    """Return a test that is true if the weights are about right, some columns are wrong, and
    `alternative(x, columns)` holds."""

    def when(e):
        x = e.case.args[0].double()
        at = e.got[2].long()
        right = torch.allclose(e.got[1].double(), x.softmax(1).amax(1), rtol=1e-2)
        inside = bool(((at >= 0) & (at < x.shape[1])).all())
        return right and inside and bool((at != _first(x)).any()) and alternative(x, at)

    return when


def _sum(x, m):
    return (x.double() - m).exp().sum(1)


EXERCISE = puzzle(
    title="say how sure a classifier is",
    task="""
`p[m]` is the largest weight of the softmax of row m, and `at[m]` is its column, as int32. If several elements
of x are the largest, return the column of the first. Elements of a row may be −∞, but not all of them. Support any M and N ≥ 1, with `x` and `p` in float32 or float16;
compute in float32. Read each row **once**. Signature: `confidence(x, p, at)`.
""",
    hints=(
        "Relative to the maximum, what is the exponential of the largest element? What does that make its weight?",
        "Three values pass through the loop and the shuffles: m, s, and the column of m. The weight is 1/s.",
        "Keep the column of the larger maximum; if both maxima are equal, keep the smaller column, as in `warp_argmax`. A lane without elements starts with a column number beyond the last. Choose the column in a line before m changes.",
    ),
    analysis="""
Classifiers need this number all the time. It requires neither the whole softmax nor a second pass: the kernel
reads the matrix once and writes two numbers per row. Any mergeable value can accompany (m, s); with a vector
of values instead of the column, this is flash attention.
""",
    asked={"work": "one warp per row", "shared_bytes": 0},
    entry="confidence",
    inputs=_inputs,
    result=lambda x: (x.softmax(1).amax(1), _first(x)),
    sizes=[(3, 5), (6, 31), (1, 1), (2, 1003), (9, 33), (17, 32), (400, 200), (3, 129), (9, 30)],
    count=[(9, 200), (64, 300)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, p, at: x.float().amax(1).exp() / _sum(
            x, x.double().amax(1, keepdim=True)).float(), "s is relative to m, but exp(m) is not: the "
            "exponential of the largest element, relative to the maximum, is 1."),
        looks_like(lambda x, p, at: _sum(x, x.double().amax(1, keepdim=True)), "the result is the sum: the "
                   "weight is 1 divided by it."),
        looks_like(lambda x, p, at: x.double().amax(1), "the result is the largest element, not its weight."),
        looks_like(lambda x, p, at: 1 / _sum(x[:, ::32], x[:, ::32].double().amax(1, keepdim=True)),
                   "the result contains only lane 0's part."),
        Misconception("where several elements tie for the largest, the column is that of the last.", _columns(
            lambda x, at: bool((at == x.shape[1] - 1 - _first(x.flip(1))).all()))),
        Misconception("each of these columns holds the largest element of its row, but not always the first such "
             "column. Ties occur both in a lane's loop and when lanes are merged.", _columns(
                 lambda x, at: bool((x.gather(1, at[:, None])[:, 0] == x.amax(1)).all()))),
        NAN_FROM_NOTHING,
    ],
    more=lambda make: (read_at_most(make, (5, 1000), {0: 1}),),
    praise="Your kernel knows how sure it is.",
)  # fmt: skip
