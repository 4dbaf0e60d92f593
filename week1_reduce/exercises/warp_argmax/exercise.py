"""Puzzle week1/warp_argmax: where the largest element of each row stands."""

import torch

from forgekit.lessons.gates import Misconception, looks_like
from forgekit.lessons.puzzle import puzzle


def _first(x):
    """The first place of the largest, as NumPy defines it."""
    return torch.from_numpy(x.numpy().argmax(1)).int()


def _last(x):
    return x.shape[1] - 1 - _first(x.flip(1))


def _inputs(draw, m, n):
    x = draw.extremes(m, n).round()
    if m > 1:
        x[::2, n // 3] = x[::2].amax(1)  # for ties of more than two
    return (x,)


EXERCISE = puzzle(
    title="where is the largest?",
    task="""
`y[m]` is the column of the largest element of row m, as int32; where several are the largest, the
first one counts. Any M and N ≥ 1, `x` in float32 or float16. `warp_argmax(x, y)`.
""",
    hints=(
        "Two values travel together: the largest so far, and where it stands. Each is shuffled.",
        "The other one wins if it is larger, or if it is equal and stands further to the left. A "
        "lane without an element has −∞.",
        "A lane without an element must not win against a row of −∞ either: its column has to be "
        "behind every other. Both variables have to keep their types in the loop: `Float32` and "
        "`cutlass.Int32`.",
    ),
    analysis="""
An operator on pairs, and it is associative and has an identity, so everything of this notebook
works. Without a rule for ties the result would depend on which lane meets which; with it, any order
gives the same: a result one can test.
""",
    asked={"work": "one warp per row", "shared_bytes": 0},
    entry="warp_argmax",
    inputs=_inputs,
    result=_first,
    sizes=[(2, 5), (1, 1), (3, 31), (2, 1000), (1, 1025), (3, 129), (17, 32), (9, 30)],
    count=[(3, 100), (100, 1000)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda x, y: _last(x), "where several are the largest, the last one is given."),
        looks_like(lambda x, y: _first(-x), "this is where the smallest one stands."),
        looks_like(lambda x, y: x.double().amax(1).int(), "this is the largest element, not where it "
                   "stands."),
        looks_like(lambda x, y: _first(x[:, ::32]) * 32, "only what lane 0 has found is in the "
                   "result: nothing reaches it from the other lanes."),
        Misconception("each index is that of a largest element, but not of the first one: among equals "
                      "the smaller index has to win.", lambda e: torch.equal(
                          e.case.args[0].gather(1, e.got[1].long()[:, None])[:, 0], e.case.args[0].amax(1))),
    ],
    praise="Ties are settled.",
)  # fmt: skip
