"""Puzzle week0/convolve: two things in shared memory, one that all threads read at once."""

import torch

from forgekit.lessons.gates import found, looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import coloured, halo_missing, picture


def _filtered(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    longer = torch.cat((x, x.new_zeros(len(w) - 1)))
    return longer.unfold(0, len(w), 1) @ w


X, W = [1, 2, 0, 3, 1, 1, 2, 4], [10, 1, 5]
_Y = _filtered(torch.tensor(X), torch.tensor(W)).tolist()
PICTURE = picture(
    "y[2] = 10·0 + 1·3 + 5·1 = 8",
    {
        "x": [coloured(X, {2: 0, 3: 0, 4: 0})],
        "w": [coloured(W, {0: 1, 1: 1, 2: 1})],
        "y": [coloured(_Y, {2: 0})],
    },
)

EXERCISE = puzzle(
    title="convolve with a filter in shared memory",
    task="""
`y[i]` is the sum of `w[k] * x[i + k]` over all elements of the filter `w`; past its end, `x`
counts as 0. `w` has 1 to 32 elements. Each block loads every element of `x` and of `w` that it
needs once. All tensors are float32. Signature: `convolve(x, w, y)`.
""",
    hints=(
        "This is the previous puzzle with a halo whose size is known only at run time, and "
        "with a second tensor in shared memory. A tensor there has a fixed size, so allocate "
        "the largest possible.",
        "Which threads load w, and which load the halo? Neither has more than 32 elements. "
        "How many barriers do two tensors need?",
        "Use tiles of 128 + 31 and of 32 elements. The first `w.shape[0] - 1` threads load "
        "the halo. After one barrier, the sum begins with `cutlass.Float32(0)` and adds in a "
        "loop over `range(mW.shape[0])`.",
    ),
    analysis="""
All lanes read the same `sW[k]` at the same time: a broadcast, which takes one wavefront.
`sX[tidx + k]` reads 32 neighbours for every k, which also takes one wavefront. So each product
costs two accesses of shared memory and one multiply-add. For a long filter these accesses limit
the kernel; then the next step is to compute several results per thread from registers.
""",
    asked={
        "barriers": 1,
        "shared_bytes": (
            "shared memory for at most 64 floats more than a block has threads",
            lambda block: 4 * (block + 64),
        ),
    },
    entry="convolve",
    given=PICTURE,
    inputs=lambda draw, n, taps: (draw.fractions(n), draw.integers(-9, 10, taps)),
    result=_filtered,
    sizes=[(8, 3), (1, 1), (1000, 5), (128, 2), (300, 32), (5, 9), (129, 4), (259, 32)],
    count=[(1000, 9), (10_001, 32)],
    legal=lambda n, taps: (n, min(32, taps)),
    waste={"loaded": 2, "load_sectors": 2},  # the halo of small blocks
    misconceptions=[
        looks_like(
            lambda x, w, y: _filtered(x, w.flip(0)),
            "the filter is applied backwards: w[k] belongs to x[i + k].",
        ),
        looks_like(
            lambda x, w, y: _filtered(x.flip(0), w).flip(0),
            "the filter runs backwards in x: w[k] meets x[i - k].",
        ),
        looks_like(lambda x, w, y: _filtered(x, w[:-1]), "the last element of w is left out."),
        looks_like(lambda x, w, y: _filtered(x, w)[: len(x)] - w[0] * x, "w[0] is left out."),
        halo_missing(31),
        found(
            "shared-race",
            "a thread reads an element that another may not have stored yet.",
            text=" reads ",
        ),
    ],
)
