"""Predict a time in microseconds, with its interval, bounds and source lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forgekit.errors import SourceLine
from forgekit.profiling.predicting.constants import calibration
from forgekit.profiling.predicting.facts import Facts
from forgekit.profiling.predicting.model import (
    AGAIN_US,
    BOUNDS,
    REGISTERS,
    bounds,
    combined,
    microseconds,
)
from forgekit.show import Shown
from forgekit.text import plural

if TYPE_CHECKING:
    from forgekit.profiling.gpus import Gpu

# No time is predicted if the two halves of a sample differ by more than this fraction.
DISAGREEMENT = 0.1
_LEAST_SHARE = 0.02  # hide bounds below this fraction of the longest bound
_BAR, _LINES = 24, 3


@dataclass(eq=False, repr=False)
class PredictedTime(Shown):
    """The predicted time for a profile's launches on a GPU. It is not a measurement.

    Attributes:
        name: the host function's name. gpu: the GPU's name. measured: how the constants were
            measured; "" if they were scaled to a data sheet.
        us: the time in microseconds; None if the prediction is unreliable, for the reasons in
            `reasons`.
        low, high: the limits of the interval that contains nine of ten measured times with the same
            longest bound; None if `us` is None.
        bounds: maps each bound's name to its time in microseconds, the longest first.
        without: the time without the longest bound, in microseconds; None if `us` is None.
        lines: (source line, its fraction of the longest bound), the largest first.
        sampled: a description of the sample; "" if all blocks were counted.
        assumed: a description of the values that were assumed because the actual ones are unknown;
            "" if none were assumed.
    """

    name: str
    gpu: str
    measured: str
    us: float | None
    low: float | None
    high: float | None
    bounds: dict[str, float]
    without: float | None
    lines: tuple[tuple[SourceLine | None, float], ...]
    reasons: tuple[str, ...]
    sampled: str = ""
    assumed: str = ""

    @property
    def bound(self) -> str:
        """Return the name of the longest bound, such as "dram", or "" if there is no launch."""
        return next(iter(self.bounds), "")

    @property
    def us_text(self) -> str:
        """Return the time and the interval in microseconds, such as `12.3 (9.9 to 15.3)`, or "–"
        without a prediction.
        """
        if self.us is None:
            return "–"
        return f"{_us(self.us)} ({_us(self.low)} to {_us(self.high)})"

    @property
    def place(self) -> str:
        """Return text such as `an H200`."""
        return f"{'an' if self.gpu[:1] in 'AEFHILMNORSX' else 'a'} {self.gpu}"

    @property
    def bound_text(self) -> str:
        """Return the description of the longest bound."""
        return BOUNDS.get(self.bound, "")

    @property
    def share_text(self) -> str:
        """Return the quantity of which `lines` contains shares. Some of the sectors that a kernel
        requests come from a cache, so their shares are not those of device memory or L2."""
        return "the requested sectors" if self.bound in ("dram", "l2") else self.bound_text

    @property
    def headline(self) -> str:
        """Return text such as `scale: predicted 12.3 µs on an H200 (9.9 to 15.3), bound by device
        memory`."""
        if self.us is None:
            return f"{self.name}: no prediction, because {' and '.join(self.reasons)}"
        between = f"{_us(self.low)} to {_us(self.high)}"
        return (f"{self.name}: predicted {_us(self.us)} µs on {self.place} ({between}), "
                f"bound by {self.bound_text}")  # fmt: skip

    @property
    def uncalibrated(self) -> str:
        """Return a note if the constants were not fitted to this GPU, otherwise ""."""
        if self.measured:
            return ""
        return f"not calibrated: an H200's constants, scaled by the {self.gpu}'s data sheet"

    @property
    def shown(self) -> list[tuple[str, float]]:
        """Return the bounds that pictures and text show."""
        most = self.bounds.get(self.bound, 0.0)
        return [(k, v) for k, v in self.bounds.items() if v >= _LEAST_SHARE * most]

    @property
    def notes(self) -> list[str]:
        """Return the lines of text that follow the bounds."""
        last = [text for text in (self.assumed, self.sampled) if text]
        if self.us is None:
            return last
        found = [f"predicted time without this bound: {_us(self.without)} µs"]
        found += [f"{100 * share:.0f} % of {self.share_text} at {source.where}: {source.text}"
                  for source, share in self.lines[:_LINES] if source is not None]  # fmt: skip
        found += [self.uncalibrated] if self.uncalibrated else []
        return [*found, *last]

    @property
    def summary(self) -> str:
        """Return the whole prediction as plain text."""
        if self.us is None:
            return "\n".join([self.headline, *self.notes])
        most = self.bounds.get(self.bound, 1.0)
        width = max((len(BOUNDS[name]) for name, _ in self.shown), default=0)
        bars = [f"  {BOUNDS[name]:<{width}}  {_us(us):>8}  {'▒' * max(round(_BAR * us / most), 1)}"
                for name, us in self.shown]  # fmt: skip
        return "\n".join([self.headline, *bars, *(f"  {note}" for note in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Return the prediction as dicts, lists, numbers and strings, for JSON."""
        return {"gpu": self.gpu, "predicted_us": self.us, "low_us": self.low, "high_us": self.high,
                "bound": self.bound, "bounds_us": self.bounds, "without_bound_us": self.without,
                "calibrated": self.measured, "reasons": list(self.reasons),
                "sampled": self.sampled, "assumed": self.assumed}  # fmt: skip


