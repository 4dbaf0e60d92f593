"""Draw a sweep over sizes as lines: rates relative to the ceiling, with a percentile band, or
counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forgekit.benching.notebook.results import (
    COUNTED,
    PERCENT,
    Quantity,
    Sweep,
    at_percentile,
    recorded_title,
    size_text,
)
from forgekit.viz.timing import chart
from forgekit.viz.timing.style import SMALL, TEXT, WIDTH, TimingPicture, styled

# In inches, except the number of charts per row:
_HEIGHT, _LABELS = 3.4, 1.55  # one large chart: height of the axes; width of the names to the right
_COLUMNS, _CHART = 3, 2.2  # several small charts: number per row; height of a chart with its axes


@styled
def lines(s: Sweep) -> TimingPicture:
    return TimingPicture(_rates(s) if s.kind == "gpu" else _several(s), repr(s))


def _places(s: Sweep) -> list[float]:
    return [float(size if isinstance(size, int) else math.prod(size)) for size in s.sizes]


def _values(s: Sweep, q: Quantity, name: str, percentile: str = "") -> list[float]:
    """Return a variant's value at each size, with NaN for a missing value."""
    found = []
    for m, b in zip(s.measured(name), s.benchmarks, strict=True):
        m = at_percentile(m, percentile) if m is not None and percentile else m
        value = q.value(m, b.ceiling_gbps) if m is not None else None
        found.append(math.nan if value is None else value)
    return found


def _draw_curves(axes: Axes, s: Sweep, q: Quantity, inches: float) -> None:
    """Draw lines, bands and ticks. inches: the approximate width of the axes."""
    places, seen = _places(s), [0.0]
    chart.size_ticks(axes, places, [size_text(size) for size in s.sizes], inches)
    for k, name in enumerate(s.names):
        style, values = chart.look(k, len(s.names)), _values(s, q, name)
        seen += values
        if s.kind == "gpu":
            low, high = (_values(s, q, name, end) for end in ("low", "high"))
            seen += low
            axes.fill_between(places, low, high, color=style["color"], alpha=0.22, linewidth=0)
        axes.plot(places, values, **style, gid=name, clip_on=False)
    limit = 100.0 if q.name in ("percent", "conflicts") else 0.0
    axes.set_ylim(0, 1.06 * max(limit, float(np.nanmax(seen))) or 1.0)
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.locator_params(axis="y", nbins=5)


# -- one large chart ------------------------------------------------------------------------------
def _rates(s: Sweep) -> Figure:
    """Draw percentages of the ceiling, with each variant's name next to the end of its line."""
    places, ceiling = _places(s), s.benchmarks[0].ceiling_gbps
    texts = [chart.wrapped(name, _LABELS) for name in s.names]
    high = max(
        _HEIGHT, sum(chart.SMALL_LINE * len(text) + 0.05 for text in texts) + 2 * chart.SMALL_LINE
    )
    figure = chart.page(s.headline, s.notes, high + 0.75)
    axes = chart.tidy(figure.subplots(), unit=PERCENT.title, across=s.axis)
    _draw_curves(axes, s, PERCENT, WIDTH - _LABELS - 1.2)
    names, missing = [], []
    for k, (name, text) in enumerate(zip(s.names, texts, strict=True)):
        values = _values(s, PERCENT, name)
        there = [(x, v) for x, v in zip(places, values, strict=True) if not math.isnan(v)]
        if there:
            early = math.isnan(values[-1])  # the line to the label must not look like a curve
            names.append(chart.Name(text, *there[-1], chart.look(k, len(s.names)), early))
        else:
            missing.append(name)
    if ceiling:
        axes.axhline(100.0, color=TEXT, linestyle=(0, (4, 3)), linewidth=1.0, gid="ceiling")
        words = chart.wrapped(f"ceiling: {ceiling:,.0f} GB/s", _LABELS)
        names.append(chart.Name(words, axes.get_xlim()[1], 100.0, None))
    chart.name_points(axes, names, high)
    if missing:
        words = chart.wrapped(f"no line: {', '.join(missing)}", WIDTH - _LABELS - 1.4)
        axes.text(0.01, 0.02, "\n".join(words), transform=axes.transAxes, style="italic",
                  gid="missing")  # fmt: skip
    return figure


