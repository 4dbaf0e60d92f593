"""Puzzle week2/causal_softmax: scale and causal mask fused into the row."""

import math

import torch

from forgekit.lessons.gates import GateError, Group, looks_like, read_at_most
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle
from forgekit.text import plural

SCALES = (0.5, -2.0, 1.0, 4.0)  # powers of two: scale · x is exact, however large x is
NARROW = tuple(s * (1 + 2**-10) for s in (0.5, -2.0, 1.5, 4.0))  # also exact for x in bfloat16


def _kept(m, n, shift=0):
    """Return True for the elements that take part: those up to column row + N - M."""
    return torch.ones(m, n, dtype=torch.bool).tril(n - m + shift)


def _inputs(draw, m, n):
    scales = SCALES if draw.dtype == torch.float32 else NARROW
    x, scale = draw(m, n).float() * 3, scales[(m + n) % 4]
    x[1::3] *= 12 / abs(scale)  # rows in which a wrong maximum overflows
    x[4::6, 2 * n // 3] += 400 / scale  # and the maximum of half of the lanes, too
    x[2::6] = -1e5 / scale  # equal elements below numbers that often serve as -inf
    x[5::6] -= 2.0**127 / math.copysign(max(abs(scale), 1), scale)
    left_out = ~_kept(m, n)
    x[left_out] = 300 / scale
    if n > 8:  # otherwise a number, whose effect is visible
        x[left_out & (torch.arange(n) % 2 == 0)] = torch.nan
        x[left_out & (torch.arange(n) % 3 == 0)] = torch.inf
    return x.to(draw.dtype), scale


def _softmax(x, scale, kept=None):
    kept = _kept(*x.shape) if kept is None else kept
    return (x.double() * scale).masked_fill(~kept, -torch.inf).softmax(1)


def _maximum_before_scale(x, scale, y, empty=0):
    """Return the result in float32, whose exp2 overflows if scale is negative. empty: the number of
    registers beyond the row that hold -inf."""
    x = x.double().masked_fill(~_kept(*x.shape), -torch.inf)
    e = ((x - x.max(1, keepdim=True).values) * scale).exp().float()
    s = e.sum(1, keepdim=True) + (torch.inf if empty and scale < 0 else 0)
    return (e / s).double()


def _nothing_masked(x, scale, y):
    """Return the unmasked softmax, or a result that never matches if NaN or inf beyond the diagonal
    makes several mistakes look alike."""
    whole = (x.double() * scale).softmax(1)
    return whole if x.isfinite().all() else whole.new_full(whole.shape, -1.0)


def _mask_added(x, scale, y):
    """Return the result of adding a mask of 0 and -inf to elements that may be NaN or infinite."""
    added = torch.zeros(x.shape).masked_fill(~_kept(*x.shape), -torch.inf)
    return (x.double() * scale + added).softmax(1)


def _masked_after(x, scale, y):
    return (x.double() * scale).softmax(1) * _kept(*x.shape)


def _maximum_of_all(x, scale, y):
    kept = _kept(*x.shape)
    m = (x.double() * scale).max(1, keepdim=True).values
    e = (x.double() * scale - m).exp().float().masked_fill(~kept, 0)
    return (e / e.sum(1, keepdim=True)).double()


def _nothing_beyond(make):
    call = make, (6, 100), "float32"

    def run(submission):
        from forgekit.tracing.footprint import footprint

        case = submission.case(*call)
        kernel, args = submission.compiled(case), submission.arguments(case).values()
        name = kernel.parameters[0].name
        loads = footprint(kernel, *args, tensor=name, kind="load").touched[name]["loads"]
        beyond = (torch.from_numpy(loads > 0) & ~_kept(*call[1])).nonzero().tolist()
        if beyond:
            m, n = beyond[0]
            raise GateError(
                f"With {case.label}, {plural(len(beyond), 'element')} of {name} beyond the diagonal "
                f"loaded, needed none. The first is {name}[{m}, {n}].",
                look_at=f"fk.footprint(*{{failed}}, tensor='{name}', kind='load')",
            )
        return "no element is loaded there"

    return Group("Beyond the diagonal", run)


EXERCISE = puzzle(
    title="fuse a scale and a causal mask into softmax",
    task="""
Row m of `x` contains the scores of query m for all keys, but a query must not see any key after itself. The M queries belong to the last M of N keys (N ≥ M), so row m keeps the columns up to m + N − M: `y[m, n] = exp(scale · x[m, n]) / Σ exp(scale · x[m, k])`, where the sum covers k ≤ m + N − M. In the other columns, y is 0. Read each kept element once, write y once, use no mask tensor, and keep the row in registers; N is at most 512. Do not load elements beyond the diagonal: they may hold any value, including NaN. The scale may be negative. x and y are float32 or bfloat16. Signature: `causal_softmax(x, scale:
Float32, y)`.
""",
    hints=(
        "The mask is a predicate on row and column. Which value must a register hold if nothing is loaded into it, so that neither the maximum nor the sum changes?",
        "Loop with `cutlass.range_constexpr(16)` over a register tensor: element k of a lane is 32 k columns to the right of its first element. The rest is a softmax in registers, but the store needs its own predicate.",
        "Apply the scale in the line that loads x, before the maximum: for a negative scale, the "
        "largest `scale * x` is not `scale` times the largest x.",
    ),
    analysis="""
For 128 × 128 float32 the kernel reads 1,088 of the 2,048 sectors of `x` and writes each sector of
`y` once. Three separate operators (scale, add a mask of 0 and −∞, softmax) would read four matrices and write three. A mask
that is computed from row and column costs one comparison per element. Flash attention goes one step further: it
skips whole tiles beyond the diagonal and never writes the scores.
""",
    asked={"work": "one warp per row", "shared_bytes": 0},
    entry="causal_softmax",
    inputs=_inputs,
    result=_softmax,
    sizes=[(3, 5), (2, 3), (1, 1), (4, 33), (31, 31), (5, 257), (33, 40), (9, 512), (6, 100)],
    count=[(6, 100), (128, 128)],
    dtypes=("float32", "bfloat16"),
    legal=lambda m, n: (min(m, n), min(512, max(m, n))),
    misconceptions=[
        looks_like(_nothing_masked, "nothing is masked: the values are the softmax of the whole row."),
        looks_like(_mask_added, "NaN or infinity from beyond the diagonal is included: NaN + (−∞) and ∞ + (−∞) are NaN. Replace such elements with a select, or do not read them; adding −∞ is not enough."),
        looks_like(_masked_after, "elements beyond the diagonal end up as 0, but they are included in the sum."),
        looks_like(_maximum_of_all, "the maximum is taken over the whole row: where a masked element is larger, the exponentials "
                   "of all kept elements round to 0."),
        *(looks_like(of, "the maximum is taken before the scale. Where the scale is negative, scale times "
                     "the largest x is the smallest, and the exponentials overflow.") for of in (
            _maximum_before_scale, lambda x, scale, y: _maximum_before_scale(x, scale, y, 512 - x.shape[1]))),
        looks_like(lambda x, scale, y: _softmax(x, scale, _kept(*x.shape, -1)), "the diagonal itself is masked, but a query sees its own key."),
        looks_like(lambda x, scale, y: _softmax(x, scale, _kept(*x.shape, 1)), "a row keeps one column too many."),
        looks_like(lambda x, scale, y: _softmax(x, scale, torch.ones(x.shape, dtype=torch.bool).tril()), "row m keeps the columns "
                   "up to m, as if the queries belonged to the first keys, but they belong to the last M of N."),
        looks_like(lambda x, scale, y: _softmax(x, 1.0), "the scale has no effect."),
        looks_like(lambda x, scale, y: _softmax(x, scale * scale), "the scale is applied twice."),
        looks_like(lambda x, scale, y: _softmax(x, scale * 0.6931471805599453), "exp2(x) is 2 to the power of x, so log₂ e is missing."),
        looks_like(lambda x, scale, y: _softmax(x, scale * 1.4426950408889634), "the exponents contain one factor log₂ e too many: exp2 needs one, exp needs none."),
    ],
    given=picture(
        "scale 1, two queries for the last two of three keys",
        {"x": [[("log 1", 0), ("log 3", 0), "9"], [("log 1", 0), ("log 1", 0), ("log 2", 0)]],
         "y": [[("0.25", 0), ("0.75", 0), "0"], [("0.25", 0), ("0.25", 0), ("0.5", 0)]]},
    ),
    more=lambda make: (_nothing_beyond(make), read_at_most(make, (4, 512), {0: 1})),
    praise="You have fused three operators into one read.",
)  # fmt: skip
