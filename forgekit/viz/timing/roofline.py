"""A roofline: operations for each byte against operations a second, and what bounds them.

Source: Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model for
Multicore Architectures", CACM 52(4), 2009; with instructions in place of float operations: Ding,
Williams, "An Instruction Roofline Model for GPUs", PMBS 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forgekit.benching.notebook.results import Benchmark, VariantOutcome
from forgekit.benching.notebook.tables import recorded_title
from forgekit.errors import UsageError, got_needed
from forgekit.viz.timing.chart import (
    SMALL_LINE,
    Name,
    log_ticks,
    look,
    name_points,
    page,
    tidy,
    wrapped,
)
from forgekit.viz.timing.style import TEXT, TimingPicture, styled

_LABELS, _HEIGHT = 1.75, 3.7  # inches


@dataclass(frozen=True)
class _Point:
    """A variant: its number, operations a byte, operations a second (on the virtual GPU a bound),
    and those that follow from a recorded rate."""

    name: str
    index: int
    intensity: float
    rate: float
    recorded: float | None = None


@dataclass(frozen=True)
class _Roof:
    """bandwidth: bytes a second; peak: operations a second, None where nobody knows it; each with
    its words. operations: what is counted."""

    bandwidth: float
    bandwidth_text: str
    peak: float | None
    peak_text: str
    operations: str

    def bound(self, intensity: float) -> float:
        limit = self.bandwidth * intensity
        return limit if self.peak is None else min(limit, self.peak)


@styled
def roofline(b: Benchmark) -> TimingPicture:
    """The picture, on a GPU of times, on the virtual GPU of bounds; see `Benchmark.roofline`."""
    roof = _roof(b)
    points = [p for p in (_point(b, k, o, roof) for k, o in enumerate(b.outcomes)) if p is not None]
    if not points:
        needed = "a variant that was measured and has operations"
        raise UsageError(got_needed("roofline", "none", needed, "see the table for the reasons"))
    headline, notes = _words(b, roof)
    unit = roof.operations
    words = [headline]
    for p in points:
        kind = "at most " if b.kind != "gpu" else ""
        text = f"{p.name}: {p.intensity:,.3g} {unit} a byte, {kind}{_giga(p.rate)} {unit} a second"
        if p.recorded is not None:
            text += f", recorded {_giga(p.recorded)}"
        words.append(text)
    figure = _draw(points, roof, headline, notes, b.kind)
    return TimingPicture(figure, "\n".join([*words, *notes]))


def _roof(b: Benchmark) -> _Roof:
    counted = b.operations is None
    if b.kind == "gpu":
        if counted:
            remedy = "pass operations=lambda x, y: x.numel(), say, to fk.bench"
            raise UsageError(got_needed("operations", "none", "float operations of a call", remedy))
        assert b.ceiling_gbps is not None
        copy = f"{b.ceiling_gbps:,.0f} GB/s: a copy, same run"
        peak, sheet = (b.gpu.fp32_peak, f"{b.gpu.name}: FP32, data sheet") if b.gpu else (None, "")
        return _Roof(b.ceiling_gbps * 1e9, copy, peak, sheet, "float operations")
    assert b.gpu is not None
    peak = b.gpu.instruction_peak if counted else b.gpu.fp32_peak
    what = "instructions issued" if counted else "FP32"
    return _Roof(
        b.gpu.bandwidth, f"{b.gpu.rate}: {b.gpu.name}, data sheet", peak,
        f"{b.gpu.name}: {what}, data sheet", "PTX instructions" if counted else "float operations",
    )  # fmt: skip


def _point(b: Benchmark, index: int, o: VariantOutcome, roof: _Roof) -> _Point | None:
    m = o.measured
    if m is None or not m.moved_bytes:
        return None
    if b.kind == "gpu":
        if m.timing is None or not b.operations:
            return None
        seconds = m.timing.median_ms / 1e3
        return _Point(o.name, index, b.operations / m.moved_bytes, b.operations / seconds)
    if m.counters is None or not m.counters.touched_bytes:
        return None
    operations = b.operations or m.counters.thread_instructions
    intensity = operations / m.counters.touched_bytes
    row = b.recorded_row(o.name)
    # Operations for each byte needed hardly depend on the size, so they serve for the recorded one.
    recorded = row.gbps * 1e9 * operations / m.moved_bytes if row is not None else None
    return _Point(o.name, index, intensity, roof.bound(intensity), recorded)


def _words(b: Benchmark, roof: _Roof) -> tuple[str, list[str]]:
    if b.kind == "gpu":
        return f"Roofline of the {b.place}: {b.arguments}", [
            "Measured: median of calls with a cold L2 cache. Float operations as given, bytes as "
            "in the table; the sloping roof is the copy of this run."
        ]
    assert b.gpu is not None
    source = f"bandwidth and arithmetic from the data sheet ({b.gpu.source})"
    notes = [
        f"A bound, not a measurement: each ring is what an {b.gpu.name} would allow at most a "
        f"kernel with the {roof.operations} and the distinct bytes counted here; {source}."
    ]
    if b.operations is None:
        notes.append("Instructions are PTX's, of threads; machine code has another number.")
    if b.recorded_shape is not None:
        notes.append(
            f"Filled: {recorded_title(b)}, its GB/s times the {roof.operations} a byte counted "
            "here."
        )
    return f"What an {b.gpu.name} would allow at most: {b.arguments}", notes


def _number(rate: float) -> str:
    """In units of 10⁹, with at least three digits that count."""
    value = rate / 1e9
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _giga(rate: float) -> str:
    """`67,000 × 10⁹`"""
    return f"{_number(rate)} × 10⁹"


# -- the picture ----------------------------------------------------------------------------------
def _draw(
    points: Sequence[_Point], roof: _Roof, headline: str, notes: list[str], kind: str
) -> Figure:
    at_most = "" if kind == "gpu" else "at most "
    labels = []
    for p in points:
        rate = f"{at_most}{_number(p.rate)}"
        rate = f"{_number(p.recorded)} of {rate}" if p.recorded is not None else rate
        labels.append([*wrapped(p.name, _LABELS), rate])
    high = max(_HEIGHT, sum(SMALL_LINE * len(words) + 0.06 for words in labels))
    figure = page(headline, notes, high + 0.75)
    axes = tidy(figure.subplots(), unit=f"10⁹ {roof.operations} a second",
                across=f"{roof.operations} a byte")  # fmt: skip
    _draw_roof(axes, points, roof)
    count, names = max(p.index for p in points) + 1, []
    for p, words in zip(points, labels, strict=True):
        style = look(p.index, count)
        _draw_point(axes, p, style, kind)
        names.append(Name(words, p.intensity, (p.recorded or p.rate) / 1e9, style, dotted=True))
    name_points(axes, names, high)
    return figure


def _draw_roof(axes: Axes, points: Sequence[_Point], roof: _Roof) -> None:
    """Axes that show all points and, where it is known, the roof's ridge; the bounds, named."""
    xs = [p.intensity for p in points]
    ys = [v for p in points for v in (p.rate, p.recorded) if v]
    if roof.peak is not None:
        xs.append(roof.peak / roof.bandwidth)
        ys.append(roof.peak)
    low, high = min(xs) / 4, max(xs) * 4
    ys += [roof.bound(min(xs)), roof.bound(high)]
    bottom = min(ys) / 4
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(bottom / 1e9, max(ys) * 2.2 / 1e9))
    log_ticks(axes.xaxis)
    log_ticks(axes.yaxis)
    ridge = min(roof.peak / roof.bandwidth if roof.peak is not None else high, high)
    corners = [low, ridge, *([high] if ridge < high else [])]
    axes.plot(corners, [roof.bound(x) / 1e9 for x in corners], color=TEXT, linewidth=1.6,
              gid="roof")  # fmt: skip
    start = max(low, bottom / roof.bandwidth)
    at = start * (ridge / start) ** 0.3
    text: dict[str, Any] = {"va": "bottom", "gid": "roof"}
    steep = (max(ys) / bottom) ** 0.015 * roof.bandwidth / 1e9  # a line a little above the roof
    axes.text(at, steep * at, roof.bandwidth_text, rotation=math.degrees(math.atan(steep)),
              transform_rotates_text=True, rotation_mode="anchor", **text)  # fmt: skip
    if roof.peak is not None and ridge < high:
        words = f"{roof.peak_text}: {_number(roof.peak)}"
        axes.text(high, 1.06 * roof.peak / 1e9, words, ha="right", **text)


def _draw_point(axes: Axes, p: _Point, style: dict[str, Any], kind: str) -> None:
    """What was measured or recorded is filled, a bound is a ring; a line joins the two."""
    size = style["markersize"] + 1
    filled = {"color": style["color"], "marker": style["marker"], "markersize": size, "zorder": 4}
    ring = {"fillstyle": "none", "markeredgewidth": 1.4} if kind != "gpu" else {}
    axes.plot([p.intensity], [p.rate / 1e9], gid="point", **{**filled, **ring})
    if p.recorded is not None:
        ends = [p.rate / 1e9, p.recorded / 1e9]
        axes.plot([p.intensity] * 2, ends, color=style["color"], linewidth=0.9, gid="gap")
        axes.plot([p.intensity], ends[1:], gid="recorded", **filled)
