"""Define gates on a profile's counts. The counts do not depend on time, so the verdict is the same
on every machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.errors import UsageError
from forgekit.lessons.gates.gate import Evidence, GateError, Misconception, explained
from forgekit.lessons.gates.submission import Group, MakeCase, Submission
from forgekit.lessons.gates.values import check_values
from forgekit.profiling.profiled_lines import Place
from forgekit.profiling.waste import access_reason
from forgekit.text import plural

if TYPE_CHECKING:
    from forgekit.profiling.profile import Profile
    from forgekit.profiling.profiled_lines import ProfiledLine
    from forgekit.vgpu import AccessCounts


@dataclass(frozen=True)
class Counter:
    """Thresholds for a number in a profile.

    Attributes:
        measure: a metric of `fk.Profile`, or a function of the profile.
        at_most, at_least: the thresholds, of which at least one must be set.
        called: the number's name, such as "sectors per store request".
        baseline: the skeleton's value. ideal: the best possible value.
        misconceptions: the misconceptions that can explain a number beyond a threshold.
        look_at: the call to suggest if the evidence shows no misconception.
    """

    measure: str | Callable[[Any], float]
    called: str
    at_most: float | None = None
    at_least: float | None = None
    baseline: float | None = None
    ideal: float | None = None
    misconceptions: Sequence[Misconception] = ()
    look_at: str = ""

    def of(self, profile: Any) -> float:
        return self.measure(profile) if callable(self.measure) else profile[self.measure]


def counters(
    make: MakeCase,
    size: tuple[int, ...],
    gates: Sequence[Counter],
    dtype: str = "float32",
    *,
    name: str,
    look_at: str = "",
) -> Group:
    """Return a group that profiles a call, compares its result, and then compares its counts with
    thresholds.

    make: as in `values`. size: a size without partial tiles, at which the counts are regular.
    """

    def run(submission: Submission) -> str:
        case = submission.case(make, size, dtype)
        counts, after = submission.counted(case)
        check_values(submission, case, after)
        seen = []
        for gate in gates:
            value = gate.of(counts)
            excess = 0.0 if gate.at_most is None else value - gate.at_most
            low = gate.at_least is not None and value < gate.at_least
            if excess > 0 or low:
                evidence = Evidence(case=case, counts=counts)
                lines = lines_of_most(counts, gate.measure, excess) if excess > 0 else ""
                raise GateError(
                    _describe(gate, value, case.label) + lines,
                    explained(gate.misconceptions, evidence),
                    gate.look_at or look_at,
                )
            seen.append(f"{gate.called} {_number(value)}")
        return ", ".join(seen)

    return Group(name, run, counts=lambda: [(make, size, dtype)])


def _describe(gate: Counter, value: float, label: str) -> str:
    close = any(
        bound is not None and bound != value and _number(bound) == _number(value)
        for bound in (gate.at_least, gate.at_most)
    )
    number = exact if close else _number
    bounds = [
        f"{word} {number(bound)}"
        for word, bound in (("at least", gate.at_least), ("at most", gate.at_most))
        if bound is not None
    ]
    known = [
        f"{word}: {_number(count)}"
        for word, count in (("as given", gate.baseline), ("ideal", gate.ideal))
        if count is not None
    ]
    more = f" ({', '.join(known)})" if known else ""
    called = gate.called[0].upper() + gate.called[1:]
    return f"{called}: {number(value)} with {label}; needed {' and '.join(bounds)}{more}."


def lines_of_most(profile: Profile, measure: Any, excess: float = math.inf) -> str:
    """Return, as text, the lines that use more of a metric than they need or that access elements
    repeatedly, with the reason. If there are none, return the line, if any, that accounts for at
    least half of the metric.

    excess: the superfluous part of the metric. Lines that cause less than a tenth of it are
    omitted. If it is less than a tenth of the metric, no line is returned only because it accounts
    for half of the metric.
    """
    if not isinstance(measure, str):
        return ""
    try:
        whole = max(sum(line[measure] for line in profile.all_lines), 1)
    except (KeyError, TypeError, ValueError, UsageError):
        return ""
    kind = "_".join(measure.split("_")[:2])
    lines = [x for x in profile.all_lines if x.source and x[measure] >= 0.1 * min(excess, whole)]
    reasons = {x.key: _excess(x.accesses.get(kind), measure) for x in lines}
    if kind in ("global_load", "global_store"):
        for key, again in _again(profile, lines, kind[7:]).items():
            reasons[key] += again
    named = [x for x in lines if reasons[x.key]]
    if not named and excess >= 0.1 * whole:
        named = [x for x in lines if x[measure] >= 0.5 * whole]
    text = ""
    for x in named[:4]:
        share = 100 * x[measure] / whole
        part = f"{share:.{int(share < 1)}f} %"
        text += "\n" + "; ".join([f"{part} at {x.where}: {x.text}", *reasons[x.key]])
    return text


def _excess(a: AccessCounts | None, measure: str) -> list[str]:
    """Describe the ways in which a line's accesses exceed the ideal."""
    found = [access_reason(a)] if a is not None and a.units > a.ideal else []
    if a is not None and measure.endswith("requests") and a.width < 16:
        found.append(f"{plural(a.width, 'byte')} per lane")
    return found


