"""Puzzle week2/single_pass: online softmax in one read, one block per row, one barrier."""

import torch

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..in_registers import DIVISIONS, EXPONENTIALS, arithmetic
from ..rows import hard_rows
from ..unseen import NAN_FROM_NOTHING


def _by_thread(x):
    """Return x as (rows, loads, 4 warps, 32 lanes, vector) in float64, and the maximum so far at
    each vector."""
    vec = 16 // x.element_size()
    wide = torch.nn.functional.pad(x.double(), (0, 4096 - x.shape[1]), value=-torch.inf)
    vectors = wide.reshape(len(x), -1, 4, 32, vec)
    return vectors, vectors.amax(4).cummax(1).values


def _finite(m):
    return torch.where(m == -torch.inf, 0.0, m)


def _not_rescaled(where):
    """Return a softmax that does not rescale its sums at vectors, at lanes or at warps."""

    def softmax(x, y):
        vectors, m_k = _by_thread(x)
        s_k = (vectors - _finite(m_k)[..., None]).exp().sum(4)  # (rows, loads, 4, 32)
        m_lane, m_warp, m = m_k[:, -1], m_k[:, -1].amax(2), x.double().amax(1)
        factor = 1.0 if where == "vectors" else (m_k - _finite(m_lane)[:, None]).exp()
        s_lane = (s_k * factor).sum(1)
        factor = 1.0 if where == "lanes" else (m_lane - _finite(m_warp)[..., None]).exp()
        s_warp = (s_lane * factor).sum(2)
        factor = 1.0 if where == "warps" else (m_warp - _finite(m)[:, None]).exp()
        s = (s_warp * factor).sum(1)
        return (x.double() - m[:, None]).exp() / s[:, None]

    return softmax


def _each_warp_alone(x, y):
    """Return each warp's elements relative to their own maximum and sum."""
    vectors, _ = _by_thread(x)
    alone = vectors.transpose(1, 2).flatten(2).softmax(2).reshape(len(x), 4, -1, *vectors.shape[3:])
    return alone.transpose(1, 2).flatten(1)[:, : x.shape[1]]


def _not_corrected(x, y):
    """Return exponentials relative to the maximum so far of their thread, over the right sum."""
    vectors, m_k = _by_thread(x)
    e = (vectors - _finite(m_k)[..., None]).exp().flatten(1)[:, : x.shape[1]]
    m = x.double().amax(1, keepdim=True)
    return e / (x.double() - m).exp().sum(1, keepdim=True)


def _inputs(draw, m, n):
    """Return hard rows. In every third row, the elements of one warp, of each in turn, are so large
    that their exponentials relative to another warp's maximum overflow."""
    x = hard_rows(draw, m, n, masked=True)
    warps = torch.arange(n) // (16 // x.element_size()) // 32 % 4
    for k, row in enumerate(x[2::3]):
        row[warps == k % 4] += 400
    return (x,)


def _with_zeros(x, y):
    n = x.shape[1]
    return torch.nn.functional.pad(x.double(), (0, 4096 - n)).softmax(1)[:, :n]


EXERCISE = puzzle(
    title="write a single-pass online softmax",
    task="""
Compute the softmax of rows of up to 4,096 elements; N is a multiple of 8. Support float32 and bfloat16;
compute in float32. Some elements are −∞, and a row of −∞ gives NaN.

- Read the row once, keep it in registers, and write it once.
- Each thread computes one pair from its vectors: a maximum and the sum relative to it.
- Shuffles merge the pairs (m, s) of a warp; shared memory merges those of the four warps.
- Per element, compute one exponential and no division. You may compute more per vector, lane or
  row.

You may use this notebook's `exp2` and `fma`. Signature: `single_pass_softmax(x, y)`.
""",
    hints=(
        "Begin with a kernel that only loads vectors, with −∞ in place of missing ones, and stores them again. Then add the loop over vectors, the merge of lanes, and the merge of warps. After each step, run `fk.check` on one row with the part that is finished.",
        "Keep three things: the exponentials of all vectors; for each vector, the maximum *so far* that its exponentials are relative to; and (m, s). At the end multiply each vector by one factor, 2^(its maximum − the row's maximum) / s.",
        "A thread or a whole warp may have no elements, and a vector may hold only −∞; −∞ − (−∞) is NaN. So the exponentials, and every line that rescales, subtract the maximum, or 0 where that is −∞. Only the last factor uses the row's maximum unchanged.",
    ),
    analysis="""
The kernel computes the exponentials as vectors arrive, relative to the maximum known at that point, and later
corrects them by one factor per vector. The inner loop of flash attention does the same, except that its
"vectors" are tiles of scores and the corrected value is an output. Alternatively, each thread can first find
the maximum of its whole part, so that pairs are merged only across lanes and warps; traffic and barriers stay
the same.
""",
    asked={
        "work": "one block per row",
        "block": 128,
        "sharing": 4,
        "barriers": 1,
        "shuffles": 20,
        "shared_bytes": 256,
        "load_bytes": 16,
        "store_bytes": 16,
    },
    entry="single_pass_softmax",
    inputs=_inputs,
    result=lambda x: x.softmax(1),
    sizes=[(1, 640), (2, 16), (5, 4096), (7, 1000), (1, 8), (6, 1032)],
    count=[(2, 512), (12, 4000)],
    dtypes=("float32", "bfloat16"),
    waste={"instructions": 2},
    legal=lambda m, n: (m, min(4096, max(8, n // 8 * 8))),
    promise={0: {1: 8}, 1: {1: 8}},
    misconceptions=[
        looks_like(_each_warp_alone, "the weights of each warp's elements add up to 1: the warps were not merged."),
        looks_like(_not_corrected, "the sum is correct, but exponentials stay relative to the maximum known "
                   "when they were computed."),
        # Near 1,000, the exponents are rounded to 2⁻¹³, which cancels only with a common maximum.
        looks_like(_not_rescaled("vectors"), "a thread's sum is not rescaled when its maximum grows.", rtol=1e-3),
        looks_like(_not_rescaled("lanes"), "the sums of lanes are added although they are relative to different maxima.", rtol=1e-3),
        looks_like(_not_rescaled("warps"), "the sums of warps are added although they are relative to different maxima.", rtol=1e-3),
        looks_like(_with_zeros, "missing elements are treated as a finite number, such as 0, instead of −∞."),
        NAN_FROM_NOTHING,
    ],
    more=lambda make: (read_at_most(make, (2, 4000), {0: 1}), arithmetic(make, (2, 4096), (EXPONENTIALS, "exponentials per element", 2.0),
                     (DIVISIONS, "divisions per element", 0.2), dtype="bfloat16",
                     look_at="fk.profile(*{failed})"),),
)  # fmt: skip
