"""Puzzle week2/log_softmax: logarithms of a softmax, with all their digits."""

from forgekit.lessons.gates import looks_like, read_at_most
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle

from ..rows import far_below, hard_rows
from ..unscaled import FINITE, not_in_loop, not_in_merge


def _inputs(draw, m, n):
    x = hard_rows(draw, m, n, spread=False)
    x[4::5, 2 * n // 3] += 150  # exp overflows if another lane's maximum is subtracted
    x[1::3, -1] -= 5_000  # its exponential is 0
    x[2::3] += 30_000
    x[3::5] = far_below(x[3::5])
    return (x,)


def _less_lse(x, y):
    """Return the result if the log-sum-exp is rounded to float32 before it is subtracted."""
    return x.float() - x.double().logsumexp(1, keepdim=True).float()


def _sums(x):
    """Return each row's sum of exponentials relative to the maximum."""
    return (x.double() - x.double().max(1, keepdim=True).values).exp().sum(1)


def _with(sums):
    """Return the result computed with other row sums."""
    return lambda x, y: (x.double() - x.double().max(1, keepdim=True).values
                         - sums(x, 32).log()[:, None])  # fmt: skip


def _at_least(start):
    """Return the result with exponentials in float32, relative to a maximum that starts at a finite
    number."""

    def result(x, y):
        x = x.double()
        m = x.max(1, keepdim=True).values.clamp(min=start)
        return x - m - (x - m).float().exp().sum(1, keepdim=True).log()

    return result


EXERCISE = puzzle(
    title="take the logarithm of a softmax",
    task="""
Compute `y[m, n] = log(softmax(x[m])[n])`. Support float32, float16 and bfloat16; compute in float32. Read each row
at most twice. All elements are finite, but a row may be around 30,000 or −60,000. Even where an element's softmax
rounds to 0, the result must not be −∞. Signature: `log_softmax(x, y)`.
""",
    hints=(
        "The logarithm of a quotient is a difference. Write log(exp(x − m) / s) without an exponential and without a quotient.",
        "One pass gives each lane a pair (m, s); the warp merges the pairs. The second pass "
        "needs no exponential.",
        "The line that stores the result adds x, −m and −log s. Which two should it add first if x and m are 30,000 and log s is 2?",
    ),
    analysis="""
Float32 numbers near 30,000 are 0.002 apart, so `m + log s` loses digits of log s before you subtract it. `x − m` is exact for the elements near the maximum,
which are the ones that matter.
""",
    asked={"work": "one warp per row"},
    entry="log_softmax",
    inputs=_inputs,
    result=lambda x: x.log_softmax(1),
    sizes=[(2, 4), (1, 1), (5, 31), (3, 33), (2, 1000), (9, 65), (3, 100)],
    count=[(5, 100), (96, 300)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: x.double().softmax(1), "the values are the softmax: its logarithm is not taken."),
        looks_like(_with(lambda x, threads: _sums(x).log2().exp()), "log s is taken to the base 2 here, but x − m is not."),
        looks_like(lambda x, y: x.double().log_softmax(1) / 0.6931471805599453, "the logarithm is to the base 2."),
        looks_like(lambda x, y: x.double() - x.double().max(1, keepdim=True).values, "only the maximum is subtracted: "
                   "log s is missing, or 0."),
        looks_like(_with(not_in_merge), "the sums of the lanes are added without rescaling, although each is relative to its own maximum."),
        looks_like(_with(not_in_loop), "a lane's sum keeps terms relative to an older maximum: whenever the maximum grows, "
                   "rescale the sum so far."),
        looks_like(lambda x, y: ((x.double() - x.double().amax(1, True)).exp().float() / _sums(x)[:, None]).log(),
                   "a logarithm of the quotient has exactly this result: an exponential below the smallest float32 is 0, and "
                   "the logarithm of 0 is −∞.", rtol=1e-3),
        *(looks_like(_at_least(start), FINITE) for start in (0.0, -10_000.0, -65_504.0)),
        looks_like(_less_lse, "x minus the row's log-sum-exp, once that is rounded to float32, gives exactly this result: near 30,000, float32 numbers are 0.002 apart. What can be subtracted from x before log s is added to it?"),
    ],
    given=picture(
        "log 1, log 2, log 5, each 30,000 higher",
        {"x": [["30000", "30000.69", "30001.61"]], "x - m": [["-1.61", "-0.92", ("0", 0)]],
         "y = x - m - log s": [["-2.08", "-1.39", ("-0.47", 0)]]},
    ),
    more=lambda make: (read_at_most(make, (3, 100), {0: 2}),),
    praise="Your logarithm keeps its digits.",
)  # fmt: skip
