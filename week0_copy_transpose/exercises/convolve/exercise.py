"""Puzzle week0/convolve: two arrays in shared memory, one of which all threads read at the same
time."""

import torch

from forgekit.lessons.gates import found, looks_like
from forgekit.lessons.puzzle import Draw, puzzle

from ..practice import coloured, halo_missing, loaded_once, picture


def _filtered(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    longer = torch.cat((x, x.new_zeros(len(w) - 1)))
    return longer.unfold(0, len(w), 1) @ w


def _inputs(draw: Draw, n: int, taps: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return integers and fractions, whose sums of products are exact in float32. The fractions are
    x if n is odd, else w; a long x ends in ∞, and 0 times ∞ is NaN."""
    if n % 2:
        return draw.fractions(n), draw.integers(-9, 10, taps)
    x, w = draw.integers(-9, 10, n), draw.fractions(taps)
    if n > 900:
        x[-1], w[1:2] = torch.inf, 0
    return x, w


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
Let `y[i]` be the sum of `w[k] * x[i + k]` over all elements of the filter `w`, where `x` counts as
0 past its end. `w` has 1 to 32 elements. No block may load an element of `x` or `w` more than once; only the last
one may be repeated, by threads beyond the end.
All tensors are float32; elements of `x` may be infinite. Signature: `convolve(x, w, y)`.
""",
    hints=(
        "This is the previous exercise with a second tensor in shared memory and a halo whose "
        "size is known only at run time. Tensors in shared memory have fixed sizes, so allocate "
        "space for the largest halo and filter.",
        "Which threads load w, and which load the halo? Neither of them has more than 32 "
        "elements. How many barriers do two tensors need?",
        "Use one tile of 128 + 31 elements and one of 32 elements. The first `mW.shape[0] - 1` "
        "threads load the halo. After one barrier, start the sum with `cutlass.Float32(0)` and "
        "add the products in a loop over `range(mW.shape[0])`.",
    ),
    analysis="""
All lanes read the same `sW[k]` at the same time, which is called a broadcast and takes one
wavefront. For every k, `sX[tidx + k]` reads 32 adjacent elements, which also takes one wavefront.
So each product costs two accesses to shared memory and one multiply-add. For a long filter, these
accesses limit the kernel. The next step would be to compute several results per thread from values
in registers.
""",
    asked={
        "barriers": 1,
        "shared_bytes": (
            "shared memory for at most 64 more floats than there are threads in a block",
            lambda block: 4 * (block + 64),
        ),
    },
    entry="convolve",
    given=PICTURE,
    inputs=_inputs,
    result=_filtered,
    sizes=[(8, 3), (1, 1), (1000, 5), (128, 2), (1024, 3), (300, 32), (5, 9), (129, 4), (259, 32)],
    count=[(1000, 9), (10_001, 32)],
    legal=lambda n, taps: (n, min(32, taps)),
    waste={"loaded": 2, "load_sectors": 2},  # the halo of small blocks
    misconceptions=[
        looks_like(
            lambda x, w, y: _filtered(x, w.flip(0)),
            "in this call, y is the result of the filter backwards. w[k] belongs to x[i + k].",
        ),
        looks_like(
            lambda x, w, y: _filtered(x.flip(0), w).flip(0),
            "in this call, y[i] is the sum of w[k] * x[i - k] instead of w[k] * x[i + k].",
        ),
        looks_like(
            lambda x, w, y: _filtered(x, w[:-1]),
            "in this call, the sums omit the last element of w.",
        ),
        looks_like(
            lambda x, w, y: _filtered(x, w)[: len(x)] - w[0] * x,
            "in this call, the sums omit w[0].",
        ),
        halo_missing(lambda e: len(e.case.args[1]) - 1),
        found(
            "shared-race",
            "a thread reads an element that another may not have stored yet.",
            text=" reads ",
        ),
    ],
    more=lambda make: (loaded_once(make, (1000, 9), (100, 5), (300, 32)),),
)
