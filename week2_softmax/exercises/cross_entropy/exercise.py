"""Puzzle week2/cross_entropy: the loss of a classifier, one block per row."""

import math

import torch
from torch.nn import functional

from forgekit.checking.compare import compare
from forgekit.lessons.gates import Misconception, looks_like, read_at_most
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle

from ..rows import far_below, hard_rows
from ..targets import IGNORED, some_targets
from ..unscaled import FINITE, not_in_loop, not_in_merge


def _inputs(draw, m, n):
    x = hard_rows(draw, m, n)
    x[2::3] += 30_000
    x[3::4] = far_below(x[3::4])
    for rows, column in () if n > 4096 else ((x[::3], 40), (x[1::6], 88), (x[4::6], 104)):
        rows[:, column : column + 1] += 200  # in warp 1, 2 or 3; all others are negligible
    if n > 1000 and n % 7 == 0:  # all later exponentials are rounded alike in a 16-bit type
        x[0], x[0, 128:] = 3, 3 - 21 / 32
    target = some_targets(draw, m, n)
    if n > 1 and target[0] == x[0].argmax():  # m − x[target] would be 0
        target[0] = (target[0] + 1) % n
    if 40 < n < 1000:
        x[0, target[0]] -= 5_000  # a large loss; the exponential was negligible before
    return x, target


def _loss(x, target, *outputs):
    return functional.cross_entropy(x.double(), target, reduction="none")


def _of(x, target):
    """Return x at the target, and the row's maximum."""
    x = x.double()
    return x.gather(1, target.clamp(min=0)[:, None])[:, 0], x.max(1).values


def _kept(loss, target):
    """Return the loss, with 0 for ignored targets."""
    return torch.where(target == IGNORED, 0.0, loss)


def _with(sums):
    """Return the loss computed with other row sums."""

    def result(x, target, *outputs):
        x_target, m = _of(x, target)
        return _kept(m - x_target + sums(x, 128).log(), target)

    return result


def _less_lse(x, target, *outputs):
    """Return the loss if the log-sum-exp is rounded to float32 before x is subtracted."""
    x_target, _ = _of(x, target)
    return _kept(x.double().logsumexp(1).float() - x_target.float(), target)


def _relative_to(maximum):
    """Return the loss with exponentials in float32, relative to a number other than the maximum."""

    def result(x, target, *outputs):
        x_target, m = _of(x, target)[0], maximum(x.double())
        return _kept(m - x_target + (x.double() - m[:, None]).float().exp().sum(1).log(), target)

    return result


def _of_quotient(x, target, *outputs):
    """The logarithm of an exponential in float32, over the sum."""
    x_target, m = _of(x, target)
    e, s = (x_target - m).exp().float(), (x.double() - m[:, None]).exp().sum(1)
    return _kept(-(e / s).log(), target)


def _lse_right(e):
    return compare(e.got[3], e.case.expected[3], **e.case.tolerances).ok


def _if(right, mistake):
    """A mistake in the loss, with lse right or wrong."""
    return Misconception(mistake.says, lambda e: mistake.when(e) and _lse_right(e) == right)


def _at_least(start):
    return lambda x: x.max(1).values.clamp(min=start)


def _of_warp_0(x):
    return x[:, torch.arange(x.shape[1]) % 128 < 32].max(1).values


def _scaled_first(in_lse, at_target):
    """Return the loss with x · log2(e) rounded to float32, in lse, at the target or in both: the
    product is exact if the compiler merges it and the difference into one instruction."""

    def result(x, target, *outputs):
        log2_e = torch.tensor(math.log2(math.e)).double()  # the float32 value
        exact = x.double() * log2_e
        a, b = (exact.float().double() if rounded else exact for rounded in (in_lse, at_target))
        lse = (a * math.log(2)).logsumexp(1)
        return _kept(lse - _of(b, target)[0] * math.log(2), target)

    return result


def _at_target(x, target, *outputs):
    return torch.arange(x.shape[1]) == target[:, None]


def _nan_of_empty_warps(x, target, *outputs):
    if x.shape[1] > 96:  # each warp has an element
        raise ValueError
    return _kept(torch.full(target.shape, torch.nan), target)


