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

from forgekit.benching.notebook.results import Benchmark, VariantOutcome
from forgekit.benching.notebook.tables import recorded_title
from forgekit.errors import UsageError, got_needed
from forgekit.viz.theme import LINE, TEXT, WIDTH, Canvas
from forgekit.viz.timing.chart import (
    SMALL,
    Frame,
    Look,
    apart,
    caption_height,
    draw_caption,
    draw_title,
    frame,
    log_ticks,
    look,
    title_lines,
    wrapped,
)
from forgekit.viz.timing.picture import TimingPicture

_LEFT, _LABELS, _HEIGHT = 0.8, 2.3, 3.7  # inches
_LINE = LINE * SMALL / 9


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
    bandwidth_told: str
    peak: float | None
    peak_told: str
    operations: str

    def bound(self, intensity: float) -> float:
        limit = self.bandwidth * intensity
        return limit if self.peak is None else min(limit, self.peak)


def roofline(b: Benchmark) -> TimingPicture:
    """The picture, on a GPU of times, on the virtual GPU of bounds; see `Benchmark.roofline`."""
    roof = _roof(b)
    points = [p for p in (_point(b, k, o, roof) for k, o in enumerate(b.outcomes)) if p is not None]
    if not points:
        needed = "a variant that was measured and has operations"
        raise UsageError(got_needed("roofline", "none", needed, "see the table for the reasons"))
    headline, notes = _words(b, roof)
    unit = roof.operations
    told = [headline]
    for p in points:
        kind = "at most " if b.kind != "gpu" else ""
        text = f"{p.name}: {p.intensity:,.3g} {unit} a byte, {kind}{_giga(p.rate)} {unit} a second"
        if p.recorded is not None:
            text += f", recorded {_giga(p.recorded)}"
        told.append(text)
    return TimingPicture(_draw(points, roof, headline, notes, b.kind).figure,
                         "\n".join([*told, *notes]))  # fmt: skip


def _roof(b: Benchmark) -> _Roof:
    counted = b.operations is None
    if b.kind == "gpu":
        if counted:
            remedy = "pass operations=lambda x, y: x.numel(), say, to fk.bench"
            raise UsageError(got_needed("operations", "none", "float operations of a call", remedy))
        assert b.ceiling_gbps is not None
        told = f"{b.ceiling_gbps:,.0f} GB/s: a copy, same run"
        peak, sheet = (b.gpu.fp32_peak, f"{b.gpu.name}: FP32, data sheet") if b.gpu else (None, "")
        return _Roof(b.ceiling_gbps * 1e9, told, peak, sheet, "float operations")
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
            f"Measured: median of calls with a cold L2 cache. {_unit(roof)} as given, bytes as in "
            "the table; the sloping roof is the copy of this run."
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


def _unit(roof: _Roof) -> str:
    return roof.operations[0].upper() + roof.operations[1:]


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
) -> Canvas:
    labels = [wrapped(p.name, _LABELS - 0.55) for p in points]
    height = max(_HEIGHT, sum(_LINE * (len(words) + 1) + 0.06 for words in labels))
    top = 0.16 + 0.23 * len(title_lines(headline))
    canvas = Canvas(top + 0.3 + height + 0.62 + caption_height(notes))
    y = draw_title(canvas, headline) + 0.22
    canvas.text(0.12, y - 0.07, f"10⁹ {roof.operations} a second", va="bottom", gid="unit")
    f = frame(canvas, _LEFT, y, WIDTH - _LEFT - _LABELS, height)
    low, high = _limits(f, points, roof)
    _roofs(canvas, f, roof, low, high)
    _points(canvas, f, points, labels, kind)
    canvas.text(f.x + f.width / 2, y + height + 0.26, f"{roof.operations} a byte", ha="center",
                gid="unit")  # fmt: skip
    draw_caption(canvas, y + height + 0.56, notes)
    return canvas


