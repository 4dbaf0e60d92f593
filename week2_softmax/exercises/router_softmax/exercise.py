"""Puzzle week2/router_softmax: short rows, several per warp, with a bias."""

import torch

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, m, n):
    x = draw(m, n).float() * 2
    x[::2] += 200  # without the maximum, exp overflows in every second row
    x[4::8, 2 * n // 3] += 200  # with the maximum of half of the lanes, too
    bias = draw(n) * 2
    if n > 4:  # a switched-off expert that scores best in every third row
        x[1::3, n // 2] += 1e8 if draw.dtype == torch.float32 else 30_000
        bias[n // 2] = -1e9 if draw.dtype == torch.float32 else -60_000
    x[3::8] -= 60_000 if draw.dtype == torch.float16 else 2.0**127  # no score is above -1e38
    if draw.dtype == torch.float16:
        if n % 8 == 1:  # scores that do not fit in float16
            x[::2] += 6_000
            bias[bias > -1000] = 60_000
    elif n == 2:  # every expert is switched off
        bias[:] = torch.finfo(torch.float32).min
    return x.to(draw.dtype), bias


def _scores(x, bias):
    """Return the scores in float32 precision."""
    return (x.double() + bias.double()).float().double()


def _softmax(x, bias):
    return _scores(x, bias).softmax(1)


def _maximum_before_bias(x, bias, y):
    """Return the result in float32: every exponential is 0 if the expert with the best score is
    switched off."""
    scores = _scores(x, bias)
    e = (scores - x.double().amax(1, keepdim=True)).exp().float()
    return (e / e.sum(1, keepdim=True)).double()


def _of_warps(what):
    """Return the result if the maximum, or the sum, covers all four rows of a warp."""

    def result(x, bias, y):
        scores = _scores(x, bias)
        rows = torch.arange(len(x)) // 4
        m = scores.max(1).values
        if what == "m":
            m = torch.stack([m[rows == r].max() for r in rows])
        e = (scores - m[:, None]).exp().float()
        s = e.sum(1)
        if what == "s":
            s = torch.stack([s[rows == r].sum() for r in rows])
        return (e / s[:, None]).double()

    return result


def _by_lanes(x, bias, y):
    """Return the result if each lane's columns, every eighth, form a separate row."""
    result = torch.empty(x.shape, dtype=torch.float64)
    for lane in range(8):
        result[:, lane::8] = _softmax(x[:, lane::8], bias[lane::8])
    return result


def _filled_with_0(x, bias, y):
    scores = _scores(x, bias)
    zeros = torch.zeros(len(x), 64 - x.shape[1], dtype=torch.float64)
    return torch.cat([scores, zeros], 1).softmax(1)[:, : x.shape[1]]


EXERCISE = puzzle(
    title="take the softmax of short rows with a bias",
    task="""
A *router* sends each token to a few of N experts. It takes the softmax of the token's N scores
plus one bias per expert: `y[m, n] = exp(x[m, n] + b[n]) / Σ exp(x[m, k] + b[k])`. There are many rows, and they are short (N is at most 64), so four rows share a warp. Keep the row in registers and read x once. The tensors are all float32 or all float16; compute in float32, including x + b. A bias may have any
value: −10⁹ switches an expert off. Signature: `router_softmax(x, b, y)`.
""",
    hints=(
        "`tidx // 8` is the row within the block, and `tidx % 8` is the lane's position in it. A lane keeps every eighth column, at most 8 in all, in a register tensor.",
        "`cute.arch.warp_reduction_max` and its siblings take `threads_in_group`: groups of 8 lanes then reduce separately with the same shuffles.",
        "The last row may end in the middle of a warp, and a shuffle needs all lanes: put `row "
        "< M` around the loads and stores, not around the reductions.",
    ),
    analysis="""
With one warp per row, a router of 8 experts leaves 24 of 32 lanes idle and needs five shuffles where three suffice. The kernel requests the bias once per row, but its N numbers stay in the cache. A separate operator for the bias
would read and write all of x once more. In such a chain, softmax is the last step: fuse the elementwise steps
before it into its load.
""",
    asked={"work": "eight lanes per row", "shared_bytes": 0},
    entry="router_softmax",
    inputs=_inputs,
    result=_softmax,
    sizes=[(4, 3), (2, 4), (1, 1), (5, 8), (3, 2), (3, 31), (17, 64), (33, 9), (15, 33), (65, 16)],
    count=[(20, 16), (640, 64)],
    dtypes=("float32", "float16"),
    legal=lambda m, n: (m, min(64, n)),
    misconceptions=[
        looks_like(lambda x, bias, y: x.double().softmax(1), "the bias has no effect."),
        looks_like(lambda x, bias, y: _softmax(x, 2 * bias.double()), "the bias is added twice."),
        looks_like(lambda x, bias, y: _softmax(x, -bias.double()), "the bias is subtracted."),
        looks_like(lambda x, bias, y: x.double().softmax(1) + bias.double(), "the bias is added after the softmax."),
        looks_like(lambda x, bias, y: (_scores(x, bias) * 0.6931471805599453).softmax(1), "exp2(x) is 2 to the power of "
                   "x, so log₂ e is missing."),
        looks_like(_maximum_before_bias, "the maximum is taken before the bias: where the expert with the largest x is switched "
                   "off by its bias, every exponential is 0."),
        looks_like(_of_warps("m"), "the kernel subtracts a maximum of several rows of a warp: in rows far below that maximum, every "
                   "exponential is 0."),
        looks_like(_of_warps("s"), "the kernel divides by the sum of a warp's four rows."),
        looks_like(_by_lanes, "the weights are those of each lane's own columns, as if the eight lanes of "
                   "a row did not exchange their results."),
        looks_like(_filled_with_0, "missing elements count as 0, but exp(0) is 1, which adds to the sum."),
        looks_like(lambda x, bias, y: (_scores(x, bias).exp().float() / _scores(x, bias).exp().float()
                                       .sum(1, keepdim=True)).double(), "exponentials overflow: nothing is subtracted from the scores."),
    ],
    more=lambda make: (read_at_most(make, (21, 60), {0: 1}),),
    given=picture(
        "two rows of three scores; the bias makes the last expert likelier",
        {"x": [[("log 1", 0), ("log 1", 0), ("log 1", 0)], [("log 4", 0), ("log 2", 0), ("log 1", 0)]], "b": [["0", "0", "log 2"]],
         "y": [[("0.25", 0), ("0.25", 0), ("0.5", 0)], [("0.5", 0), ("0.25", 0), ("0.25", 0)]]},
    ),
)  # fmt: skip
