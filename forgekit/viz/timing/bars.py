"""Bars of a benchmark of one size: rates beside the ceiling, or counts beside recorded rates."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forgekit.benching.notebook.results import Benchmark
from forgekit.benching.notebook.tables import COUNTED, reason
from forgekit.viz.timing.chart import MARK, SMALL_LINE, beside, look, page, tidy, wrapped
from forgekit.viz.timing.style import TEXT, WIDTH, TimingPicture, styled

_BAR, _LINE, _LETTER = 0.17, 0.165, 0.075  # inches: a bar, a line of a name, a small digit


@styled
def bars(b: Benchmark) -> TimingPicture:
    """The picture of a benchmark of one size."""
    return TimingPicture(_times(b) if b.kind == "gpu" else _counts(b), repr(b))


class _Rows:
    """A row for each variant, as high as its name's lines; `middles`: inches from the top."""

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
        """Names at the left, the first on top; bars from a grey line."""
        tidy(axes).grid(visible=False)
        axes.set_ylim(self.height, 0)
        axes.set_yticks(self.middles, self.names, fontsize=9)
        for label in axes.get_yticklabels():
            label.set_gid("name")
        axes.tick_params(axis="y", length=0)

    def say_reasons(self, axes: Axes, missing: Sequence[bool], inches: float) -> None:
        """Why there is nothing to draw of a variant."""
        for o, middle, none in zip(self.b.outcomes, self.middles, missing, strict=True):
            if none:
                beside(axes, wrapped(reason(o), inches)[0], (0, middle), 6, style="italic",
                       va="center", gid="reason").set_in_layout(False)  # fmt: skip


# -- counts ---------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Panel:
    """A quantity of all variants: value None where there is none, texts beside the bars.

    most: what a bar across the panel would be; mark: a value with a line across all bars.
    """

    title: str
    values: tuple[float | None, ...]
    texts: tuple[str, ...]
    most: float
    mark: float | None = None
    recorded: bool = False


def _counts(b: Benchmark) -> Figure:
    rows, panels = _Rows(b), _panels(b)
    inches = (WIDTH - rows.width - 0.3) / len(panels) - 0.2
    titles = [wrapped(p.title, inches + 0.12) for p in panels]
    figure = page(b.headline, b.notes, rows.height + SMALL_LINE * max(map(len, titles)) + 0.3)
    found = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel, title in zip(found, panels, titles, strict=True):
        rows.prepare(axes)
        axes.spines["bottom"].set_visible(False)
        axes.set_xticks([])
        axes.set_title("\n".join(title), gid="head")
        room = 1 - (_LETTER * max(map(len, panel.texts)) + 0.06) / inches
        axes.set_xlim(0, panel.most / max(room, 0.2))
        _draw_panel(axes, panel, rows)
    missing = [o.measured is None or o.measured.counters is None for o in b.outcomes]
    counted = sum(not p.recorded for p in panels)
    rows.say_reasons(found[0], missing, counted * (inches + 0.2) - 0.4)
    return figure


def _draw_panel(axes: Axes, panel: _Panel, rows: _Rows) -> None:
    for value, text, y, colour in zip(panel.values, panel.texts, rows.middles, rows.colours,
                                      strict=True):  # fmt: skip
        if panel.mark is not None and (value or text):
            ends = y - _BAR / 2 - 0.05, y + _BAR / 2 + 0.05
            axes.vlines(panel.mark, *ends, color=TEXT, linewidth=0.8, linestyle=MARK, gid="mark")
        if value:
            hollow: dict[str, Any] = {"fill": False, "edgecolor": colour, "linewidth": 1.4}
            style = hollow if panel.recorded else {"color": colour}
            axes.barh(y, value, _BAR, gid="bar", **style)
        beside(axes, text, (panel.most if panel.recorded else value or 0.0, y), 3.5)


def _panels(b: Benchmark) -> list[_Panel]:
    """What the virtual GPU counted, and what was recorded on a GPU."""
    panels = []
    counted = [o.measured is not None and o.measured.counters is not None for o in b.outcomes]
    for q in COUNTED:
        values = tuple(q.value(o.measured, None) if o.measured is not None else None
                       for o in b.outcomes)  # fmt: skip
        times = "×" if q.name == "bytes" else ""
        texts = tuple(q.text(v) + (times if v is not None else "") if there else ""
                      for v, there in zip(values, counted, strict=True))  # fmt: skip
        most = max((v for v in values if v is not None), default=1.0)
        most = 100.0 if q.name == "conflicts" else max(most, 1.0)
        panels.append(_Panel(q.title, values, texts, most, 1.0 if q.name == "bytes" else None))
    if b.recorded is not None and b.recorded_shape is not None:
        found = [b.recorded_row(o.name) for o in b.outcomes]
        rates = tuple(r.gbps if r else None for r in found)
        ceiling = b.recorded.ceiling_gbps
        title = (
            f"GB/s recorded on an {b.recorded.gpu.removeprefix('NVIDIA ')}, {b.recorded.date}; "
            f"a copy: {ceiling:,.0f}"
        )
        texts = tuple(f"{rate:,.0f}" if rate else "" for rate in rates)
        most = max(ceiling, *(rate or 0.0 for rate in rates))
        panels.append(_Panel(title, rates, texts, most, ceiling, recorded=True))
    return panels


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
