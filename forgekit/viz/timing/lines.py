"""Lines of a sweep over sizes: rates below the ceiling with a band, or what was counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from forgekit.benching.measuring import Measured
from forgekit.benching.notebook.quantities import COUNTED, Quantity, at_percentile, quantity
from forgekit.benching.notebook.results import Size, Sweep
from forgekit.benching.notebook.tables import recorded_title, size_text
from forgekit.benching.recorded import RecordedRow
from forgekit.viz.theme import LETTERS, LINE, TEXT, WIDTH, Canvas
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
    size_ticks,
    title_lines,
    wrapped,
)
from forgekit.viz.timing.picture import TimingPicture

# Inches.
_LEFT, _LABELS = 0.75, 2.0  # of one large chart: the axis's numbers; names at the right
_HEIGHT = 3.4
_COLUMNS, _SMALL_HEIGHT = 3, 1.45  # of several small ones
_SMALL_LEFT, _SMALL_GAP = 0.5, 0.62
_LINE = LINE * SMALL / 9


@dataclass(frozen=True)
class _Curve:
    """A variant's values over sizes; None where there is none. low, high: of the band, if any."""

    name: str
    values: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


def lines(s: Sweep, metric: str | None) -> TimingPicture:
    """The picture of a sweep; see `Sweep.plot`."""
    if metric is None and s.kind != "gpu":
        return TimingPicture(_several(s).figure, repr(s))
    q = quantity(metric or "percent", s.kind)
    return TimingPicture(_one(s, q).figure, repr(s))


def _place(size: Size) -> float:
    return float(size if isinstance(size, int) else math.prod(size))


def _curves(s: Sweep, q: Quantity) -> list[_Curve]:
    def value(m: Measured | None, k: int) -> float | None:
        return q.value(m, s.benchmarks[k].ceiling_gbps) if m is not None else None

    found = []
    for name in s.names:
        here = s.measured(name)
        values = tuple(value(m, k) for k, m in enumerate(here))
        if s.kind != "gpu":
            found.append(_Curve(name, values))
            continue
        ends = [
            tuple(value(at_percentile(m, which), k) if m is not None else None
                  for k, m in enumerate(here))
            for which in ("low", "high")
        ]  # fmt: skip
        found.append(_Curve(name, values, ends[0], ends[1]))
    return found


# -- one large chart ------------------------------------------------------------------------------
def _one(s: Sweep, q: Quantity) -> Canvas:
    """One quantity, each variant named beside its line's end."""
    curves = _curves(s, q)
    top = 0.16 + 0.23 * len(title_lines(s.headline))
    names = {c.name: wrapped(c.name, _LABELS - 0.45) for c in curves}
    needed = sum(_LINE * len(lines) + 0.05 for lines in names.values()) + 2 * _LINE
    height = max(_HEIGHT, needed)
    canvas = Canvas(top + 0.3 + height + 0.62 + caption_height(s.notes))
    y = draw_title(canvas, s.headline) + 0.22
    canvas.text(0.12, y - 0.07, q.title, size=9, va="bottom", gid="unit")
    f = frame(canvas, _LEFT, y, WIDTH - _LEFT - _LABELS, height)
    _fill(f, s, q, curves)
    ceiling = s.benchmarks[0].ceiling_gbps
    limit = {"percent": 100.0, "gbps": ceiling}.get(q.name) if ceiling else None
    if limit is not None:
        f.axes.axhline(limit, color=TEXT, linestyle=(0, (4, 3)), linewidth=1.0, gid="ceiling")
    _name_lines(canvas, f, s, curves, names, limit, ceiling)
    canvas.text(_LEFT + f.width / 2, y + height + 0.26, s.axis, size=9, ha="center", gid="unit")
    draw_caption(canvas, y + height + 0.56, s.notes)
    return canvas


def _fill(f: Frame, s: Sweep, q: Quantity, curves: Sequence[_Curve]) -> None:
    """Draw lines, bands and axes."""
    places = [_place(size) for size in s.sizes]
    size_ticks(f, places, [size_text(size) for size in s.sizes])
    most = 0.0
    for k, curve in enumerate(curves):
        style = look(k, len(curves))
        most = max([most, *(v for v in (*curve.values, *curve.low) if v is not None)])
        _line(f, places, curve, style)
    if q.name == "ms":
        f.axes.set_yscale("log")
        log_ticks(f.axes.yaxis)
        return
    ceiling = s.benchmarks[0].ceiling_gbps or 0.0
    limit = {"percent": 100.0, "gbps": ceiling, "conflicts": 100.0}.get(q.name, 0.0)
    f.axes.set_ylim(0, 1.06 * max(most, limit) or 1.0)
    f.axes.yaxis.set_major_formatter("{x:,g}")
    f.axes.locator_params(axis="y", nbins=5)


