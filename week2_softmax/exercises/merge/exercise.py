"""Exercise week2/merge: (maximum, sum of exponentials relative to it) of two parts, in Python."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import GateError, Group, Submission, python_function

INF = math.inf
NOTHING = (-INF, 0.0)
Pair = tuple[float, float]


def _right(a: Pair, b: Pair) -> Pair:
    m = max(a[0], b[0])
    shift = m if m > -INF else 0.0
    return m, a[1] * math.exp(a[0] - shift) + b[1] * math.exp(b[0] - shift)


def _same(got: Pair, want: Pair) -> bool:
    return got[0] == want[0] and math.isclose(got[1], want[1], rel_tol=1e-9)


PARTS: tuple[tuple[Pair, Pair], ...] = (
    ((1.0, 1.0), (3.0, 1.0)), ((3.0, 1.5), (1.0, 2.0)), ((2.0, 1.25), (2.0, 3.0)),
    ((4.0, 1.5), (4.0, 1.5)), ((0.0, 1.5), (-1.0, 2.0)),
    ((-1000.0, 1.0), (-1001.0, 2.0)), ((1000.0, 7.0), (-1000.0, 3.0)), ((-5.0, 2.0), (900.0, 1.0)),
    ((-1e5, 1.0), (-1e5 - 1, 2.0)), ((-1e38, 1.0), (-1e38, 2.0)),
    ((-1e300, 1.0), (-1e300, 2.0)),
)  # fmt: skip
# The result of a mistake for two pairs, and its message.
MISTAKES: tuple[tuple[Callable[[float, float, float, float], Pair], str], ...] = (
    (lambda ma, sa, mb, sb: (max(ma, mb), sa + sb),
     "both sums are added without rescaling, but each is relative to its own maximum."),
    (lambda ma, sa, mb, sb: (max(ma, mb), sa * math.exp(ma - max(ma, mb)) + sb),
     "only the first sum is rescaled: the second may have the smaller maximum."),
    (lambda ma, sa, mb, sb: (max(ma, mb), sa + sb * math.exp(mb - max(ma, mb))),
     "only the second sum is rescaled: the first may have the smaller maximum."),
    (lambda ma, sa, mb, sb: (max(ma, mb), sa * math.exp(max(ma, mb) - ma)
                             + sb * math.exp(max(ma, mb) - mb)),
     "the factor is inverted: the exponent is the old maximum minus the new one."),
    (lambda ma, sa, mb, sb: (max(ma, mb), sa * math.exp(ma) + sb * math.exp(mb)),
     "nothing is subtracted in the exponents: the sums must be relative to the new maximum."),
    (lambda ma, sa, mb, sb: (ma + mb, sa * math.exp(-mb) + sb * math.exp(-ma)),
     "the maximum of both parts is the larger of the two, not their sum."),
    (lambda ma, sa, mb, sb: (min(ma, mb), sa * math.exp(ma - min(ma, mb))
                             + sb * math.exp(mb - min(ma, mb))),
     "this is the smaller of the two maxima."),
)  # fmt: skip


def _called(submission: Submission, a: Pair, b: Pair) -> Pair:
    function = python_function(submission, "merge(a, b)")
    asked = f"merge({_shown(a)}, {_shown(b)})"
    try:
        got: Any = function(a, b)
    except OverflowError:
        raise GateError(
            f"{asked} raises OverflowError.",
            "an exponent is large and positive: the old maximum minus the new one is never positive.",
        ) from None
    except Exception as error:
        raise GateError(f"{asked} raises {type(error).__name__}: {error}") from None
    if got is None:
        raise GateError(f"{asked} returns None: for this call, no `return` gives a pair.")
    try:
        m, s = () if isinstance(got, str) else got
        pair = float(m), float(s)
    except (TypeError, ValueError):
        raise GateError(f"{asked} gives {got!r:.80}; expected a pair (m, s).") from None
    want = _right(a, b)
    if not _same(pair, want):
        shown, needed = _shown(pair), _shown(want)
        if shown == needed:  # wrong beyond six digits
            shown, needed = str(pair), str(want)
        raise GateError(
            f"{asked} returns {shown}, but the merged pair is {needed}.", _why(function, pair)
        )
    return pair


def _why(function: Callable[[Pair, Pair], Any], got: Pair) -> str:
    """Return the message for the mistake that agrees with this function on all parts."""
    if math.isnan(got[1]) and got[0] == -INF:
        return "-inf - (-inf) is NaN, and so is 0 times inf. If both maxima are -inf, subtract another number."
    for mistake, says in MISTAKES:
        if all(_tried(function, a, b) == _tried(lambda a, b: mistake(*a, *b), a, b)  # noqa: B023
               for a, b in PARTS):  # fmt: skip
            return says
    return ""


def _tried(function: Callable[[Pair, Pair], Any], a: Pair, b: Pair) -> object:
    """Return the function's result with nine digits, or the type of its exception."""
    try:
        m, s = function(a, b)
        return float(m), f"{s:.9e}"
    except Exception as error:
        return type(error)


def _shown(pair: Pair) -> str:
    return f"({pair[0]:g}, {pair[1]:.6g})"


def _pairs(submission: Submission) -> str:
    for a, b in PARTS:
        _called(submission, a, b)
    return f"{len(PARTS)} pairs of parts"


def _nothing(submission: Submission) -> str:
    for a, b in ((NOTHING, (3.0, 1.5)), ((-3.0, 1.5), NOTHING), (NOTHING, NOTHING)):
        _called(submission, a, b)
    return "(-inf, 0) changes nothing, on either side"


def _trees(submission: Submission) -> str:
    chance = random.Random(2)
    for _ in range(50):
        row = [chance.choice((chance.gauss(0, 50), -INF)) for _ in range(12)]
        pairs: list[Pair] = [(x, 1.0 if x > -INF else 0.0) for x in row]
        while len(pairs) > 1:
            k = chance.randrange(len(pairs) - 1)
            pairs[k : k + 2] = [_called(submission, pairs[k], pairs[k + 1])]
    return "50 rows, each in its own tree"


EXERCISE = Exercise(
    title="merge two parts of a row",
    task="""
Write `merge(a, b)` in plain Python. `a` and `b` are the pairs (m, s) of two parts of a row: the
maximum, and the sum of all `exp(x - m)`. Return the pair of the combined parts. `(-math.inf, 0.0)` is the pair of an empty part: merging it with another
pair returns the other pair, and merging it with itself returns `(-math.inf, 0.0)`.
""",
    hints=(
        "The new maximum is easy to find. By which factor must each of the two sums be multiplied?",
        "The factor is `math.exp(old maximum - new maximum)`. One of the two factors is 1, but you need not know which.",
        "If both maxima are -inf, the difference is NaN. In that case, a line before the exponentials must choose another number to subtract. Both sums are 0, so any finite number works.",
    ),
    analysis="""
This is the operator of the whole week. It is associative (up to rounding) and commutative, and it has an identity. So, like addition, it works across loop iterations, lanes, warps, blocks and clusters. `logsumexp` is the
same operator in another form: m + log s.
""",
    entry="merge",
    groups=(
        Group("Pairs", _pairs),
        Group("Nothing", _nothing),
        Group("Any tree", _trees),
    ),
    praise="Any tree works.",
)
