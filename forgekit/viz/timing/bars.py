"""Draw a benchmark of a single size as bars: rates relative to the ceiling, or counts and recorded
rates.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forgekit.benching.notebook.results import COUNTED, Benchmark, reason
from forgekit.viz.timing.chart import MARK, SMALL_LINE, beside, look, page, tidy, wrapped
from forgekit.viz.timing.style import TEXT, WIDTH, TimingPicture, styled

# In inches: the height of a bar, the height of a line in a name, and the width of a small digit.
_BAR, _LINE, _LETTER = 0.17, 0.165, 0.075


@styled
def bars(b: Benchmark) -> TimingPicture:
    return TimingPicture(_times(b) if b.kind == "gpu" else _counts(b), repr(b))


class _Rows:
    """The rows of the variants, each as high as its name. middles: the vertical middles of the
    rows, in inches from the top.
    """

    def __init__(self, b: Benchmark) -> None:
        self.b = b
        self.width = min(max(0.078 * max(len(o.name) for o in b.outcomes), 0.6), 2.0)
        self.names = ["\n".join(wrapped(o.name, self.width, 9)) for o in b.outcomes]
        heights = [_LINE * (name.count("\n") + 1) + 0.13 for name in self.names]
        ends = [*itertools.accumulate(heights)]
        self.height = ends[-1]
        self.middles = [end - height / 2 for end, height in zip(ends, heights, strict=True)]
        self.colours = [look(k, len(ends))["color"] for k in range(len(ends))]

    def prepare(self, axes: Axes) -> None:
        tidy(axes).grid(visible=False)
        axes.set_ylim(self.height, 0)
        axes.set_yticks(self.middles, self.names, fontsize=9)
        for label in axes.get_yticklabels():
            label.set_gid("name")
        axes.tick_params(axis="y", length=0)

    def say_reasons(self, axes: Axes, missing: Sequence[bool], inches: float) -> None:
        for o, middle, none in zip(self.b.outcomes, self.middles, missing, strict=True):
            if none:
                beside(axes, wrapped(reason(o), inches)[0], (0, middle), 6, style="italic",
                       va="center", gid="reason").set_in_layout(False)  # fmt: skip


# -- counts ---------------------------------------------------------------------------------------
def _counts(b: Benchmark) -> Figure:
    """Draw the virtual GPU's counts and recorded rates, with one panel per quantity."""
    rows, titles, recorded = _Rows(b), [q.title for q in COUNTED], b.recorded
    if recorded is not None and b.recorded_shape is not None:
        gpu = recorded.gpu.removeprefix("NVIDIA ")
        titles.append(
            f"GB/s recorded on an {gpu}, {recorded.date}; a copy: {recorded.ceiling_gbps:,.0f}"
        )
    inches = (WIDTH - rows.width - 0.3) / len(titles) - 0.2
    heads = [wrapped(title, inches + 0.12) for title in titles]
    figure = page(b.headline, b.notes, rows.height + SMALL_LINE * max(map(len, heads)) + 0.3)
    panels = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
    for axes, head in zip(panels, heads, strict=True):
        rows.prepare(axes)
        axes.spines["bottom"].set_visible(False)
        axes.set_xticks([])
        axes.set_title("\n".join(head), gid="head")
    counted = [o.measured is not None and o.measured.counters is not None for o in b.outcomes]
    for axes, q in zip(panels, COUNTED, strict=False):
        values = [q.value(o.measured, None) if o.measured is not None else None
                  for o in b.outcomes]  # fmt: skip
        times = "×" if q.name == "bytes" else ""
        texts = [q.text(v) + (times if v is not None else "") if there else ""
                 for v, there in zip(values, counted, strict=True)]  # fmt: skip
        most = max((v for v in values if v is not None), default=1.0)
        most = 100.0 if q.name == "conflicts" else max(most, 1.0)
        mark = 1.0 if q.name == "bytes" else None
        _draw_panel(axes, rows, inches, values, texts, most, mark)
    if recorded is not None and len(panels) > len(COUNTED):
        rates = [row.gbps if (row := b.recorded_row(o.name)) else None for o in b.outcomes]
        texts = [f"{rate:,.0f}" if rate else "" for rate in rates]
        most = max(recorded.ceiling_gbps, *(rate or 0.0 for rate in rates))
        _draw_panel(
            panels[-1], rows, inches, rates, texts, most, recorded.ceiling_gbps, hollow=True
        )
    rows.say_reasons(panels[0], [not c for c in counted], len(COUNTED) * (inches + 0.2) - 0.4)
    return figure