def _line(f: Frame, places: Sequence[float], curve: _Curve, style: Look) -> None:
    values = [math.nan if v is None else v for v in curve.values]
    if curve.low:
        low, high = ([math.nan if v is None else v for v in end] for end in (curve.low, curve.high))
        f.axes.fill_between(places, low, high, color=style.colour, alpha=0.22, linewidth=0)
    f.axes.plot(
        places, values, color=style.colour, marker=style.marker, linestyle=style.dash,
        linewidth=style.width, markersize=style.size, markeredgewidth=0, gid=curve.name,
        clip_on=False,
    )  # fmt: skip


def _name_lines(
    canvas: Canvas,
    f: Frame,
    s: Sweep,
    curves: Sequence[_Curve],
    names: dict[str, list[str]],
    limit: float | None,
    ceiling: float | None,
) -> None:
    """Names at the right, each at the height of its line's end as far as there is room."""
    labels: list[tuple[list[str], float, float, int | None]] = []  # words, x, y, which curve
    missing = [c.name for c in curves if all(v is None for v in c.values)]
    for k, curve in enumerate(curves):
        there = [i for i, v in enumerate(curve.values) if v is not None]
        if there:
            value = curve.values[there[-1]]
            assert value is not None
            labels.append((names[curve.name], *f.inches(_place(s.sizes[there[-1]]), value), k))
    if limit is not None and ceiling:
        words = wrapped(f"ceiling: {ceiling:,.0f} GB/s", _LABELS - 0.45)
        labels.append((words, f.x + f.width, f.inches(_place(s.sizes[-1]), limit)[1], None))
    heights = [_LINE * len(words) + 0.05 for words, *_ in labels]
    low, high = f.y - 0.15, f.y + f.height + 0.3
    centres = apart([y for _, _, y, _ in labels], heights, low, high)
    x = f.x + f.width + 0.3
    for (words, end_x, end_y, which), centre in zip(labels, centres, strict=True):
        style = look(which, len(curves)) if which is not None else None
        colour = style.colour if style else TEXT
        early = which is not None and curves[which].values[-1] is None  # not to look like a line
        canvas.line([end_x + 0.05, x - 0.1, x - 0.04], [end_y, centre, centre], color=colour,
                    linewidth=0.7, alpha=0.8, linestyle=(0, (1, 3)) if early else "-",
                    gid="leader")  # fmt: skip
        if style:
            canvas.line([x + 0.03], [centre], color=colour, marker=style.marker, markersize=5.5,
                        markeredgewidth=0, gid="key")  # fmt: skip
        canvas.lines(x + (0.12 if style else 0), centre - _LINE * len(words) / 2 + 0.01, words,
                     size=SMALL, gid="name")  # fmt: skip
    if missing:
        room = wrapped(f"no line: {', '.join(missing)}", f.width - 0.2)
        canvas.lines(f.x + 0.1, f.y + f.height - _LINE * len(room) - 0.06, room, size=SMALL,
                     style="italic", gid="missing")  # fmt: skip


# -- several small charts -------------------------------------------------------------------------
def _several(s: Sweep) -> Canvas:
    """All that is counted, and recorded rates, in small charts below one key."""
    key = _Key(s)
    there = s.benchmarks[-1].recorded_shape is not None
    words = [*(q.title for q in COUNTED), *([_recorded_words(s)] if there else [])]
    width = (WIDTH - _SMALL_LEFT - 0.12 - (_COLUMNS - 1) * _SMALL_GAP) / _COLUMNS
    titles = [wrapped(text, width + _SMALL_LEFT) for text in words]
    rows = [range(k, min(k + _COLUMNS, len(titles))) for k in range(0, len(titles), _COLUMNS)]
    above = [_LINE * max(len(titles[k]) for k in row) + 0.12 for row in rows]
    top = 0.16 + 0.23 * len(title_lines(s.headline))
    below = len(rows) * (_SMALL_HEIGHT + 0.55)
    canvas = Canvas(top + key.height + sum(above) + below + 0.05 + caption_height(s.notes))
    y = key.draw(canvas, draw_title(canvas, s.headline))
    for row, head in zip(rows, above, strict=True):
        y += head
        for k in row:
            x = _SMALL_LEFT + (k % _COLUMNS) * (width + _SMALL_GAP)
            canvas.lines(x - _SMALL_LEFT + 0.12, y - _LINE * len(titles[k]) - 0.08, titles[k],
                         size=SMALL, gid="unit")  # fmt: skip
            if k == len(COUNTED):
                _recorded(canvas, s, x, y, width)
            else:
                _small(canvas, s, COUNTED[k], x, y, width)
        y += _SMALL_HEIGHT + 0.55
    draw_caption(canvas, y, s.notes)
    return canvas