EXERCISE = puzzle(
    title="compute the loss of a classifier",
    task="""
Compute the cross-entropy of each row, `loss[m] = lse[m] − x[m, target[m]]` with `lse[m] = log Σ exp(x[m, n])`.
Store both; the gradient needs lse. **Read each row once**; only x[m, target[m]] may be read again. Ignore a target
of −100: its loss is 0, but its lse is computed as usual. x is float32 or float16 and finite; a row may be around
30,000 or −60,000. target is int64; loss and lse are float32. Compute in float32. Signature: `cross_entropy(x, target, loss, lse)`.
""",
    hints=(
        "Merge the threads' pairs (m, s) in two stages: the lanes of a warp by shuffles, and the four warps through shared memory.",
        "With 5 columns, three warps have no elements, so m = −∞ and s = 0. How can such a lane rescale relative to the maximum of its warp?",
        "One thread finishes the row. After the barrier, it reads one element again, but only if there is a target. It computes m − x[target] first and then adds log s.",
    ),
    analysis="""
With 32,000 classes, the logits are the largest tensor in a language model's training step. This kernel reads them
once and writes eight bytes per row. In contrast, torch's log_softmax followed by a gather writes a whole matrix in
between.
""",
    asked={"work": "one block per row", "block": 128, "sharing": 4, "barriers": 1},
    entry="cross_entropy",
    inputs=_inputs,
    result=lambda x, target: (_loss(x, target).float(), x.logsumexp(1).float()),
    sizes=[(5, 4), (1, 1), (5, 31), (4, 131), (2, 1002), (1, 1001), (4, 65), (3, 300)],
    count=[(5, 100), (16, 2000)],
    dtypes=("float32", "float16"),
    waste={"loaded": None},  # 128 threads may read the target; a row read twice shows in the sectors
    misconceptions=[
        Misconception("the kernel reads column −100, but rows with that target must be ignored.", lambda e: e.error.overrun.tensor == "mX"
                      and (e.error.overrun.numbers % e.case.args[0].shape[1] == IGNORED % e.case.args[0].shape[1]).all()),
        looks_like(lambda *args: -_loss(*args), "the sign is reversed."),
        looks_like(lambda *args: (-_loss(*args)).exp(), "the result is the softmax at the target: its logarithm is missing."),
        looks_like(lambda x, target, *outputs: _kept(x.double().logsumexp(1), target), "the result is only lse."),
        looks_like(_with(lambda x, threads: torch.ones(len(x)).double()), "the result is m − x[target]: log s is missing, or 0."),
        looks_like(_nan_of_empty_warps, "the result is NaN where whole warps have no element of the row: their maximum is −∞. What is −∞ − (−∞)?"),
        looks_like(_with(not_in_merge), "the sums of the threads are added without rescaling, although each is relative to its own maximum."),
        looks_like(_with(not_in_loop), "a thread's sum keeps terms relative to an older maximum: whenever the maximum "
                   "grows, rescale the sum so far."),
        _if(False, looks_like(_relative_to(_of_warp_0), "a number far below the row's maximum is subtracted, such as the maximum of warp 0: the largest "
                              "exponential overflows.")),
        _if(True, looks_like(_of_quotient, "a logarithm of the quotient has exactly this result: an exponential below the smallest float32 is 0, and "
                             "the logarithm of 0 is −∞.")),
        *(looks_like(_relative_to(_at_least(start)), FINITE) for start in (0.0, -10_000.0, -65_504.0)),
        *(looks_like(_scaled_first(*rounded), "x · log₂ e, rounded to float32 before anything is subtracted, has exactly this result: near 43,000, float32 numbers are 0.004 apart. Subtract first: x − m is exact near the maximum; then multiply.")
          for rounded in ((True, True), (True, False), (False, True))),
        looks_like(_less_lse, "lse rounded to float32, minus x[target], gives exactly this result: near 30,000, float32 numbers are 0.002 apart. "
                   "From which value can x[target] be subtracted before log s is added?"),
    ],
    given=picture(
        "two rows of logits and their losses",
        {"exp x": [["1", ("2", 0), "5"], ["5", "2", "1"]], "target": [[("1", 0)], ["-100"]],
         "lse": [["log 8"], ["log 8"]], "loss": [[("log 8 - log 2", 0)], ["0"]]},
    ),
    more=lambda make: (read_at_most(make, (5, 100), {0: 1}, free=_at_target),),
    praise="You have read the largest tensor of a training step only once.",
)  # fmt: skip
