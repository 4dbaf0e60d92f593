"""Puzzle week1/segmented_sums: rows of different lengths, one after the other."""

import torch

from forgekit.lessons.pictures import coloured, picture
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, segments, longest):
    lengths = draw.integers(0, longest + 1, segments, dtype=torch.int32)
    lengths[1::3] = 0
    starts = torch.zeros(segments + 1, dtype=torch.int32)
    starts[1:] = lengths.cumsum(0)
    starts += int(draw.number(0, 8))
    beyond = 0 if segments % 6 in (0, 3, 5) else int(draw.number(1, 9))  # after the last segment
    x = draw.fractions(max(1, int(starts[-1]) + beyond))
    if segments > 6 and starts[6] < starts[7]:
        x[starts[6]] = torch.inf if segments % 2 else -torch.inf
    return (x, starts)


def _sums(x, starts):
    kept = x[starts[0] : starts[-1]]
    return torch.segment_reduce(kept, "sum", lengths=starts.diff().long(), initial=0)


EXERCISE = puzzle(
    title="add up segments",
    task="""
`x` holds segments of different lengths, one after another. Segment s is `x[starts[s]] …
x[starts[s+1] − 1]` and may be empty; segment 0 need not begin at `x[0]`,
and the last segment need not end at the end of `x`. `y[s]` is its sum (0
for an empty segment). `x` is float32, and its elements may be infinite; `starts` is int32 and has one more entry than there are
segments.

Signature: `segmented_sums(x, starts, y)`.
""",
    hints=(
        "This is one warp per row, but the start and the end of a row come from memory.",
        "Each lane starts at `starts[s] + lane` and advances by 32 up to the end of the segment.",
        "The number of segments is `mY.shape[0]`. A warp beyond the last segment must not read "
        "`starts`: exclude it on the line with the first `if`.",
    ),
    analysis="""
You can compute the row sums of a sparse matrix (CSR) in this way. A block runs until its
longest segment is done: with one long segment and three short ones, three of its four warps
finish early.
""",
    asked={"work": "one warp per segment"},
    entry="segmented_sums",
    inputs=_inputs,
    result=_sums,
    sizes=[(2, 4), (1, 1), (5, 31), (7, 33), (4, 500), (9, 65), (6, 100)],
    count=[(6, 50), (192, 1500)],  # in long segments, few lanes are idle
    given=picture(
        "four segments, of which the third is empty",
        {"x": [coloured([3, 1, 4, 1, 5, 9], {0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 3})],
         "starts": [["0", "2", "5", "5", "6"]], "y": [[("4", 0), ("10", 1), ("0", 2), ("9", 3)]]},
    ),
    praise="Each segment has its own length.",
)  # fmt: skip