def _draw_panel(
    axes: Axes, rows: _Rows, inches: float, values: Sequence[float | None], texts: Sequence[str],
    most: float, mark: float | None, *, hollow: bool = False,
) -> None:  # fmt: skip
    """Draw bars with text. most: the value at which a bar has its full length; mark: the value at
    which a line crosses all bars.
    """
    room = 1 - (_LETTER * max(map(len, texts)) + 0.06) / inches
    axes.set_xlim(0, most / max(room, 0.2))
    for value, text, y, colour in zip(values, texts, rows.middles, rows.colours, strict=True):
        if mark is not None and (value or text):
            ends = y - _BAR / 2 - 0.05, y + _BAR / 2 + 0.05
            axes.vlines(mark, *ends, color=TEXT, linewidth=0.8, linestyle=MARK, gid="mark")
        if value:
            edge: dict[str, Any] = {"fill": False, "edgecolor": colour, "linewidth": 1.4}
            axes.barh(y, value, _BAR, gid="bar", **(edge if hollow else {"color": colour}))
        beside(axes, text, (most if hollow else value or 0.0, y), 3.5)


# -- times ----------------------------------------------------------------------------------------
def _times(b: Benchmark) -> Figure:
    rows, recorded = _Rows(b), [b.recorded_row(o.name) for o in b.outcomes]
    notes = [*b.notes, *(["Diamonds: the recorded rates."] if any(recorded) else [])]
    figure = page(b.headline, notes, rows.height + 0.9)
    axes = figure.subplots()
    rows.prepare(axes)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("GB/s, with the 20th to 80th percentile", gid="unit")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", nbins=6)
    if b.ceiling_gbps:
        axes.axvline(b.ceiling_gbps, color=TEXT, linewidth=0.8, linestyle=MARK, clip_on=False,
                     gid="mark")  # fmt: skip
        words = f"ceiling: {b.ceiling_gbps:,.0f} GB/s, a copy in the same run"
        axes.text(b.ceiling_gbps, -0.03, words, ha="right", gid="mark")
    missing, most = [], b.ceiling_gbps or 1.0
    for k, (o, y) in enumerate(zip(b.outcomes, rows.middles, strict=True)):
        m = o.measured
        missing.append(m is None or m.timing is None)
        if m is None or m.timing is None:
            continue
        t, rate = m.timing, m.gbps() or 0.0
        axes.barh(y, rate, _BAR, color=rows.colours[k], gid="bar")
        most = max(most, rate)
        if m.moved_bytes and t.p20_ms > 0:
            low, high = (m.moved_bytes / ms / 1e6 for ms in (t.p80_ms, t.p20_ms))
            axes.errorbar(rate, y, xerr=[[rate - low], [high - rate]], ecolor=TEXT, capsize=6,
                          elinewidth=1.6, capthick=1.2, gid="percentiles")  # fmt: skip
        percent = m.percent(b.ceiling_gbps) if b.ceiling_gbps else None
        texts = ((62, f"{rate:,.0f} GB/s"), (152, f"{t.median_ms:.4f} ms"),
                 (94, "" if percent is None else f"{percent:.0f} %"))  # fmt: skip
        for points, text in texts:
            beside(axes, text, (1, y), points, xycoords=axes.get_yaxis_transform(), ha="right")
    for row, y in zip(recorded, rows.middles, strict=True):
        if row is not None:
            most = max(most, row.gbps)
            axes.plot([row.gbps], [y], "d", color=TEXT, markersize=14, fillstyle="none",
                      markeredgewidth=1.2, gid="recorded")  # fmt: skip
    axes.set_xlim(0, most)
    rows.say_reasons(axes, missing, 5.0)
    return figure
