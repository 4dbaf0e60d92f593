"""Puzzle week2/merge_lanes: 32 pairs (m, s) per row become one, by shuffles."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..unseen import NAN_FROM_NOTHING


def _inputs(draw, rows):
    """Return pairs of 32 lanes per row; some lanes have no elements, in two of five rows all from
    the fourth lane on, and in every fifth row all."""
    m, s = draw(rows, 32) * 30, draw(rows, 32).abs() + 1
    m[1::3] -= 1000
    m[3::6] += 1e5  # above what often limits a maximum
    m[5::6] = -(2.0**127)  # below what often passes for -inf
    nothing = torch.arange(rows * 32).reshape(rows, 32) % 7 == 3
    nothing[1::5, 3:] = nothing[3::5, 3:] = nothing[4::5] = True
    return torch.where(nothing, -torch.inf, m), torch.where(nothing, 0.0, s)


def _merged(m, s):
    top = m.amax(1)
    shift = torch.where(top.isneginf(), 0.0, top)
    return torch.stack((top, (s * (m - shift[:, None]).exp()).sum(1)), 1)


def _column(alternative):
    """Return pairs with the right maximum and another sum."""
    return lambda m, s, y: torch.stack((m.double().amax(1), alternative(m.double(), s.double())), 1)


EXERCISE = puzzle(
    title="merge the pairs of 32 lanes",
    task="""
Row r of `m` and `s`, both (rows, 32) in float32, holds the pairs (m, s) of 32 lanes at the end of
their loops. Merge them: `y[r, 0]` is the maximum, and `y[r, 1]` is the sum relative to it. A lane without elements holds
(−∞, 0). If all lanes of a row hold it, the result is (−∞, 0).
Signature: `merge_lanes(m, s, y)`.
""",
    hints=(
        "Write a butterfly of five steps, as for a sum, with `merge` in place of the addition. Which values does each step shuffle?",
        "Each step shuffles m and s. Do both shuffles before either value changes, because the factor needs the old maximum.",
        "If both maxima are -inf, the difference is NaN. A line before the exponentials must choose the number to subtract: the new maximum, or 0 if that is -inf.",
    ),
    analysis="""
The butterfly takes ten shuffles and ten exponentials per lane. A cheaper way is common in production kernels:
five shuffles find the maximum of all lanes, each lane rescales its own sum *once*, and five more shuffles add
the sums. But that requires all pairs at the same time, and a loop over a row sees them one after another.
""",
    asked={"work": "one warp per row", "shared_bytes": 0},
    entry="merge_lanes",
    inputs=_inputs,
    result=_merged,
    sizes=[(3,), (5,), (1,), (8,), (31,), (100,), (9,), (17,)],
    count=[(20,), (512,)],
    misconceptions=[
        looks_like(_column(lambda m, s: s.sum(1)), "the sums are added without rescaling, but each is relative "
                   "to its own lane's maximum."),
        NAN_FROM_NOTHING,
        looks_like(lambda m, s, y: torch.stack((m[:, 0], s[:, 0]), 1), "the result is lane 0's pair: "
                   "the pairs of the other lanes never reach it."),
        looks_like(lambda m, s, y: _merged(m.double()[:, ::2], s.double()[:, ::2]), "only 16 of the 32 "
                   "lanes are merged: four steps merge 16 lanes, and 32 take five."),
        looks_like(_column(lambda m, s: s[:, 0]), "the maximum is merged, but the sum is still that "
                   "of lane 0."),
    ],
    praise="You have merged 32 pairs into one.",
)  # fmt: skip
