"""Puzzle week1/mean_variance: Welford's recurrence, merged across the lanes of a warp."""

import torch

from forgekit.lessons.gates import Group, Misconception, looks_like, read_at_most
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, m, n):
    x = draw(m, n)
    x[1::3] *= 60  # the sum of the squared differences exceeds float16
    return (x + draw.integers(1, 4, m, 1) * 700.0,)


def _first(x, mean, variance):
    return torch.arange(x.shape[1]) == 0


def _read_once(make):
    groups = [read_at_most(make, size, {0: 1}, free=_first) for size in ((5, 60), (2, 5000))]
    return Group(groups[0].name, lambda submission: max(g.run(submission) for g in groups))


def _of_squares(e):
    """Return True if each variance is a multiple of float32's step at the square of the mean, and
    off by at most a few steps."""
    mean, got = e.case.expected[1].float(), e.got[2].double()
    square = mean * mean
    step = (torch.nextafter(square, square + 1) - square).double()
    near = ((got - e.case.expected[2]).abs() <= 8 * step).all() and (got > 0).all()
    return bool(near) and torch.equal(got / step, (got / step).round())


EXERCISE = puzzle(
    title="compute mean and variance in one pass",
    task="""
Compute the mean and the variance (divided by n) of each float32 row, and read the row only
once; its first element may be read again. The numbers of a row lie close together, around a mean of about 700 or more, so the mean of the squares minus the
square of the mean would have hardly any correct digits. One way is to keep
`(count, mean, m2)` per lane (Welford, 1962) and to merge two lanes like this (Chan, 1979):

    d = mean_b − mean_a,   n = n_a + n_b
    mean = mean_a + d · n_b / n,   m2 = m2_a + m2_b + d² · n_a · n_b / n

Signature: `mean_variance(x, mean, variance)`.
""",
    hints=(
        "To add one element, merge with `(1, value, 0)`.",
        "A lane without elements has the count 0, and a merge of two such lanes divides by 0. "
        "What should the result be?",
        "In the butterfly, a lane receives three numbers from its partner, with three shuffles. "
        "The order of the lines matters: all three shuffles come before the lane changes any of "
        "its own numbers.",
    ),
    analysis="""
The merge is associative up to rounding, so a tree can use it like a sum. Its identity is `(0,
0, 0)`. LayerNorm and BatchNorm consist of this kernel followed by a map.
""",
    asked={"work": "one warp per row", "doubles": 0},
    entry="mean_variance",
    inputs=_inputs,
    result=lambda x: (x.mean(1), x.var(1, unbiased=False)),
    sizes=[(2, 4), (5, 31), (1, 1), (3, 33), (2, 1000), (1, 70_000), (4, 2), (9, 65), (3, 100)],
    count=[(5, 100), (64, 300)],
    rtol=1e-4,
    atol=3e-4,  # float32 holds numbers about 2,100 to 1.2e-4
    misconceptions=[
        looks_like(lambda x, a, b: x.double().sum(1), "the first result is the sum; divide it by n."),
        looks_like(lambda x, a, b: (None, x.double().var(1)), "the kernel divides m2 by n − 1; the task asks for n."),
        Misconception("each variance is a multiple of float32's step at the square of the mean, "
                      "because it is a difference of two such numbers, the mean of the squares "
                      "and the square of the mean.",
                      _of_squares),
    ],
    given=picture(
        "two lanes of one row, merged",
        {"lane 0: 3 5": [["count 2", "mean 4", "m2 2"]], "lane 1: 8": [["count 1", "mean 8", "m2 0"]],
         "both: 3 5 8": [[("count 3", 0), ("mean 5.33", 0), ("m2 12.67", 0)]]},
    ),
    more=lambda make: (_read_once(make),),
    praise="One pass, and no digit lost.",
)  # fmt: skip
