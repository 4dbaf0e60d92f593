"""Puzzle week2/masked_softmax: a softmax with a temperature, over some of a row's elements."""

import math

import torch

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle

from ..rows import far_below, hard_rows
from ..unscaled import FINITE, not_in_loop, not_in_merge


def _inputs(draw, m, n):
    x, mask = hard_rows(draw, m, n, spread=False), draw.integers(0, 2, m, n, dtype=torch.uint8)
    mask[3::4] = 0  # rows without unmasked elements
    mask[4::8] = 1
    x[4::8, 2 * n // 3] += 200  # exp overflows if the maximum of half of the lanes is subtracted
    mask[0, 0] = mask[0, -1] = 1
    if n > 32:
        mask[1::4, 0], mask[1::4, 32] = 1, 0  # a lane has a masked element after another
    t = (0.5, 2765 / 2048, 1.0)[(m + n + (draw.dtype == torch.bfloat16)) % 3]
    # The second one is not exact in bfloat16, in whose listed sizes m + n is divisible by 3.
    x[2::4] = far_below(x[2::4]) * min(t, 1)
    if n > 3:
        mask[0, 1] = 0
    if n > 4:  # otherwise 0 or 1
        mask *= torch.tensor([1, 2, 255, 128], dtype=torch.uint8)[torch.arange(n) % 4]
    x[mask == 0] = 9
    if n > 4:  # otherwise, and in the first rows, a number, whose effect is visible
        left_out = torch.arange(m * n).reshape(m, n) % 3 * (mask == 0)
        left_out[: max(1, min(2, m - 2))] = 0
        x[left_out == 1], x[left_out == 2] = torch.nan, torch.inf
    return x, mask, t


def _softmax(x, mask, t):
    """Return the softmax, with 0 for masked elements, even if a row has no others."""
    return (x.double() / t).masked_fill(mask == 0, -torch.inf).softmax(1).nan_to_num(0.0)


def _mask_after(x, mask, t, y):
    return ((x.double() / t).softmax(1) * (mask != 0)).nan_to_num(0.0)


def _factor_in_sum(x, mask, t, y):
    """Return the result if lanes add masked elements times 0 after an element without a mask."""
    kept = mask != 0
    m = x.double().masked_fill(~kept, -torch.inf).max(1, keepdim=True).values
    e = ((x.double() - m) / t).exp().float()
    added = kept | torch.nn.functional.pad(kept, (32, 0))[:, : x.shape[1]]
    s = (e * kept).masked_fill(~added, 0).sum(1, keepdim=True)
    return (e / s).masked_fill(~kept, 0).double()


def _by_a_factor(x, mask, t, y):
    m = x.double().masked_fill(mask == 0, -torch.inf).max(1, keepdim=True).values
    e = ((x.double() - m) / t).exp().float()
    return (e / e.masked_fill(mask == 0, 0).sum(1, keepdim=True) * mask).double()


def _scaled_first(x, mask, t, y):
    """Return the result if x · log2(e) / t is rounded to float32 before the maximum is
    subtracted."""
    scale = torch.tensor(math.log2(math.e) / t)
    return _softmax((x.float() * scale).double() * math.log(2), mask, 1.0)


def _relative_to(maximum):
    """Return the result with exponentials in float32, relative to a number other than the
    maximum."""

    def result(x, mask, t, y):
        x, out = x.double(), mask == 0
        e = ((x - maximum(x, out)[:, None]) / t).float().exp().masked_fill(out, 0)
        return (e / e.sum(1, keepdim=True)).masked_fill(out, 0)

    return result


def _at_least(start):
    return lambda x, out: x.masked_fill(out, -torch.inf).max(1).values.clamp(min=start)


def _of_all(x, out):
    """Return the maximum that fmax finds, which ignores NaN."""
    return x.nan_to_num(-torch.inf, torch.inf).max(1).values


def _of_all_online(x, mask, t, y):
    """Return the result of the maximum of all elements, with NaN if a lane's maximum is still -inf
    after its first element, or is inf."""
    bad = x[:, :32].isnan().any(1, keepdim=True) | (x == torch.inf).any(1, keepdim=True)
    return _relative_to(_of_all)(x, mask, t, y).masked_fill(bad & (mask != 0), torch.nan)


def _no_number(x, mask, t, y):
    """Return the result if a lane subtracts -inf from -inf at its first element."""
    bad = (mask[:, :32] == 0).any(1, keepdim=True)
    return _softmax(x, mask, t).masked_fill(bad & (mask != 0), torch.nan)


def _with(sums):
    """Return the result computed with other row sums."""

    def result(x, mask, t, y):
        scaled = (x.double() / t).masked_fill(mask == 0, -torch.inf)
        e = (scaled - scaled.max(1, keepdim=True).values).exp()
        return (e / sums(scaled, 32)[:, None]).nan_to_num(0.0)

    return result


OF_ALL = (
    "the maximum covers all elements, including the masked ones: one of them may be NaN or ∞, or so much "
    "larger that every exponential is 0."
)

EXERCISE = puzzle(
    title="take a masked softmax with a temperature",
    task="""
Compute the softmax of `x / t` over the elements of a row whose `mask` is not 0: `y[m, n] = exp(x[m, n] / t) / Σ exp(x[m, k] / t)`, where the sum covers all k with `mask[m, k] ≠ 0`. Where the mask is 0, y is 0, even if x is large, infinite or NaN there; all other elements are finite. A row whose mask is all 0 becomes 0 (torch returns NaN). A row may be around −100,000. Read each row at most twice. `mask` is uint8, and t > 0; x and y are float32 or bfloat16. Compute in float32. Signature: `masked_softmax(mX, mMask, t: Float32, mY)`.
""",
    hints=(
        "A masked element counts neither in the maximum nor in the sum. What are m and s of a "
        "lane without an element?",
        "NaN times 0 is NaN, so exclude an element with a predicate, not with a factor. −∞ − (−∞) is NaN as well. Which lines could compute such a difference of two maxima?",
        "The temperature and log₂ e form one factor. Compute it once, before the loops. In the lines with exponentials, apply it to the difference from the maximum.",
    ),
    analysis="""
Softmax in attention nearly always has a mask: for padding, for causality, or for several documents in one
sequence. One byte of mask per element increases the bytes read by a quarter in float32 and by half in bfloat16. A
causal mask that is computed from row and column adds none.
""",
    asked={"work": "one warp per row"},
    entry="masked_softmax",
    inputs=_inputs,
    result=_softmax,
    sizes=[(2, 4), (4, 5), (1, 1), (5, 31), (3, 33), (2, 1003), (9, 65), (6, 100)],
    count=[(5, 100), (96, 300)],
    dtypes=("float32", "bfloat16"),
    misconceptions=[
        looks_like(_mask_after, "the masked elements are set to 0 at the end, but they are included in the maximum or the sum."),
        looks_like(lambda x, mask, t, y: _softmax(x, mask, 1.0), "the temperature has no effect: the values are the softmax of x."),
        looks_like(lambda x, mask, t, y: _softmax(x, mask, 1.0 / t), "x is multiplied by the temperature, not divided."),
        looks_like(lambda x, mask, t, y: _softmax(x, mask, t * 1.4426950408889634), "exp2(x) is 2 to the power of x, so the factor log₂ e is missing."),
        looks_like(lambda x, mask, t, y: _softmax(x, mask == 0, t), "the mask is inverted."),
        looks_like(lambda x, mask, t, y: _softmax(x.masked_fill(mask == 0, 0), mask >= 0, t) * (mask != 0), "the masked elements "
                   "count as 0, but exp(0) is 1, which adds to the sum."),
        looks_like(lambda x, mask, t, y: _softmax(x, mask == 1, t), "only elements with a mask of 1 take part: include every element whose "
                   "mask is not 0."),
        looks_like(_by_a_factor, "NaN and ∞ times 0 are NaN: exclude an element with a predicate, not with a factor."),
        looks_like(_factor_in_sum, "NaN and ∞ times 0 are NaN, which makes the sum of the row NaN: exclude an element from the sum "
                   "with a predicate, not with a factor."),
        looks_like(_relative_to(lambda x, out: torch.zeros(len(x))), "no maximum is subtracted: in a row around 1,000 "
                   "the exponentials are infinite, and in a row far below 0 all of them are 0."),
        looks_like(_relative_to(_of_all), OF_ALL),
        looks_like(_of_all_online, OF_ALL),
        *(looks_like(_relative_to(_at_least(start)), FINITE) for start in (0.0, -10_000.0, -65_504.0)),
        looks_like(_scaled_first, "x · log₂ e / t, rounded to float32 before the maximum is subtracted, gives exactly this result: in a row far from 0, the rounding loses the digits that matter. Subtract first, and multiply the difference."),
        looks_like(_no_number, "a lane whose first element is masked computes −∞ − (−∞) = NaN, which makes the sum "
                   "of its row NaN."),
        looks_like(_with(not_in_merge), "the sums of the lanes are added without rescaling, although each is relative to its own maximum."),
        looks_like(_with(not_in_loop), "a lane's sum keeps terms relative to an older maximum: whenever the maximum "
                   "grows, rescale the sum so far."),
        looks_like(lambda x, mask, t, y: _softmax(x, mask, t).masked_fill((mask == 0).all(1, True), torch.nan),
                   "rows without any element are NaN, but the others are correct: what does the kernel divide there?"),
    ],
    given=picture(
        "temperature 1; the second row has no element",
        {"x": [[("log 1", 0), "NaN", ("log 3", 0)], ["5", "∞", "2"]], "mask": [[("1", 0), "0", ("1", 0)], ["0", "0", "0"]],
         "y": [[("0.25", 0), "0", ("0.75", 0)], ["0", "0", "0"]]},
    ),
    waste={"loaded": 1.7, "load_sectors": 1.7},  # masked elements may be read
    more=lambda make: (read_at_most(make, (5, 100), {0: 2, 1: 2}),),
    praise="No masked element affects the result.",
)  # fmt: skip
