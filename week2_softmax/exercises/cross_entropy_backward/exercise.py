"""Puzzle week2/cross_entropy_backward: a gradient that needs no reduction."""

import torch

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows
from ..targets import IGNORED, some_targets


def _inputs(draw, m, n):
    x = hard_rows(draw, m, n, spread=False)
    lse = x.double().logsumexp(1).float()
    return x, some_targets(draw, m, n), lse, draw(m, dtype=torch.float32)


def _gradient(x, target, lse, g, *, chosen=1.0, ignored=0.0):
    """Return the gradient. chosen: the number subtracted at the target. ignored: the factor for
    rows without a target."""
    at = torch.arange(x.shape[1]) == target[:, None]
    g = torch.where(target == IGNORED, ignored * g, g)
    return g.double()[:, None] * ((x.double() - lse.double()[:, None]).exp() - chosen * at)


def _overflowing(x, target, lse, g, dx):
    p = x.float().exp() / lse.exp()[:, None]
    at = torch.arange(x.shape[1]) == target[:, None]
    return torch.where(target == IGNORED, 0 * g, g)[:, None] * (p - 1.0 * at)


def _lse_of_row_0(x, target, lse, g, dx):
    p = (x.double() - lse[0].double()).float().exp()
    at = torch.arange(x.shape[1]) == target[:, None]
    return torch.where(target == IGNORED, 0 * g, g)[:, None] * (p - 1.0 * at)


EXERCISE = puzzle(
    title="compute the gradient of the loss",
    task="""
Compute the gradient of exercise 3, `dx[m, n] = g[m] · (softmax(x[m])[n] − [n = target[m]])`. `[…]` is 1 if its
condition holds and 0 otherwise; g[m] is the gradient with respect to the row's loss. Where the target is −100, dx
is 0. Compute the softmax from `lse`, which needs no reduction; read x once and write dx once. x and dx are float32
or float16, target is int64, and lse and g are float32; compute in float32. Signature:
`cross_entropy_backward(x, target, lse, g, dx)`.
""",
    hints=(
        "How do you write exp(x) / Σ exp(x) without a division and without overflow, by subtracting lse?",
        "Each thread decides for its own elements whether n is the target. If one thread "
        "corrected dx[target] afterwards, which thread's store would it have to wait for?",
        "Read the row's target, lse and g once, before the loop. If the target is to be ignored, set g to 0 at that point.",
    ),
    analysis="""
One saved number per row, lse, turns a reduction with two reads into an elementwise map. Keep small values, and
recompute values that are cheap. dx may overwrite x, because the same thread reads and writes each element, so
large models never hold two matrices of logits.
""",
    asked={"work": "one block per row", "block": 128, "sharing": 4, "barriers": 0, "shared_bytes": 0},
    entry="cross_entropy_backward",
    inputs=_inputs,
    result=_gradient,
    sizes=[(2, 4), (3, 5), (1, 1), (5, 31), (3, 129), (2, 1000), (4, 65), (3, 300)],
    count=[(5, 100), (61, 600)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda *args: _gradient(*args[:4], chosen=0.0), "the values are g · softmax: nothing is subtracted at the target."),
        looks_like(lambda *args: -_gradient(*args[:4]), "the sign is reversed."),
        looks_like(lambda *args: _gradient(*args[:4], ignored=1.0), "rows whose target is −100 have the gradient of a row "
                   "without a target, but theirs has to be 0."),
        looks_like(_lse_of_row_0, "all rows are computed with the lse of row 0."),
        looks_like(_overflowing, "the kernel takes the exponentials of x and of lse one by one, not of their difference: exp(89) is infinite in float32, "
                   "and ∞ / ∞ and ∞ · 0 are NaN."),
        looks_like(lambda x, target, lse, g, dx: _gradient(x, target, lse, g * 0 + 1), "g has no effect: the values are the gradient of "
                   "the sum of all losses."),
    ],
    given=picture(
        "g = 8; the second row is ignored",
        {"softmax": [["1/8", ("2/8", 0), "5/8"], ["5/8", "2/8", "1/8"]], "target": [[("1", 0)], ["-100"]],
         "dx": [["1", ("-6", 0), "5"], ["0", "0", "0"]]},
    ),
    more=lambda make: (read_at_most(make, (5, 300), {0: 1}),),
    praise="You have computed a gradient without a reduction.",
)  # fmt: skip