def _again(profile: Profile, lines: Sequence[ProfiledLine], kind: str) -> dict[Place, list[str]]:
    """For each line, describe the elements that it accesses several times or that another line also
    accesses."""
    from forgekit.tracing.footprint import footprint

    if profile.call is None:
        return {}
    kernel, args = profile.call
    counts = {}
    for x in lines:
        touched = footprint(kernel, *args, kind=kind, line=x.source).touched
        counts[x] = {name: of["count"] for name, of in touched.items()}
    found: dict[Place, list[str]] = {}
    for x, mine in counts.items():
        each = np.concatenate([np.ones(1), *(of[of > 0] for of in mine.values())])[1:]
        times = each.mean() if len(each) else 0.0
        shown = f"{_number(times)} times{' on average' if len(set(each)) > 1 else ''}"
        found[x.key] = [f"{kind}s each element {shown}"] if times > 1.05 else []
        for y, other in counts.items():
            both = sum(
                int(((of > 0) & (other[n] > 0)).sum()) for n, of in mine.items() if n in other
            )
            if x is not y and both:
                found[x.key].append(f"line {y.number} also {kind}s {both:,} of its elements")
    return found


def exact(value: float) -> str:
    """Format a number with enough digits that a value just beyond a limit does not look equal to
    it."""
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def _number(value: float) -> str:
    if 0 < value < 0.1:
        return f"{value:.2g}"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def read_at_most(
    make: MakeCase,
    size: tuple[int, ...],
    times: Mapping[int, int],
    free: Callable[..., Any] | None = None,
) -> Group:
    """Return a group that counts the loads of each element, in every type in which an earlier group
    calls `make`. times: the position of an input -> the allowed number. free: returns a mask of the
    elements that may be loaded more often, from the arguments."""

    def run(submission: Submission) -> str:
        for dtype in submission.types(make):
            count(submission, dtype)
        return "no element is read too often"

    def count(submission: Submission, dtype: str) -> None:
        from forgekit.tracing.footprint import footprint

        case = submission.case(make, size, dtype)
        kernel = submission.compiled(case)
        touched = footprint(kernel, *submission.arguments(case).values()).touched
        for position, most in times.items():
            name = kernel.parameters[position].name
            loads = touched[name]["loads"]
            if free:
                loads = np.where(free(*case.args), 0, loads)
            if loads.max() > most:
                at = ", ".join(map(str, np.argwhere(loads > most)[0].tolist()))
                others = "in addition to those that may be read again, " * bool(free)
                raise GateError(
                    f"With {case.label}, {others}threads load {(loads > most).sum():,} elements of "
                    f"{name} more than {'once' if most == 1 else 'twice'}; the first is "
                    f"{name}[{at}].",
                    look_at=f"fk.footprint(*{{failed}}, tensor='{name}', by='count', kind='load')",
                )

    return Group("Reads", run)
