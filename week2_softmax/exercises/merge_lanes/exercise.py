"""Puzzle week2/merge_lanes: 32 pairs (m, s) a row become one, by shuffles."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, rows):
    """Pairs of 32 lanes a row; some lanes have seen nothing, and so have all of every fifth row."""
    m, s = draw(rows, 32) * 30, draw(rows, 32).abs() + 1
    m[1::3] -= 1000
    nothing = torch.arange(rows * 32).reshape(rows, 32) % 7 == 3
    nothing[4::5] = True
    return torch.where(nothing, -torch.inf, m), torch.where(nothing, 0.0, s)


def _merged(m, s):
    top = m.amax(1)
    shift = torch.where(top.isneginf(), 0.0, top)
    return torch.stack((top, (s * (m - shift[:, None]).exp()).sum(1)), 1)


def _unguarded(m, s, y):
    top = m.double().amax(1)
    return torch.stack((top, (s * (m.double() - top[:, None]).exp()).sum(1)), 1)


def _column(alternative):
    """With the right maximum, and something else in place of the sum."""
    return lambda m, s, y: torch.stack((m.double().amax(1), alternative(m.double(), s.double())), 1)


EXERCISE = puzzle(
    title="merge the pairs of 32 lanes",
    task="""
Row r of `m` and `s`, both (rows, 32) in float32, has the pairs (m, s) that 32 lanes have ended with.
Merge them: `y[r, 0]` is the maximum, `y[r, 1]` the sum relative to it. Lanes that have seen no element hold (−∞, 0), and in some rows all of
them do; then the result is (−∞, 0) as well. `merge_lanes(m, s, y)`.
""",
    hints=(
        "A butterfly of five steps, as for a sum, with `merge` in place of the addition. What does each "
        "step shuffle?",
        "Two shuffles a step, m and s, and both before either of them has changed: the old maximum is "
        "needed for the factor.",
        "Where both maxima are -inf the difference is NaN: in the line before the exponentials decide "
        "what is subtracted, the new maximum or 0.",
    ),
    analysis="""
Ten shuffles and ten exponentials. There is a cheaper way to the same result: first the maximum of all
lanes by five shuffles, then each lane rescales its own sum *once*, then the sums are added by five
shuffles. Production kernels do that; it needs all pairs at the same time, which a loop over a row does
not have.
""",
    asked={"work": "one warp per row", "shared_bytes": 0},
    entry="merge_lanes",
    inputs=_inputs,
    result=_merged,
    sizes=[(3,), (5,), (1,), (8,), (31,), (100,), (9,), (17,)],
    count=[(20,), (500,)],
    misconceptions=[
        looks_like(_column(lambda m, s: s.sum(1)), "the sums are added as they are: each is relative "
                   "to its own lane's maximum."),
        looks_like(_unguarded, "only where no lane has seen anything is the sum NaN: -inf - (-inf)."),
        looks_like(lambda m, s, y: torch.stack((m[:, 0], s[:, 0]), 1), "this is the pair of lane 0: "
                   "nothing reaches it from the others."),
        looks_like(lambda m, s, y: _merged(m.double()[:, ::2], s.double()[:, ::2]), "only 16 of the 32 "
                   "lanes are merged, which takes four steps; 32 take five."),
        looks_like(_column(lambda m, s: s[:, 0]), "the maximum is merged, and the sum is still that "
                   "of lane 0."),
    ],
    praise="32 pairs, one pair.",
)  # fmt: skip
