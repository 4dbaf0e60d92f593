"""Puzzle week1/warp_argmax: the column of the largest element of each row."""

import torch

from forgekit.lessons.gates import Misconception, looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle


def _first(x):
    """Return the column of the first largest element, as NumPy does."""
    return torch.from_numpy(x.numpy().argmax(1)).int()


def _last(x):
    return x.shape[1] - 1 - _first(x.flip(1))


def _inputs(draw, m, n):
    x = draw.extremes(m, n).round()
    if x.dtype == torch.float32:  # some rows lie far below numbers that often serve as −∞
        x[5::8] = torch.where(x[5::8].abs() < 50, (x[5::8] - 320) * 1e36, x[5::8])
    if m > 1:
        x[::2, n // 3 : n // 3 + 3] = x[::2].amax(1, keepdim=True)  # ties of more than two
        x[7::16, n - 1] = x[7::16].amax(1).abs() + 64  # the last element alone is the largest
    if x.dtype == torch.float32:  # and a number that narrower types do not tell from the largest
        x[1::2, n // 5] = torch.nextafter(x[1::2].amax(1), torch.tensor(-torch.inf))
    x[13::16] = -torch.inf
    x[13::16, n * 2 // 3] = torch.finfo(x.dtype).min
    x[12:13] = -x[12:13].abs()
    x[12:13, n // 3 : n // 3 + 3], x[12:13, n // 3] = 0, -0.0  # −0 and +0 tie
    return (x,)


def _of_no_element(e, rows=None):
    """Return True if each wrong column is outside its row. rows: the rows of x (M, N) that may be
    wrong."""
    x, wrong = e.case.args[0], e.got[1] != e.case.expected[1]
    if e.never is not None and e.never.any():
        return False
    outside = (e.got[1] < 0) | (e.got[1] >= x.shape[1])
    return bool((outside if rows is None else outside & rows(x))[wrong].all())


EXERCISE = puzzle(
    title="find the column of the largest element",
    task="""
`y[m]` is the column of the largest element of row m, as int32. If several elements tie for the
largest, `y[m]` is the column of the first of them. M and N ≥ 1 may be any numbers. `x` is
float32 or float16 and has no NaN. Go through each row only once.

Signature: `warp_argmax(x, y)`.
""",
    hints=(
        "Two values travel together: the largest so far and its column. Shuffle both.",
        "The other pair wins if its value is larger, or if the values are equal and its column is "
        "smaller. A lane without an element holds −∞.",
        "A lane without an element must not win even if all elements of the row are −∞. Start "
        "with a column number larger than any in the row, and let the loop over the row follow "
        "the same rule as the merge. Both variables must keep their types in the loop: `Float32` "
        "and `cutlass.Int32`.",
    ),
    analysis="""
This operator on pairs is associative and has an identity, so everything in this notebook
applies to it. Without a rule for ties, the result would depend on the order in which lanes are
combined. With the rule, every order gives the same result, which you can test.
""",
    asked={"work": "one warp per row", "shared_bytes": 0},
    entry="warp_argmax",
    inputs=_inputs,
    result=_first,
    sizes=[(4, 105), (4, 21), (1, 1), (3, 31), (2, 1000), (1, 1025), (3, 129), (17, 32), (9, 30)],
    count=[(3, 100), (96, 1000)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, y: _last(x), "if several elements tie for the largest, this is the "
        "column of the last one."),
        looks_like(lambda x, y: _first(-x), "this is the column of the smallest element."),
        looks_like(lambda x, y: x.double().amax(1).clamp(-(2**31), 2**31 - 1).int(), "this is the largest element, not its "
                   "column."),
        looks_like(lambda x, y: _first(x[:, ::32]) * 32, "this is the column of the largest of "
                   "elements 0, 32, 64, …: the elements of lanes 1 to 31 are missing."),
        Misconception("in a row of −∞ the column belongs to no element, as if the search keeps its initial column. "
                      "Start at −∞, and among equal values let the smaller column win.",
                      lambda e: _of_no_element(e, lambda x: x.isneginf().all(1))),
        Misconception("a wrong column belongs to no element. Does the maximum start at −∞, and does a column always "
                      "travel with its own value?", _of_no_element),
        Misconception("each column contains a largest element, but not the first one: compare every element, and "
                      "among equal values let the smaller column win.", lambda e: torch.equal(
                          e.case.args[0].gather(1, e.got[1].long()[:, None])[:, 0], e.case.args[0].amax(1))),
    ],
    more=lambda make: (  # a search may begin with the first element, or with each lane's first
        read_at_most(make, (3, 500), {0: 1}, free=lambda x, y: torch.arange(x.shape[1]) < 32),
    ),
    praise="Ties are settled.",
)  # fmt: skip