# -- several small charts -------------------------------------------------------------------------
def _several(s: Sweep) -> Figure:
    """Draw all counts and the recorded rates as small charts below a common key."""
    b, inches = s.benchmarks[-1], WIDTH / _COLUMNS - 0.6
    titles = [q.title for q in COUNTED]
    if b.recorded is not None and b.recorded_shape is not None:
        titles.append(f"GB/s. {recorded_title(b)}; a copy: {b.recorded.ceiling_gbps:,.0f}")
    heads = [chart.wrapped(title, inches + 0.3) for title in titles]
    rows = -(-len(titles) // _COLUMNS)
    high = rows * _CHART + chart.SMALL_LINE * sum(max(map(len, heads[k : k + _COLUMNS]))
                                            for k in range(0, len(heads), _COLUMNS))  # fmt: skip
    shown = [name for name in s.names if _is_drawn(s, name)]
    longest = max(map(len, shown), default=0) * 0.066 + 0.55
    columns = max(1, min(len(shown), int((WIDTH - 0.2) / longest)))
    key = 0.17 * -(-len(shown) // columns) + 0.05
    figure = chart.page(s.headline, s.notes, key + high + 0.1)
    grid = figure.add_gridspec(rows + 1, _COLUMNS, height_ratios=[key, *[high / rows] * rows])
    charts = []
    for k, head in enumerate(heads):
        axes = figure.add_subplot(grid[1 + k // _COLUMNS, k % _COLUMNS])
        charts.append(chart.tidy(axes, unit="\n".join(head), across=s.axis))
    for axes, q in zip(charts, COUNTED, strict=False):
        _draw_curves(axes, s, q, inches)
        if all(math.isnan(v) for name in s.names for v in _values(s, q, name)):
            axes.text(0.5, 0.5, "none", transform=axes.transAxes, ha="center", style="italic",
                      gid="missing")  # fmt: skip
    if len(charts) > len(COUNTED):
        _recorded(charts[-1], s)
    _legend(figure.add_subplot(grid[0, :]), s, shown, columns)
    return figure


def _is_drawn(s: Sweep, name: str) -> bool:
    counted = any(m is not None and m.counters is not None for m in s.measured(name))
    return counted or s.benchmarks[-1].recorded_row(name) is not None


def _legend(axes: Axes, s: Sweep, shown: Sequence[str], columns: int) -> None:
    axes.set_axis_off()
    axes.patch.set_alpha(0.0)
    for name in shown:
        axes.plot([], [], **chart.look(s.names.index(name), len(s.names)), label=name)
    legend = axes.legend(loc="center left", ncols=columns, borderpad=0, handlelength=2.6,
                         labelspacing=0.35, bbox_to_anchor=(0, 0.5), borderaxespad=0)  # fmt: skip
    for text in legend.get_texts():
        text.set_gid("name")


def _recorded(axes: Axes, s: Sweep) -> None:
    """Draw the recorded rates at one size as bars, with the variants' markers."""
    b = s.benchmarks[-1]
    assert b.recorded is not None
    found = [(k, row) for k, name in enumerate(s.names) if (row := b.recorded_row(name))]
    most = max([b.recorded.ceiling_gbps, *(row.gbps for _, row in found)])
    axes.grid(visible=False)
    for at, (k, row) in enumerate(found):
        style = chart.look(k, len(s.names))
        axes.barh(at, row.gbps, 0.6, color=style["color"], gid="bar")
        chart.key(axes, -0.06, at, style, transform=axes.get_yaxis_transform())
        text = f"{row.gbps:,.0f} ({b.recorded.percent(row):.0f} %)"
        chart.beside(axes, text, (most, at), 5, fontsize=min(SMALL, 70 / len(found)))
    axes.axvline(b.recorded.ceiling_gbps, color=TEXT, linewidth=0.8, linestyle=chart.MARK,
                 clip_on=False, gid="mark")  # fmt: skip
    axes.set(ylim=(max(len(found), 5) - 0.4, -0.6), xlim=(0, most), yticks=[], xlabel="")
    axes.set_xticks([0, b.recorded.ceiling_gbps], ["0", f"{b.recorded.ceiling_gbps:,.0f}"])
