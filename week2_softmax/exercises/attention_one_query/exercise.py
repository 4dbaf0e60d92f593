"""Puzzle week2/attention_one_query: attention for one query, with online softmax in one pass."""

import math

import torch

from forgekit.lessons.gates import GateError, Group, Misconception, looks_like, read_at_most
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle

from ..unscaled import FINITE

WARPS = 4
PICTURE = picture(
    "one head: one colour per warp",
    {
        "keys and values": [[f"K{i} V{i}" for i in range(9)]],
        "each warp's part": [["m0 s0 o0", "m1 s1 o1", "m2 s2 o2", "m3 s3 o3"]],
        "the result": [["o"]],
    },
    lambda text: int(text[1]) % WARPS if len(text) > 1 else None,
)


def _inputs(draw, heads, length, dim):
    """Return inputs with four kinds of scores, one per head in turn: plain; rising from 60 to 120,
    so that exp overflows and each key has a new maximum; around -120 or far below, so that all
    exponentials are 0; and plain except for the first key of warp 2, whose score is 110 above the
    others. If the length is a multiple of four, the first key of warp 3 also exceeds the small
    scores, and with three or more heads the second key of warp 1 the plain ones. If the number of
    heads is a multiple of five below 50, scale is 0."""
    scale = (1 if heads % 3 else -1) * draw.number(0.6, 0.9) / math.sqrt(dim)
    q, k, v = draw(heads, dim), draw(heads, length, dim), draw(heads, length, dim)
    if heads % 5 == 0 and heads < 50:
        return q, k, v, 0.0, dim
    if draw.dtype == torch.float16:
        v[0::4] *= 4  # so that atol hides no rounding of the weights or of their sum
    along = q / (q.float().square().sum(1, keepdim=True) * scale).to(q.dtype)  # a score of 1
    if heads > 1:
        k[1::4] += torch.linspace(60, 120, length).to(k.dtype)[:, None] * along[1::4, None]
    k[2::4] -= 120 * along[2::4, None]
    if length % 2:  # equal scores, far below numbers that often serve as -inf
        q[2::4], k[2::4, :, 0] = (
            0,
            math.copysign(6e4, -scale) if draw.dtype == torch.float16 else -1.1e31 / (4 * scale),
        )
        q[2::4, 0] = 4
    if length % 4 == 0 and heads > 2:
        k[0::4, 5:6] += 110 * along[0::4, None]
    k[3::4, 2:3] += 110 * along[3::4, None]
    if length % 4 == 0:
        k[2::4, 3:4] += 110 * along[2::4, None]
    return q, k, v, scale, dim


def _scores(q, k, scale):
    return (k.double() @ q.double()[:, :, None])[:, :, 0] * scale


def _attention(q, k, v, scale, dim=None, *, divide=True):
    """Compute the attention in float64. divide: False omits the division by the sum of the
    exponentials, which are relative to the maximum."""
    scores = _scores(q, k, scale)
    weights = (scores - scores.amax(1, keepdim=True)).exp()
    o = (weights[:, None] @ v.double())[:, 0]
    return o / weights.sum(1, keepdim=True) if divide else o


def _shifted(q, k, v, scale, by):
    """Compute the attention in float32, with exp(score - by), even if it overflows."""
    scores = _scores(q, k, scale)
    weights = (scores - by(scores)).float().exp()
    return (weights[:, None] @ v.float())[:, 0] / weights.sum(1, keepdim=True)


