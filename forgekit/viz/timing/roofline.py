"""Draw a roofline plot: instructions per second against instructions per byte, and the bounds.

Source: Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model for
Multicore Architectures", CACM 52(4), 2009; with instructions instead of floating-point operations:
Ding, Williams, "An Instruction Roofline Model for GPUs", PMBS 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forgekit.benching.notebook.results import Benchmark, VariantOutcome, recorded_title
from forgekit.errors import usage_error
from forgekit.profiling.gpus import DEFAULT, GPUS, Gpu
from forgekit.viz.timing import chart
from forgekit.viz.timing.style import TEXT, TimingPicture, styled

_LABELS, _HEIGHT = 1.75, 3.7  # in inches
_UNIT = "PTX instructions"


@dataclass(frozen=True)
class _Point:
    """A variant.

    index: the variant's index; intensity: instructions per byte; rate: the highest number of
    instructions per second that the GPU allows; recorded: the number of instructions per second at
    the recorded rate, or None.
    """

    name: str
    index: int
    intensity: float
    rate: float
    recorded: float | None = None


@styled
def roofline(b: Benchmark) -> TimingPicture:
    gpu = GPUS[DEFAULT]
    points = [p for k, o in enumerate(b.outcomes) if (p := _point(b, k, o, gpu)) is not None]
    if not points:
        got, needed = ("times", "counts") if b.kind == "gpu" else ("none", "a variant with counts")
        remedy = (
            'run bench() within `with fk.use_target("virtual")`; see the table for other causes'
        )
        raise usage_error("roofline", got, needed, remedy)
    words = [f"Upper bounds on an {gpu.name}: {b.arguments}"]
    for p in points:
        rate = f"at most {_number(p.rate)} × 10⁹ {_UNIT} per second"
        text = f"{p.name}: {p.intensity:,.3g} {_UNIT} per byte, {rate}"
        if p.recorded is not None:
            text += f", recorded {_number(p.recorded)} × 10⁹"
        words.append(text)
    notes = [
        f"A bound, not a measurement: each ring is the maximum on an {gpu.name} for a kernel with "
        f"the {_UNIT} and the distinct bytes counted here; bandwidth and arithmetic from the "
        f"data sheet ({gpu.source}).",
        "Counts are PTX instructions, per thread; the machine code has a different number.",
    ]
    if title := recorded_title(b):
        notes.append(f"Filled markers: {title}; its GB/s times the {_UNIT} per byte counted here.")
    return TimingPicture(_draw(points, gpu, words[0], notes), "\n".join([*words, *notes]))


def _peak(gpu: Gpu) -> float:
    assert gpu.instruction_peak is not None
    return gpu.instruction_peak


def _bound(gpu: Gpu, intensity: float) -> float:
    return min(gpu.bandwidth * intensity, _peak(gpu))


def _point(b: Benchmark, index: int, o: VariantOutcome, gpu: Gpu) -> _Point | None:
    m = o.measured
    if m is None or not m.moved_bytes or m.counters is None or not m.counters.touched_bytes:
        return None
    operations = m.counters.thread_instructions
    intensity = operations / m.counters.touched_bytes
    row = b.recorded_row(o.name)
    # The number of instructions per required byte hardly depends on the size, so it is also used
    # for the recorded size.
    recorded = row.gbps * 1e9 * operations / m.moved_bytes if row is not None else None
    return _Point(o.name, index, intensity, _bound(gpu, intensity), recorded)


def _number(rate: float) -> str:
    """Format a rate in units of 10⁹ with at least three significant digits."""
    value = rate / 1e9
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# -- the picture ----------------------------------------------------------------------------------
def _draw(points: Sequence[_Point], gpu: Gpu, headline: str, notes: list[str]) -> Figure:
    labels = []
    for p in points:
        rate = f"at most {_number(p.rate)}"
        rate = f"{_number(p.recorded)} of {rate}" if p.recorded is not None else rate
        labels.append([*chart.wrapped(p.name, _LABELS), rate])
    high = max(_HEIGHT, sum(chart.SMALL_LINE * len(words) + 0.06 for words in labels))
    figure = chart.page(headline, notes, high + 0.75)
    axes = chart.tidy(figure.subplots(), unit=f"10⁹ {_UNIT} per second", across=f"{_UNIT} per byte")
    _draw_roof(axes, points, gpu)
    count, names = max(p.index for p in points) + 1, []
    for p, words in zip(points, labels, strict=True):
        style = chart.look(p.index, count)
        _draw_point(axes, p, style)
        names.append(
            chart.Name(words, p.intensity, (p.recorded or p.rate) / 1e9, style, dotted=True)
        )
    chart.name_points(axes, names, high)
    return figure


def _draw_roof(axes: Axes, points: Sequence[_Point], gpu: Gpu) -> None:
    peak, ridge = _peak(gpu), _peak(gpu) / gpu.bandwidth
    xs = [ridge, *(p.intensity for p in points)]
    low, high = min(xs) / 4, max(xs) * 4
    ys = [v for p in points for v in (p.rate, p.recorded) if v] + [_bound(gpu, min(xs)), peak]
    bottom = min(ys) / 4
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(bottom / 1e9, max(ys) * 2.2 / 1e9))
    chart.log_ticks(axes.xaxis)
    chart.log_ticks(axes.yaxis)
    axes.plot([low, ridge, high], [_bound(gpu, x) / 1e9 for x in (low, ridge, high)], color=TEXT,
              linewidth=1.6, gid="roof")  # fmt: skip
    start = max(low, bottom / gpu.bandwidth)
    at = start * (ridge / start) ** 0.3
    text: dict[str, Any] = {"va": "bottom", "gid": "roof"}
    steep = (max(ys) / bottom) ** 0.015 * gpu.bandwidth / 1e9  # slightly above the roof
    axes.text(at, steep * at, f"{gpu.rate}: {gpu.name}, data sheet",
              rotation=math.degrees(math.atan(steep)), transform_rotates_text=True,
              rotation_mode="anchor", **text)  # fmt: skip
    words = f"{gpu.name}: instructions issued, data sheet: {_number(peak)}"
    axes.text(high, 1.06 * peak / 1e9, words, ha="right", **text)


def _draw_point(axes: Axes, p: _Point, style: dict[str, Any]) -> None:
    """Draw a recorded rate as a filled marker, the bound as a ring, and a line between them."""
    size = style["markersize"] + 1
    filled = {"color": style["color"], "marker": style["marker"], "markersize": size, "zorder": 4}
    ring = {**filled, "fillstyle": "none", "markeredgewidth": 1.4}
    axes.plot([p.intensity], [p.rate / 1e9], gid="point", **ring)
    if p.recorded is not None:
        ends = [p.rate / 1e9, p.recorded / 1e9]
        axes.plot([p.intensity] * 2, ends, color=style["color"], linewidth=0.9, gid="gap")
        axes.plot([p.intensity], ends[1:], gid="recorded", **filled)
