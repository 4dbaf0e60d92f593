"""Puzzle week1/segmented_sums: rows of different lengths, one after the other."""

import itertools

import torch

from forgekit.lessons.pictures import coloured, picture
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, segments, longest):
    lengths = draw.integers(0, longest + 1, segments, dtype=torch.int32)
    starts = torch.zeros(segments + 1, dtype=torch.int32)
    starts[1:] = lengths.cumsum(0)
    return (draw.fractions(max(int(starts[-1]), 1)), starts)


def _sums(x, starts):
    ends = starts.tolist()
    return torch.stack([x[a:b].sum() for a, b in itertools.pairwise(ends)])


EXERCISE = puzzle(
    title="add up segments",
    task="""
`x` holds segments of different lengths, one after the other; segment s is `x[starts[s]] … x[starts[s+1] − 1]`, and
may be empty. `y[s]` is its sum (0 for an empty one).
`segmented_sums(x, starts, y)`: float32, and int32 starts with one entry more than there are segments.
""",
    hints=(
        "It is `warp_a_row`, with a begin and an end that come out of memory.",
        "Every lane begins at `starts[s] + lane` and goes on by 32 until the end of the segment.",
        "The number of segments is `mY.shape[0]`; a warp beyond the last one must not read `starts`, in the first line "
        "with an `if`.",
    ),
    analysis="""
This is how rows of a sparse matrix are added up (CSR). Its cost follows the longest segment of a block: one long
segment beside three short ones keeps a block alive for itself alone.
""",
    asked={"work": "one warp per segment"},
    entry="segmented_sums",
    inputs=_inputs,
    result=_sums,
    sizes=[(2, 4), (1, 1), (5, 31), (7, 33), (4, 500), (9, 65), (6, 100)],
    count=[(6, 50), (203, 200)],
    given=picture(
        "four segments, the third is empty",
        {"x": [coloured([3, 1, 4, 1, 5, 9], {0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 3})],
         "starts": [["0", "2", "5", "5", "6"]], "y": [[("4", 0), ("10", 1), ("0", 2), ("9", 3)]]},
    ),
    praise="Rows of any length, each of another.",
)  # fmt: skip