def predicted_time(
    name: str, launches: Sequence[tuple[Facts, Any]], gpu: str | Gpu | None
) -> PredictedTime:
    """Predict the time of consecutive launches.

    launches: pairs of facts and the virtual GPU's counts; the counts determine each line's fraction
    of the longest bound.
    """
    found = calibration(gpu)
    facts = [f for f, _ in launches]
    each = [bounds(f, found.constants) for f in facts]
    whole = dict.fromkeys(BOUNDS, 0.0)
    for k, of in enumerate(each):
        for bound, alone in of.items():
            whole[bound] += alone
        whole["start"] += found.constants.start_us if k == 0 else AGAIN_US
    ordered = dict(sorted(whole.items(), key=lambda item: -item[1]))
    first = next(iter(ordered), "")
    reasons = _reasons(facts)
    us = low = high = without = None
    if not reasons and facts:
        us = microseconds(facts, found.constants)
        factor = found.factors.get(first, found.factors["all"])
        low, high = us / factor, us * factor
        saved = sum(combined(of) - combined({**of, first: 0.0}) for of in each)
        without = us - (whole["start"] if first == "start" else saved)
    return PredictedTime(name, found.gpu, found.measured, us, low, high, ordered, without,
                         _lines(first, launches), reasons, _sampled(facts),
                         _assumed(facts))  # fmt: skip


def _reasons(facts: Sequence[Facts]) -> tuple[str, ...]:
    if not facts:
        return ("no kernel was launched",)
    found = dict.fromkeys(said for f in facts for said in f.beyond)
    far = max(f.disagreement for f in facts)
    if far > DISAGREEMENT:
        found[f"two halves of the sample differ by {100 * far:.0f} % (sample more blocks)"] = None
    return tuple(found)


def _sampled(facts: Sequence[Facts]) -> str:
    parts = [f for f in facts if f.sample < 1]
    if not parts:
        return ""
    blocks, ran = sum(f.blocks for f in parts), sum(round(f.blocks * f.sample) for f in parts)
    return (f"counted from {ran:,} of {plural(blocks, 'block')}; two halves of this sample differ "
            f"by {100 * max(f.disagreement for f in parts):.1f} %")  # fmt: skip


def _assumed(facts: Sequence[Facts]) -> str:
    known = all(f.registers for f in facts)
    return "" if known else f"registers unknown; assuming {REGISTERS} per thread"


def _lines(
    bound: str, launches: Sequence[tuple[Facts, Any]]
) -> tuple[tuple[SourceLine | None, float], ...]:
    """Return each source line's fraction of the work that causes a bound."""
    found: dict[SourceLine | None, float] = {}
    for _, counts in launches:
        for pc, times in enumerate(counts.warp_instructions):
            if times and (weight := _weight(bound, counts, pc, times)):
                line = counts.program.line_at(pc)
                found[line] = found.get(line, 0.0) + weight
    whole = sum(found.values())
    return tuple(sorted(((line, n / whole) for line, n in found.items()), key=lambda x: -x[1]))


_ACCESSES = {"dram": "global_", "l2": "global_", "l1": "global_", "shared": "shared_"}


def _weight(bound: str, counts: Any, pc: int, times: int) -> float:
    """Return an instruction's contribution to a bound, in an arbitrary unit."""
    step = counts.steps[pc]
    if bound == "latency":
        return float(times * step.cycles)
    if bound == "issue":
        return float(times * step.slots)
    here = [a for (at, _), a in counts.accesses.items() if at == pc]
    if bound in _ACCESSES:
        return float(sum(a.units for a in here if a.kind.startswith(_ACCESSES[bound])))
    if bound == "atomics":
        kinds = ("global_atomic", "global_reduction")
        return float(sum(a.units for a in here if a.kind in kinds))
    return float(times) if step.pipe == bound else 0.0


def _us(value: float | None) -> str:
    """Format microseconds with three significant digits."""
    assert value is not None
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
