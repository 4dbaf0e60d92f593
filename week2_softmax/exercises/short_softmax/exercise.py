"""Puzzle week2/short_softmax: rows of at most 64, eight lanes each, in registers."""

import torch

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows


def _of_eight(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return only the softmax of the first eight elements of each row."""
    if x.shape[1] <= 8:
        raise ValueError("not this case")
    rest = torch.full_like(x[:, 8:], torch.nan, dtype=torch.float64)
    return torch.cat([x[:, :8].double().softmax(1), rest], 1)


def _with_zeros(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Count missing elements as 0."""
    n = x.shape[1]
    return torch.nn.functional.pad(x.double(), (0, 64 - n)).softmax(1)[:, :n]


def _of_warps(x: torch.Tensor, *, maximum: bool, both: bool = False) -> torch.Tensor:
    """Take the maximum, the sum or both from the four rows of a warp."""
    m, n = x.shape
    rows = torch.nn.functional.pad(x.double(), (0, 0, 0, -m % 4), value=-torch.inf)
    rows = rows.reshape(-1, 4, n)
    e = (rows - rows.amax((1, 2) if maximum or both else 2, keepdim=True)).exp()
    return (e / e.sum(2 if maximum and not both else (1, 2), keepdim=True)).reshape(-1, n)[:m]


EXERCISE = puzzle(
    title="share a warp among four rows",
    task="""
Compute the softmax of any number of rows of at most 64 elements. Support float32, float16 and bfloat16; compute
in float32. A lane holds at most eight elements in registers. Read and write each element once. Some elements
are −∞; a row of −∞ gives NaN, as in torch. Signature:
`short_softmax(x, y)`.
""",
    hints=(
        "Which row does a thread work on, and which of the row's eight lanes is it? Week 1's `short_rows` computes both. Lane 0 has the elements 0, 8, 16, …",
        "Fill a tensor of eight registers with −∞ before loading. Loads and stores need a predicate for the row and the column, but the lines between them need none.",
        "`cute.arch.warp_reduction` with `threads_in_group=8` reduces among eight lanes; use it for the maximum and for the sum. Some of a warp's four rows may not exist. Arithmetic on them is harmless as long as the line that stores the result checks the row.",
    ),
    analysis="""
A reduction takes three shuffles instead of five, and each shuffle serves four rows. So four rows take six
shuffles, where one warp per row takes forty. Lanes of rows that do not exist compute −∞ − (−∞) = NaN in their
registers, but never store it. The solution divides once per row and multiplies once per
element.
""",
    asked={"work": "eight lanes per row", "shared_bytes": 0},
    entry="short_softmax",
    inputs=lambda draw, m, n: (hard_rows(draw, m, n, masked=True),),
    result=lambda x: x.softmax(1),
    sizes=[(16, 8), (3, 64), (1, 1), (17, 31), (37, 50), (5, 33)],
    count=[(16, 64), (192, 60)],
    legal=lambda m, n: (m, min(64, n)),
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(_of_eight, "only the first eight elements of a row are stored, with their own "
                   "softmax: each lane has one element.", unstored=True),
        looks_like(_with_zeros, "registers without an element are treated as if they held a finite number, such as 0, instead of −∞."),
        looks_like(lambda x, y: _of_warps(x, maximum=True), "the largest element of several rows of "
                   "a warp is subtracted."),
        looks_like(lambda x, y: _of_warps(x, maximum=True, both=True), "the maximum and sum are those of "
                   "several rows: a group has 8 lanes, but the shuffles span more."),
        looks_like(lambda x, y: _of_warps(x, maximum=False), "each row is divided by the sum of all "
                   "four rows of its warp."),
    ],
    waste={"instructions": 2},
    more=lambda make: (read_at_most(make, (9, 60), {0: 1}),),
)  # fmt: skip