def _limits(f: Frame, points: Sequence[_Point], roof: _Roof) -> tuple[float, float]:
    """Set the axes: all points and, where it is known, the roof's ridge; returns those of x."""
    xs = [p.intensity for p in points]
    ys = [v for p in points for v in (p.rate, p.recorded) if v]
    if roof.peak is not None:
        xs.append(roof.peak / roof.bandwidth)
        ys.append(roof.peak)
    low, high = min(xs) / 4, max(xs) * 4
    ys += [roof.bound(min(xs)), roof.bound(high)]
    f.axes.set_xscale("log")
    f.axes.set_yscale("log")
    f.axes.set_xlim(low, high)
    f.axes.set_ylim(min(ys) / 4 / 1e9, max(ys) * 2.2 / 1e9)
    log_ticks(f.axes.xaxis)
    log_ticks(f.axes.yaxis)
    return low, high


def _roofs(canvas: Canvas, f: Frame, roof: _Roof, low: float, high: float) -> None:
    """The bounds, each named along its line."""
    ridge = roof.peak / roof.bandwidth if roof.peak is not None else high
    xs = [low, min(ridge, high), *([high] if ridge < high else [])]
    ys = [roof.bound(x) / 1e9 for x in xs]
    f.axes.plot(xs, ys, color=TEXT, linewidth=1.6, gid="roof")
    bottom, _ = f.axes.get_ylim()
    start = max(low, bottom * 1e9 / roof.bandwidth)
    (x0, y0), (x1, y1) = f.inches(start, roof.bound(start) / 1e9), f.inches(xs[1], ys[1])
    angle = math.degrees(math.atan2(y0 - y1, x1 - x0))
    up = math.radians(angle)
    x, y = x0 + 0.3 * (x1 - x0), y0 + 0.3 * (y1 - y0)
    x, y = x - 0.09 * math.sin(up), y - 0.09 * math.cos(up)
    canvas.text(x, y, roof.bandwidth_told, size=SMALL, rotation=angle, rotation_mode="anchor",
                va="bottom", gid="roof")  # fmt: skip
    if roof.peak is not None and ridge < high:
        end, level = f.inches(high, roof.peak / 1e9)
        words = f"{roof.peak_told}: {_number(roof.peak)}"
        canvas.text(end, level - 0.06, words, size=SMALL, va="bottom", ha="right", gid="roof")


def _points(
    canvas: Canvas, f: Frame, points: Sequence[_Point], labels: Sequence[list[str]], kind: str
) -> None:
    """Markers, and names with rates at the right."""
    count = max(p.index for p in points) + 1
    heights = [_LINE * (len(words) + 1) + 0.06 for words in labels]
    spots = [f.inches(p.intensity, (p.recorded or p.rate) / 1e9) for p in points]
    low, high = f.y - 0.1, f.y + f.height + 0.1
    centres = apart([y for _, y in spots], heights, low, high)
    x = f.x + f.width + 0.3
    for p, words, (end_x, end_y), centre in zip(points, labels, spots, centres, strict=True):
        style = look(p.index, count)
        _markers(f, p, style, kind)
        canvas.line([end_x + 0.07, x - 0.1, x - 0.04], [end_y, centre, centre], linewidth=0.8,
                    color=style.colour, linestyle=(0, (1, 3)), gid="leader")  # fmt: skip
        canvas.line([x + 0.03], [centre], color=style.colour, marker=style.marker, markersize=5.5,
                    markeredgewidth=0, gid="key")  # fmt: skip
        told = f"{'' if kind == 'gpu' else 'at most '}{_number(p.rate)}"
        if p.recorded is not None:
            told = f"{_number(p.recorded)} of {told}"
        at = centre - _LINE * (len(words) + 1) / 2 + 0.01
        at = canvas.lines(x + 0.13, at, words, size=SMALL, gid="name")
        canvas.text(x + 0.13, at, told, size=7, gid="value")


def _markers(f: Frame, p: _Point, style: Look, kind: str) -> None:
    """What was measured or recorded is filled, a bound is a ring; a line joins the two."""
    shared: dict[str, Any] = {"color": style.colour, "marker": style.marker, "zorder": 4,
                              "markersize": style.size + 1}  # fmt: skip
    ring: dict[str, Any] = {"fillstyle": "none", "markeredgewidth": 1.4} if kind != "gpu" else {}
    f.axes.plot([p.intensity], [p.rate / 1e9], gid="point", **shared, **ring)
    if p.recorded is not None:
        ends = [p.rate / 1e9, p.recorded / 1e9]
        f.axes.plot([p.intensity] * 2, ends, color=style.colour, linewidth=0.9, gid="gap")
        f.axes.plot([p.intensity], ends[1:], gid="recorded", **shared)
