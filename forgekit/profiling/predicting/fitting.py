"""Fit the model's constants for a GPU to measured times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from forgekit.profiling.predicting.facts import Facts
from forgekit.profiling.predicting.model import BOUNDS, Constants, bounds, microseconds

HELD_OUT = 3  # every third kernel is held out
_FIRST_STEP, _SHRINK, _ROUNDS = 0.3, 0.65, 9
_FEW, _FEW_KINDS = 12, 3  # minimum samples and kinds of kernels for a bound's own interval
_FAR_OFF = 1.0  # errors are capped at this logarithm

# Constants from data sheets and the programming guide are not fitted.
KNOWN = ("multiprocessors", "clock", "shared_kb", "shared", "issue", "fp32", "fp64", "special",
         "shuffle", "fmas")  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A kernel at one size: its facts, and its measured time in microseconds."""

    case: str
    kind: str
    number: int  # the index of the case
    facts: tuple[Facts, ...]
    us: float

    @property
    def held_out(self) -> bool:
        return self.number % HELD_OUT == HELD_OUT - 1


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of predicted times: the median and the 90th percentile of the relative errors;
    the fraction of predictions within 35 %; and, among pairs of times that differ by at least 25 %,
    the fraction predicted in the right order.
    """

    count: int
    median: float
    p90: float
    within: float
    order: float


def fit(samples: Sequence[Sample], start: Constants) -> Constants:
    """Fit the constants that are not in KNOWN to the samples, one after another, with shrinking
    step sizes.
    """
    names = [f for f in start.__dataclass_fields__ if f not in KNOWN]
    best, least, step = start, _loss(samples, start), _FIRST_STEP
    for _ in range(_ROUNDS):
        for name in names:
            for factor in (math.exp(step), math.exp(-step)):
                while True:
                    changed = replace(best, **{name: getattr(best, name) * factor})
                    loss = _loss(samples, changed)
                    if loss >= least - 1e-7:
                        break
                    best, least = changed, loss
        step *= _SHRINK
    return best


def accuracy(samples: Sequence[Sample], gpu: Constants) -> Accuracy:
    """Compare predicted with measured times."""
    found = [(s.us, microseconds(s.facts, gpu)) for s in samples]
    errors = sorted(relative(us, predicted) for us, predicted in found)
    pairs = [(a, b) for i, a in enumerate(found) for b in found[:i]
             if abs(math.log(a[0] / b[0])) > math.log(1.25)]  # fmt: skip
    right = sum((a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in pairs)
    return Accuracy(
        len(errors), quantile(errors, 0.5), quantile(errors, 0.9),
        sum(e <= 0.35 for e in errors) / len(errors), right / max(len(pairs), 1),
    )  # fmt: skip


def relative(us: float, predicted: float) -> float:
    """Return the relative difference between two times: 0.25 if one is 1.25 times as long as the
    other.
    """
    return math.exp(abs(math.log(predicted / us))) - 1


def interval(samples: Sequence[Sample], gpu: Constants) -> dict[str, float]:
    """Map each bound to the factor within which nine of ten predictions with this bound match the
    measured times; "all" covers all predictions.

    Bounds with few samples, or with few kinds of kernels, are omitted.
    """
    errors: dict[str, list[float]] = {"all": []}
    kinds: dict[str, set[str]] = {"all": {s.kind for s in samples}}
    for s in samples:
        of = {"start": gpu.start_us, **bounds(s.facts[0], gpu)}
        off = 1 + relative(s.us, microseconds(s.facts, gpu))
        errors["all"].append(off)
        longest = max(of, key=of.__getitem__)
        errors.setdefault(longest, []).append(off)
        kinds.setdefault(longest, set()).add(s.kind)
    return {
        name: round(quantile(sorted(errors[name]), 0.9), 3)
        for name in ("all", *BOUNDS)
        if len(errors.get(name, ())) >= _FEW and len(kinds[name]) >= _FEW_KINDS
    }


def quantile(ascending: Sequence[float], part: float) -> float:
    at = part * (len(ascending) - 1)
    low = int(at)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (at - low) * (ascending[high] - ascending[low])


def _loss(samples: Sequence[Sample], gpu: Constants) -> float:
    total = 0.0
    for s in samples:
        off = abs(math.log(microseconds(s.facts, gpu) / s.us))
        total += min(off, _FAR_OFF) + 0.3 * off * off
    return total / len(samples)