def _small(canvas: Canvas, s: Sweep, q: Quantity, x: float, y: float, width: float) -> None:
    """A chart of one quantity."""
    f = frame(canvas, x, y, width, _SMALL_HEIGHT)
    curves = _curves(s, q)
    _fill(f, s, q, curves)
    if all(v is None for c in curves for v in c.values):
        canvas.text(x + width / 2, y + _SMALL_HEIGHT / 2, "none", size=SMALL, ha="center",
                    va="center", style="italic", gid="missing")  # fmt: skip
    canvas.text(x + width / 2, y + _SMALL_HEIGHT + 0.26, s.axis, size=SMALL, ha="center",
                gid="unit")  # fmt: skip


class _Key:
    """Markers and names, in rows above the charts, of the variants that have a line or a bar."""

    def __init__(self, s: Sweep) -> None:
        self.count = len(s.names)
        self.shown = [k for k, name in enumerate(s.names) if _is_drawn(s, name)]
        longest = max((len(s.names[k]) for k in self.shown), default=0)
        slot = min(longest / (LETTERS * 9 / SMALL) + 0.5, WIDTH - 0.24)
        self.columns = max(1, int((WIDTH - 0.24) / slot))
        self.slot = (WIDTH - 0.24) / self.columns if self.columns == 1 else slot
        self.words = [wrapped(s.names[k], self.slot - 0.4) for k in self.shown]
        self.row = _LINE * max(map(len, self.words), default=0) + 0.05
        self.height = self.row * -(-len(self.shown) // self.columns) + 0.1

    def draw(self, canvas: Canvas, y: float) -> float:
        """Returns where the charts begin."""
        for place, (k, words) in enumerate(zip(self.shown, self.words, strict=True)):
            style = look(k, self.count)
            x = 0.12 + (place % self.columns) * self.slot
            at = y + (place // self.columns) * self.row
            middle = at + _LINE / 2
            canvas.line([x, x + 0.28], [middle] * 2, color=style.colour, linestyle=style.dash,
                        linewidth=style.width, gid="key")  # fmt: skip
            canvas.line([x + 0.14], [middle], color=style.colour, marker=style.marker,
                        markersize=style.size, markeredgewidth=0, gid="key")  # fmt: skip
            canvas.lines(x + 0.34, at, words, size=SMALL, gid="name")
        return y + self.height


def _is_drawn(s: Sweep, name: str) -> bool:
    """Whether something of it was counted, or recorded on a GPU."""
    counted = any(m is not None and m.counters is not None for m in s.measured(name))
    return counted or s.benchmarks[-1].recorded_row(name) is not None


def _recorded_words(s: Sweep) -> str:
    b = s.benchmarks[-1]
    there = b.recorded.ceiling_gbps if b.recorded is not None else 0.0
    return f"GB/s. {recorded_title(b)}; a copy: {there:,.0f}"


def _recorded(canvas: Canvas, s: Sweep, x: float, y: float, width: float) -> None:
    """Bars of the recorded rates of one size, with the variants' markers."""
    b = s.benchmarks[-1]
    assert b.recorded is not None
    found: list[tuple[int, RecordedRow]] = []
    for k, name in enumerate(s.names):
        r = b.recorded_row(name)
        if r is not None:
            found.append((k, r))
    most = max([b.recorded.ceiling_gbps, *(r.gbps for _, r in found)])
    each = min(0.26, (_SMALL_HEIGHT + 0.3) / len(found))
    left, room = x - 0.2, width - 0.75
    for i, (k, r) in enumerate(found):
        style, middle = look(k, len(s.names)), y + (i + 0.5) * each
        canvas.line([left], [middle], color=style.colour, marker=style.marker, markersize=5.5,
                    markeredgewidth=0, gid="key")  # fmt: skip
        size = r.gbps / most * room
        canvas.box(left + 0.12, middle - 0.3 * each, size, 0.6 * each, facecolor=style.colour,
                   gid="bar")  # fmt: skip
        told = f"{r.gbps:,.0f} ({b.recorded.percent(r):.0f} %)"
        canvas.text(left + 0.2 + room, middle, told, size=min(SMALL, each * 65), gid="value",
                    va="center_baseline")  # fmt: skip
    at = left + 0.12 + b.recorded.ceiling_gbps / most * room
    canvas.line([at, at], [y, y + each * len(found)], linestyle=(0, (2, 2)), gid="mark")
