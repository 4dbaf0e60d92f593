"""Draw a Timeline: a row is a warp with its 32 lanes, a column a step, vermillion a barrier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.text import shortened, spans
from forgekit.tracing.timeline import ORDER, Timeline
from forgekit.vgpu.counters.rules import LANES
from forgekit.viz.runs.timeline_columns import Column, columns_of
from forgekit.viz.theme import RED, TEXT, WIDTH, Canvas, Entry, fitting, ink, wrap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forgekit.errors import SourceLine

Array = np.ndarray[Any, np.dtype[Any]]

# Okabe-Ito's colours; grey for what is cheap.
_COLOURS = {"compute": "#B5B5B5", "branch": "#0072B2", "warp-wide": "#CC79A7",
            "shared": "#56B4E9", "global": "#E69F00", "async copy": "#009E73",
            "barrier": RED}  # fmt: skip
_NAMES = {"compute": "arithmetic", "shared": "shared memory", "global": "global memory",
          "async copy": "asynchronous copy", "warp-wide": "warp-wide (shuffle, vote)"}  # fmt: skip
_SIGNS = {"load": "↓", "store": "↑", "atomic": "±"}
_IDLE: dict[str, Any] = {"facecolor": "#808080", "alpha": 0.16}
_WAITING: dict[str, Any] = {"facecolor": "none", "edgecolor": RED, "hatch": "////"}

_MOST_LINES = 16  # of source in the key

# Inches.
_LEFT, _RIGHT = 0.78, 0.12
_WIDEST, _LEAST = 0.42, 0.03  # a column's width, a bar's height
_ROWS = 2.6  # all warps together, about
_SMALL = 7  # points
_GAP = 2.6  # columns for iterations that are not drawn


def draw(shown: Timeline) -> Figure:
    """The figure of a Timeline."""
    return _Picture(shown).draw()


class _Picture:
    def __init__(self, shown: Timeline) -> None:
        self.shown, self.canvas = shown, Canvas()
        self.columns, self.left_out = columns_of(shown)
        wide = np.array([_GAP if c.gap else 1.0 for c in self.columns])
        self.column = min(_WIDEST, (WIDTH - _LEFT - _RIGHT) / max(wide.sum(), 1))
        self.edges = np.concatenate([[0.0], np.cumsum(wide)]) * self.column + _LEFT
        self.row = min(max(_ROWS / max(shown.warps, 1), 0.15), 0.46)
        self.gap = 0.22 * self.row
        self.depth = max((len(c.loops) for c in self.columns), default=0)
        self.upright = all(_fits(*line) for line in self._lines())
        signs = {c.does for c in self.columns if c.does}
        self.signs = 0.16 if signs and self.column > 0.085 else 0.0

    # -- the page ---------------------------------------------------------------------------
    def draw(self) -> Figure:
        shown, canvas = self.shown, self.canvas
        y = canvas.heading(shown.headline, shown.notes)
        if not self.columns:
            return canvas.finish(y + 0.2)
        labels = 0.2 if self.upright else 0.34
        self.top = y + 0.2 * self.depth + labels + self.signs + 0.04
        self._loops(y + 0.02)
        self._line_numbers(y + 0.2 * self.depth, labels)
        self._bars()
        self._meetings()
        y = self.top + shown.warps * (self.row + self.gap) + 0.06
        end = self._x(len(self.columns))
        arrow = {"arrowstyle": "->", "color": TEXT, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
        canvas.axes.annotate("", (end, y), (_LEFT, y), arrowprops=arrow)
        canvas.text(_LEFT, y + 0.03, ORDER, size=8, gid="order")
        below = [line for text in self.left_out for line in wrap(text, WIDTH - 1.2)]
        y = canvas.lines(_LEFT, y + 0.2, below, size=8.5)
        y = canvas.legend(_LEFT, y + 0.04, self._legend(), _RIGHT)
        return canvas.finish(canvas.lines(_LEFT, y, self._source_lines(), family="monospace",
                                          size=8, gid="source") + 0.1)  # fmt: skip

    def _x(self, column: float) -> float:
        return float(np.interp(column, range(len(self.edges)), self.edges))

    def _y(self, warp: int, lane: float = 0) -> float:
        return self.top + warp * (self.row + self.gap) + self.row * lane / LANES

    # -- above the bars -----------------------------------------------------------------------
    def _loops(self, y: float) -> None:
        """A bracket for each iteration of each loop, the outermost on top."""
        for depth in range(self.depth):
            for first, last in _groups([c.loops[: depth + 1] if len(c.loops) > depth else None
                                        for c in self.columns]):  # fmt: skip
                loops = self.columns[first].loops
                if len(loops) <= depth:
                    continue
                left, right = self._x(first) + 0.015, self._x(last + 1) - 0.015
                at = y + 0.2 * depth + 0.16
                self.canvas.line((left, left, right, right), (at + 0.03, at, at, at + 0.03),
                                 gid="iteration")  # fmt: skip
                text = fitting((f"iteration {loops[depth][1]}", str(loops[depth][1])),
                               right - left + 0.04, _SMALL)  # fmt: skip
                self.canvas.text((left + right) / 2, at - 0.01, text, size=_SMALL, ha="center",
                                 va="bottom", gid="iteration number")  # fmt: skip
            for i, column in enumerate(self.columns):
                if column.gap and len(column.loops) == depth:
                    self.canvas.text(self._x(i + 0.5), y + 0.2 * depth + 0.15, column.gap, size=6.5,
                                     ha="center", va="bottom", gid="gap iterations")  # fmt: skip
            self.canvas.text(_LEFT - 0.08, y + 0.2 * depth + 0.15, "loop", size=_SMALL, ha="right",
                             va="bottom")  # fmt: skip

    def _lines(self) -> list[tuple[str, float, float]]:
        """Numbers of source lines, and from where to where they reach."""
        groups = _groups([(c.source, bool(c.gap)) for c in self.columns])
        return [(str(source.line), self._x(a), self._x(b + 1)) for a, b in groups
                if (source := self.columns[a].source) is not None]  # fmt: skip

    def _line_numbers(self, y: float, high: float) -> None:
        under = y + high - 0.03
        self.canvas.text(_LEFT - 0.08, under, "line", size=_SMALL, ha="right", va="bottom")
        for number, left, right in self._lines():
            self.canvas.line((left + 0.012, right - 0.012), (under + 0.015,) * 2, linewidth=0.6)
            rotation = 0 if _fits(number, left, right) else 90
            self.canvas.text((left + right) / 2, under, number, size=_SMALL, ha="center",
                             va="bottom", rotation=rotation, gid="line number")  # fmt: skip
        if self.signs:
            for i, column in enumerate(self.columns):
                if column.does:
                    self.canvas.text(self._x(i + 0.5), under + 0.03, _SIGNS[column.does], size=8,
                                     ha="center", gid="sign")  # fmt: skip

    # -- the bars -----------------------------------------------------------------------------
    def _bars(self) -> None:
        for warp in range(self.shown.warps):
            middle = self._y(warp, LANES / 2)
            name = f"warp {warp}" if self.row > 0.1 else ""
            self.canvas.text(_LEFT - 0.08, middle, name, size=8, ha="right", va="center_baseline")
            here = [i for i, c in enumerate(self.columns) if c.gap or c.lanes[warp].any()]
            if here:
                self.canvas.box(self._x(here[0]), self._y(warp), self._x(here[-1] + 1)
                                - self._x(here[0]), self.row, gid="idle", **_IDLE)  # fmt: skip
            self._lane_names(warp)
            for i, column in enumerate(self.columns):
                if column.gap:
                    self.canvas.centred(
                        self._x(i + 0.5), self._y(warp, LANES / 2), "⋯", 9, gid="gap"
                    )
                else:
                    self._bar(i, column, warp)

    def _bar(self, i: int, column: Column, warp: int) -> None:
        inset = min(0.012, 0.08 * self.column)
        x, width = self._x(i) + inset, self.column - 2 * inset
        if column.kind == "barrier":
            x, width = self._x(i + 0.5) - 0.3 * self.column, 0.6 * self.column
        runs = _lane_runs(column.lanes[warp])
        for first, last in runs:
            top, high = self._y(warp, first), self.row * (last + 1 - first) / LANES
            if len(runs) == 1:  # a lane alone would be overlooked
                high = max(high, min(_LEAST, self._y(warp, LANES) - top))
            self.canvas.box(x, top, width, high, gid=column.kind,
                            facecolor=_COLOURS[column.kind])  # fmt: skip

    def _lane_names(self, warp: int) -> None:
        """Which lanes, where they are only a part of the warp."""
        keys = [None if c.gap or not 0 < c.lanes[warp].sum() < LANES or c.kind == "barrier"
                else c.lanes[warp].tobytes() for c in self.columns]  # fmt: skip
        for first, last in _groups(keys):
            if keys[first] is None:
                continue
            lanes = np.flatnonzero(self.columns[first].lanes[warp]).tolist()
            across = (last + 1 - first) * self.column
            text = fitting(
                (f"lane{'s' * (len(lanes) > 1)} {spans(lanes)}", spans(lanes)), across, 6.5
            )
            middle, inside = self._room(warp, lanes)
            colour = ink(_COLOURS[self.columns[(first + last) // 2].kind]) if inside else TEXT
            if middle:
                at = (self._x(first) + self._x(last + 1)) / 2
                self.canvas.centred(at, middle, text, 6.5, color=colour, gid="lanes")

    def _room(self, warp: int, lanes: list[int]) -> tuple[float, bool]:
        """Where a row has room for the names of lanes, and whether that is on their bars; else 0.

        Best is the larger side on which the other lanes stand by.
        """
        above, below = lanes[0], LANES - 1 - lanes[-1]
        if self.row * max(above, below) / LANES >= 0.11:
            lane = (LANES + lanes[-1] + 1) / 2 if below >= above else above / 2
            return self._y(warp, lane), False
        solid = len(lanes) == lanes[-1] + 1 - lanes[0]
        if solid and self.row * len(lanes) / LANES >= 0.2:
            return self._y(warp, (lanes[0] + lanes[-1] + 1) / 2), True
        return 0.0, False

    # -- barriers -----------------------------------------------------------------------------
    def _meetings(self) -> None:
        """A line through the warps that meet, and hatching where somebody waited for the rest."""
        place = {n: i for i, c in enumerate(self.columns) for n in range(c.first, c.last + 1)}
        for meeting in self.shown.meetings:
            at = place.get(meeting.step)
            if at is None or self.columns[at].gap:
                continue
            here = meeting.warps.tolist()
            if not here:
                continue
            x = self._x(at + 0.5)
            for warp in here:
                arrived = place.get(int(meeting.since[warp].max()), at)
                if arrived < at:
                    start = self._x(arrived)
                    self.canvas.box(start, self._y(warp), x - start, self.row, gid="waiting",
                                    **_WAITING)  # fmt: skip
            ends = self._y(here[0]) - 0.05, self._y(here[-1], LANES) + 0.05
            self.canvas.line((x, x), ends, color=RED, linewidth=2.2, gid="meeting",
                             solid_capstyle="butt")  # fmt: skip

    # -- below the bars -----------------------------------------------------------------------
    def _legend(self) -> list[Entry]:
        kinds = {c.kind for c in self.columns if not c.gap}
        entries: list[Entry] = [(_NAMES.get(kind, kind), {"facecolor": colour})
                                for kind, colour in _COLOURS.items() if kind in kinds]  # fmt: skip
        if any(m.early.size for m in self.shown.meetings):
            entries.append(("waits at a barrier", _WAITING))
        if any(0 < n < LANES for c in self.columns for n in c.lanes.sum(axis=1)):
            entries.append(("lanes that stand by", _IDLE))
        does = {c.does for c in self.columns} if self.signs else set()
        return entries + [(f"{sign} {name}", {}) for name, sign in _SIGNS.items() if name in does]

    def _source_lines(self) -> list[str]:
        """The source lines, with their text."""
        heavy = {c.source for c in self.columns if c.kind not in ("compute", "branch")}
        drawn = {c.source: None for c in self.columns if c.source is not None}
        lines: list[SourceLine] = sorted(drawn, key=lambda s: (s.filename, s.line))
        if len(lines) > _MOST_LINES:
            lines = [s for s in lines if s in heavy]
        several = len({s.filename for s in lines}) > 1
        texts = []
        for s in lines[:_MOST_LINES]:
            where = f"{s.where.split(',')[0]}:{s.line}" if several else f"{s.line:>4}"
            texts.append(shortened(f"{where}  {s.text}", 88))
        return texts


def _fits(number: str, left: float, right: float) -> bool:
    return bool(fitting((number,), 0.85 * (right - left), _SMALL))


def _groups(keys: list[Any]) -> list[tuple[int, int]]:
    """(first, last) of neighbours with equal keys."""
    starts = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    ends = [*starts[1:], len(keys)] if starts else []
    return [(a, b - 1) for a, b in zip(starts, ends, strict=True)]


def _lane_runs(lanes: Array) -> list[tuple[int, int]]:
    """(first, last) of neighbouring active lanes."""
    return [(a, b) for a, b in _groups(lanes.tolist()) if lanes[a]]
