"""Bars of a benchmark of one size: rates beside the ceiling, or counts beside recorded rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from forgekit.benching.notebook.quantities import COUNTED
from forgekit.benching.notebook.results import Benchmark, VariantOutcome
from forgekit.benching.notebook.tables import reason
from forgekit.viz.theme import LINE, NOT_TOUCHED, WIDTH, Canvas
from forgekit.viz.timing.chart import (
    SMALL,
    caption_height,
    draw_caption,
    draw_title,
    look,
    title_lines,
    wrapped,
)
from forgekit.viz.timing.picture import TimingPicture

# Inches.
_LEFT = 0.12
_NAMES, _LEAST_NAMES = 2.1, 0.7  # room for the variants' names
_GAP = 0.16
_BAR = 0.17
_LETTER = 0.075  # a small digit
_TOLD = 2.25  # beside bars of times: rate, percent, milliseconds


@dataclass(frozen=True)
class _Panel:
    """A quantity of all variants: value None where there is none, `told` beside the bar.

    most: what a bar across the panel would be; mark: a value with a line across all bars.
    """

    title: str
    values: tuple[float | None, ...]
    told: tuple[str, ...]
    most: float
    mark: float | None = None
    recorded: bool = False


def bars(b: Benchmark) -> TimingPicture:
    """The picture of a benchmark of one size."""
    figure = _Page(b).draw_times() if b.kind == "gpu" else _Page(b).draw_counts()
    return TimingPicture(figure.figure, repr(b))


class _Page:
    """What both sorts of bars share: names at the left, a row a variant."""

    def __init__(self, b: Benchmark) -> None:
        self.b = b
        longest = max(len(o.name) for o in b.outcomes)
        room = min(max(longest * 0.078 + 0.1, _LEAST_NAMES), _NAMES)
        self.names = [wrapped(o.name, room - 0.1, 9) for o in b.outcomes]
        self.left = _LEFT + room
        marked = b.kind == "gpu" and b.recorded_shape is not None
        self.notes = [*b.notes, *(["Diamonds: the recorded rates."] if marked else [])]
        self.rows = [max(LINE * len(lines) + 0.09, _BAR + 0.13) for lines in self.names]

    def _canvas(self, head: float, foot: float) -> tuple[Canvas, float]:
        """A page with the title drawn, and where the rows begin."""
        top = 0.16 + 0.23 * len(title_lines(self.b.headline))
        canvas = Canvas(top + head + sum(self.rows) + foot + caption_height(self.notes))
        return canvas, draw_title(canvas, self.b.headline) + head

    def _rows(self, canvas: Canvas, y: float) -> list[float]:
        """Draw the names; returns the middle of each row."""
        middles = []
        for lines, height in zip(self.names, self.rows, strict=True):
            middles.append(y + height / 2)
            canvas.lines(_LEFT, y + height / 2 - LINE * len(lines) / 2 + 0.02, lines, gid="name")
            y += height
        return middles

    # -- counts -----------------------------------------------------------------------------------
    def draw_counts(self) -> Canvas:
        panels = _panels(self.b)
        width = (WIDTH - self.left - 0.1) / len(panels) - _GAP
        titles = [wrapped(p.title, width) for p in panels]
        head = LINE * SMALL / 9 * max(map(len, titles)) + 0.08
        canvas, y = self._canvas(head, 0.12)
        middles = self._rows(canvas, y)
        bottom = y + sum(self.rows)
        for k, (panel, lines) in enumerate(zip(panels, titles, strict=True)):
            x = self.left + k * (width + _GAP)
            canvas.lines(x, y - LINE * SMALL / 9 * len(lines) - 0.04, lines, size=SMALL, gid="head")
            self._panel(canvas, panel, middles, x, width, (y, bottom))
        counted = sum(not p.recorded for p in panels)
        for o, middle in zip(self.b.outcomes, middles, strict=True):
            if o.measured is None or o.measured.counters is None:
                end = self.left + counted * (width + _GAP) - _GAP
                words = wrapped(reason(o), end - self.left - 0.2)[0]
                canvas.text(self.left + 0.08, middle, words, size=SMALL, style="italic",
                            va="center", gid="reason")  # fmt: skip
        draw_caption(canvas, bottom + 0.12, self.notes)
        return canvas

    def _panel(
        self,
        canvas: Canvas,
        panel: _Panel,
        middles: Sequence[float],
        x: float,
        width: float,
        span: tuple[float, float],
    ) -> None:
        """Bars of one quantity, from x on; span: top and bottom of the rows."""
        room = max(width - _LETTER * max(map(len, panel.told), default=0) - 0.06, 0.2)
        scale = room / panel.most
        canvas.line([x, x], [*span], alpha=0.6, gid="base")
        for k, (value, told) in enumerate(zip(panel.values, panel.told, strict=True)):
            if value is None and not told:
                continue
            if panel.mark is not None:
                ends = [middles[k] - _BAR / 2 - 0.05, middles[k] + _BAR / 2 + 0.05]
                canvas.line([x + panel.mark * scale] * 2, ends, linestyle=(0, (2, 2)), gid="mark")
            size = (value or 0) * scale
            colour = look(k, len(panel.values)).colour
            style: dict[str, Any] = {"facecolor": colour}
            if panel.recorded:
                style = {**NOT_TOUCHED, "edgecolor": colour, "linewidth": 1.4}
            if size:
                canvas.box(x, middles[k] - _BAR / 2, size, _BAR, gid="bar", **style)
            at = x + (room if panel.recorded else size) + 0.05  # beyond the mark
            canvas.text(at, middles[k], told, size=SMALL, va="center_baseline",
                        gid="value")  # fmt: skip

    # -- times ------------------------------------------------------------------------------------
    def draw_times(self) -> Canvas:
        b = self.b
        canvas, y = self._canvas(0.22 if b.ceiling_gbps else 0.06, 0.5)
        middles = self._rows(canvas, y)
        bottom = y + sum(self.rows)
        rates = [o.measured.gbps() or 0.0 for o in b.outcomes if o.measured is not None]
        rates += [r.gbps for o in b.outcomes if (r := b.recorded_row(o.name)) is not None]
        most = max([*rates, b.ceiling_gbps or 0.0]) or 1.0
        width = WIDTH - self.left - _TOLD
        scale = width / most
        self._rate_axis(canvas, bottom, scale, most)
        if b.ceiling_gbps:
            at = self.left + b.ceiling_gbps * scale
            canvas.line([at, at], [y - 0.04, bottom], linestyle=(0, (2, 2)), gid="mark")
            words = f"ceiling: {b.ceiling_gbps:,.0f} GB/s, a copy in the same run"
            canvas.text(at, y - 0.05, words, size=SMALL, ha="right", va="bottom", gid="mark")
        for k, (o, middle) in enumerate(zip(b.outcomes, middles, strict=True)):
            self._time(canvas, o, middle, scale, look(k, len(middles)).colour)
        draw_caption(canvas, bottom + 0.5, self.notes)
        return canvas

    def _rate_axis(self, canvas: Canvas, y: float, scale: float, most: float) -> None:
        end = self.left + most * scale
        canvas.line([self.left, end], [y, y], gid="axis")
        for rate in _steps(most):
            at = self.left + rate * scale
            canvas.line([at, at], [y, y + 0.04], gid="axis")
            canvas.text(at, y + 0.06, f"{rate:,.0f}", size=SMALL, ha="center", gid="tick")
        canvas.text((self.left + end) / 2, y + 0.22, "GB/s, with the 20th to 80th percentile",
                    size=SMALL, ha="center", gid="unit")  # fmt: skip

    def _time(self, canvas: Canvas, o: VariantOutcome, y: float, scale: float, colour: str) -> None:
        """The bar of a rate with its percentiles, and the numbers at the right."""
        x = WIDTH - _TOLD + 0.12
        if o.measured is None or o.measured.timing is None:
            words = wrapped(reason(o), WIDTH - self.left - 0.2)[0]
            canvas.text(self.left + 0.08, y, words, size=SMALL, style="italic", va="center",
                        gid="reason")  # fmt: skip
            return
        m, t = o.measured, o.measured.timing
        rate = m.gbps() or 0.0
        canvas.box(self.left, y - _BAR / 2, rate * scale, _BAR, facecolor=colour, gid="bar")
        if m.moved_bytes and t.p20_ms > 0:
            ends = [self.left + m.moved_bytes / ms / 1e6 * scale for ms in (t.p80_ms, t.p20_ms)]
            canvas.line(ends, [y, y], linewidth=1.6, gid="percentiles")
            for end in ends:
                canvas.line([end, end], [y - 0.12, y + 0.12], linewidth=1.2, gid="percentiles")
        recorded = self.b.recorded_row(o.name)
        if recorded is not None:
            canvas.line([self.left + recorded.gbps * scale], [y], marker="d", markersize=14,
                        fillstyle="none", markeredgewidth=1.2, gid="recorded")  # fmt: skip
        percent = m.percent(self.b.ceiling_gbps) if self.b.ceiling_gbps else None
        told = [(0.42, f"{rate:,.0f}"), (0.5, "GB/s"),
                (1.24, f"{percent:.0f} %" if percent is not None else ""),
                (2.02, f"{t.median_ms:.4f} ms")]  # fmt: skip
        for at, text in told:
            canvas.text(x + at, y, text, size=SMALL, va="center_baseline",
                        ha="left" if text == "GB/s" else "right", gid="value")  # fmt: skip


def _panels(b: Benchmark) -> list[_Panel]:
    """What the virtual GPU counted, and what was recorded on a GPU."""
    panels = []
    for q in COUNTED:
        values = tuple(q.value(o.measured, None) if o.measured is not None else None
                       for o in b.outcomes)  # fmt: skip
        there = [o.measured is not None and o.measured.counters is not None for o in b.outcomes]
        told = tuple(q.text(v) + ("×" if q.name == "bytes" and v is not None else "") if t else ""
                     for v, t in zip(values, there, strict=True))  # fmt: skip
        most = max((v for v in values if v is not None), default=1.0)
        most = 100.0 if q.name == "conflicts" else max(most, 1.0)
        panels.append(_Panel(q.title, values, told, most, 1.0 if q.name == "bytes" else None))
    if b.recorded is not None and b.recorded_shape is not None:
        rows = [b.recorded_row(o.name) for o in b.outcomes]
        rates = tuple(r.gbps if r else None for r in rows)
        told = tuple(f"{r.gbps:,.0f}" if r else "" for r in rows)
        ceiling = b.recorded.ceiling_gbps
        title = (
            f"GB/s recorded on an {b.recorded.gpu.removeprefix('NVIDIA ')}, {b.recorded.date}; "
            f"a copy: {ceiling:,.0f}"
        )
        most = max(ceiling, *(r for r in rates if r is not None))
        panels.append(_Panel(title, rates, told, most, ceiling, recorded=True))
    return panels


def _steps(most: float) -> list[float]:
    """Round numbers from 0 on, about five."""
    for step in (m * 10**e for e in range(-3, 7) for m in (1, 2, 5)):
        if most / step <= 6:
            return [k * step for k in range(int(most / step) + 1)]
    return [0.0]