def _by_warps(q, k, v, scale, *, rescale_o=True, rescale_s=True, reduced=True, merge="all"):
    """Compute the attention of four warps in float64, warp w with keys w, w + 4, …, with a step
    omitted.

    reduced: True if the lanes add up the score; False if each lane continues with its own part.
    """
    heads, length, dim = k.shape
    scores = k.double() * q.double()[:, None] * scale  # (heads, L, dim)
    if reduced:
        scores = scores.sum(2, keepdim=True).expand(-1, -1, dim)
    else:
        scores = scores.reshape(heads, length, -1, 32).sum(2).repeat(1, 1, dim // 32)
    m = torch.full((heads, WARPS, dim), -torch.inf, dtype=torch.float64)
    s, o = torch.zeros_like(m), torch.zeros_like(m)
    for i in range(length):
        w, x = i % WARPS, scores[:, i]
        m_new = torch.maximum(m[:, w], x)
        old, new = (m[:, w] - m_new).exp(), (x - m_new).exp()
        s[:, w] = s[:, w] * (old if rescale_s else 1) + new
        o[:, w] = o[:, w] * (old if rescale_o else 1) + new * v[:, i].double()
        m[:, w] = m_new
    m, s = m[:, :, :1], s[:, :, :1]  # lane 0 passes them on
    if merge == "first":
        return o[:, 0] / s[:, 0]
    if merge == "mean":  # each warp has divided by its own sum
        return (o / s).nanmean(1)
    largest = {"all": m.amax(1, keepdim=True), "of warp 0": m[:, :1]}.get(merge, m)
    factor = (m - largest).float().exp()  # overflows as in the kernel
    return (o * factor).sum(1) / (s * factor).sum(1)


def _empty_warp(e):
    """Return True if some warp has no key and all results are NaN."""
    got = e.got[5]
    return e.case.args[1].shape[1] < WARPS and bool(got.isnan().all())


def _keys_shared(make):
    """Each key, and its value, is read by 32 lanes of the warp of its number, modulo 4."""

    def check(submission, dim):
        from forgekit.tracing.footprint import footprint

        case = submission.case(make, (2, 43, dim), "float32")
        kernel = submission.compiled(case)
        touched = footprint(kernel, *submission.arguments(case).values()).touched
        for position, what in ((1, "key"), (2, "value")):
            name = kernel.parameters[position].name
            threads = touched[name]["thread"].reshape(case.args[1].shape)  # of each component
            look_at = f"fk.footprint(*{{failed}}, tensor='{name}', by='%s', kind='load')"
            for key in range(threads.shape[1]):
                warps = threads[:, key] // 32
                if (other := warps[warps != key % WARPS]).size:
                    raise GateError(
                        f"With {case.label}, warp {other[0]} reads {what} {key}; needed warp "
                        f"{key % WARPS}.",
                        f"the task gives warp w the {what}s w, w + 4, w + 8, …",
                        look_at % "warp",
                    )
                if (lanes := len({*threads[0, key].tolist()})) < 32:
                    raise GateError(
                        f"With {case.label}, {lanes} lanes read {what} {key}; needed 32.",
                        look_at=look_at % "thread",
                    )

    def run(submission):
        check(submission, 32)
        check(submission, 64)
        return "warp w has keys w, w + 4, …"

    return Group("Keys", run)


def _merged_once(make):
    """The number of stores to shared memory does not depend on the number of keys."""

    def run(submission):
        stores = []
        for length in (40, 80):
            case = submission.case(make, (2, length, 32), "float32")
            stores.append(submission.counted(case)[0]["shared_store_requests"])
        if stores[1] > stores[0]:
            raise GateError(
                f"Warps store to shared memory {stores[0]:,} times with 40 keys, and "
                f"{stores[1]:,} times with 80.",
                "the task keeps m, s and o in registers, and the warps use shared memory to merge "
                "them once.",
                "fk.profile(*{failed})",
            )
        return "one merge for any L"

    return Group("Registers", run)


EXERCISE = puzzle(
    title="compute attention for one query",
    task="""
For its next token, a language model has one query of `dim` components per head, and all keys and values so far. `q` and `o` have shape (heads, dim); `K` and `V` have shape (heads, L, dim).

    o = softmax(q · Kᵀ · scale) V

Make one pass over K and V; no score reaches memory. Four warps share a head: warp w has keys w,
w + 4, w + 8, …, and its lanes read each key together, 32 components per load. Each warp keeps
m, s and o in registers; the warps merge them once, in shared memory. L is at least 1, `scale`
is any number, and `dim` is 32 or 64 and known at compile time. Support float32 and float16;
compute in float32. Signature: `attention_one_query(mQ, mK, mV, scale: Float32, dim:
cutlass.Constexpr, mO)`.
""",
    hints=(
        "First write `online` for a row of scores. Then treat o like s: wherever you multiply s, multiply o by the same factor, and wherever you add a term to s, add that term times v to o.",
        "Lane j has components j and j + 32 of q, o, and each key and value. After the loop, lane 0 stores m and s, and all lanes store o, in shared tensors of shape (4) and (4, dim).",
        "After the barrier take the maximum of the four m first; then multiply each warp's s "
        "and o by exp2(m of the warp − maximum). A warp without a key has m = −∞ and the factor 0. If you merged two such warps first, you would compute −∞ − (−∞).",
    ),
    analysis="""
For 8 heads with 1,000 keys of 64 float16, K and V have 2,048,000 bytes and threads request 2,052,096 bytes; the
rest is q, once per warp. Each block needs 1,056 bytes of shared memory, four times (m, s, o), for any L. A key
takes 43 instructions, ten of them for the five shuffles and additions of the score. With 16 bytes per lane (8
lanes per key), 32,064 load requests become 4,032 and 43 instructions become 22. One query's scores would add only
4 bytes to the 256 bytes of a key and its value, but L queries have L² scores. If heads are few and L is large,
blocks share the keys as warps do here, and merge once more; this is *flash decoding*.
""",
    asked={"work": "one block per head", "block": 128, "barriers": 1, "shared_bytes": 2048},
    entry="attention_one_query",
    given=PICTURE,
    inputs=_inputs,
    result=_attention,
    sizes=[(1, 6, 32), (2, 33, 32), (1, 1, 64), (4, 31, 64), (1, 257, 32), (7, 6, 32), (5, 9, 64), (3, 64, 32), (6, 3, 64)],
    count=[(2, 40, 32), (2, 150, 64)],
    dtypes=("float32", "float16"),
    legal=lambda heads, length, dim: (heads, length, 64 if dim > 32 else 32),
    promise={0: {1: 32}, 1: {2: 32}, 2: {2: 32}, 5: {1: 32}},
    atol=3e-5,  # each addition rounds a score of 120, and hence its exponential, by up to 4e-6
    misconceptions=[
        looks_like(lambda q, k, v, scale, dim, o: _by_warps(q, k, v, scale, rescale_o=False), "o is not "
                   "rescaled when the maximum grows."),
        looks_like(lambda q, k, v, scale, dim, o: _by_warps(q, k, v, scale, rescale_s=False), "s is not "
                   "rescaled when the maximum grows."),
        looks_like(lambda q, k, v, scale, dim, o: _by_warps(q, k, v, scale, reduced=False), "the score of "
                   "each lane is its own part of q · K: the warp does not add up the parts."),
        looks_like(lambda q, k, v, scale, dim, o: _by_warps(q, k, v, scale, merge="none"), "the o and s of "
                   "the four warps are added without rescaling, although each is relative to its warp's maximum."),
        looks_like(lambda q, k, v, scale, dim, o: _by_warps(q, k, v, scale, merge="of warp 0"), "the merge "
                   "subtracts less than the largest of the four maxima, such as the maximum of warp 0: relative to "
                   "that, the s of another warp overflows."),
        looks_like(lambda q, k, v, scale, dim, o: _by_warps(q, k, v, scale, merge="mean"), "each warp "
                   "divides by its own sum, and the result is the mean of the four: a warp with small scores "
                   "counts as much as one with large scores."),
        looks_like(lambda q, k, v, scale, dim, o: _by_warps(q, k, v, scale, merge="first"), "the result covers only the keys "
                   "of warp 0."),
        looks_like(lambda q, k, v, scale, dim, o: _attention(q, k, v, 1 / math.sqrt(q.shape[1])), "the scores "
                   "are multiplied by 1 / √dim, but the argument `scale` has another value here."),
        looks_like(lambda q, k, v, scale, dim, o: _attention(q, k, v, 1.0), "the scores are not "
                   "multiplied by scale."),
        looks_like(lambda q, k, v, scale, dim, o: _attention(q, k, v, scale * math.log(2)), "the exponential is 2 to "
                   "the score instead of e to the score: log2(e) is missing."),
        looks_like(lambda q, k, v, scale, dim, o: _attention(q, k, v, scale, divide=False), "the result is not "
                   "divided by the sum of the exponentials."),
        looks_like(lambda q, k, v, scale, dim, o: v.double().mean(1), "o is the mean of the values: all "
                   "keys have the same weight."),
        looks_like(lambda q, k, v, scale, dim, o: _attention(q, k[:, :-1], v[:, :-1], scale), "the last key is "
                   "missing."),
        looks_like(lambda q, k, v, scale, dim, o: _attention(q, k[:, : k.shape[1] // 4 * 4], v[:, :
                   k.shape[1] // 4 * 4], scale), "the last L % 4 keys are missing."),
        looks_like(lambda q, k, v, scale, dim, o: _shifted(q, k, v, scale, lambda x: 0), "no maximum seems "
                   "to be subtracted: exp overflows, or all exponentials are 0."),
        looks_like(lambda q, k, v, scale, dim, o: _shifted(q, k, v, scale, lambda x: x.amax(
                   1, keepdim=True).clamp(min=0)), FINITE),
        Misconception("there is NaN where some of the four warps have no key: their part is (−∞, 0, 0). What is −∞ − (−∞), or "
             "0 / 0?", _empty_warp),
    ],
    more=lambda make: (
        _keys_shared(make), _merged_once(make), read_at_most(make, (2, 43, 64), {1: 1, 2: 1}),
    ),
    praise="You have written attention from an empty body. It is the inner loop of flash attention.",
)  # fmt: skip
