"""Draw a Timeline: each row is a warp with its 32 lanes, each column is a step, and a dark line is
a barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from forgekit.errors import SourceLine
from forgekit.text import shortened, spans
from forgekit.tracing.observe import LANES, Array
from forgekit.tracing.timeline import ORDER, Timeline
from forgekit.tracing.timeline_steps import KINDS
from forgekit.viz.compose import compose
from forgekit.viz.grid import Block, runs
from forgekit.viz.palette import INK, WRONG
from forgekit.viz.scene import Item, Label, Line, Rect, Scene, Swatch, fitting, text_width

# The hues of Okabe and Ito on which dark text is readable. A barrier has the colour of the
# page's text.
_COLOURS = {"compute": "#B9C4D6", "branch": "#F0E442", "warp-wide": "#CC79A7",
            "shared": "#56B4E9", "global": "#009E73", "async copy": "#9AD5CA",
            "barrier": "ink"}  # fmt: skip
_NAMES = {"compute": "arithmetic", "shared": "shared memory", "global": "global memory",
          "async copy": "asynchronous copy", "warp-wide": "warp-wide (shuffle, vote)"}  # fmt: skip
_SIGNS = {"load": "↓", "store": "↑", "atomic": "±"}

_MOST_LINES = 16  # maximum number of source lines below the picture
MOST = 60  # maximum number of columns
_FIRST = 2  # number of iterations of a long loop drawn before the last one

# In pixels:
_LEFT, _WIDTH = 75.0, 760.0
_WIDEST, _LEAST = 40.0, 3.0  # maximum width of a column; minimum height of a bar
_ROWS = 250.0  # approximate total height of the warps
_LOOP = 19.0  # height of a loop's bracket
_SMALL = 9.5  # font size
_GAP = 2.6  # width, in columns, of a gap for omitted iterations


@dataclass(frozen=True, eq=False)
class Column:
    """Steps that are drawn as one column. first, last: the numbers of the first and last step; gap:
    the text in place of omitted steps.
    """

    source: SourceLine | None
    kind: str
    does: str
    lanes: Array
    loops: tuple[tuple[int, int], ...]
    first: int
    last: int
    gap: str = ""


def draw(shown: Timeline) -> Scene:
    picture = _Picture(shown)
    blocks, notes = picture.blocks(), [ORDER, *picture.left_out] if shown.steps else []
    return compose(
        shown.headline, [], [[block] for block in blocks], words=shown.alt, plain=True,
        swatches=picture.legend(), notes=notes, alarms=shown.notes,
    )  # fmt: skip


class _Picture:
    def __init__(self, shown: Timeline) -> None:
        self.shown = shown
        self.items: list[Item] = []
        self.columns, self.left_out = columns_of(shown)
        wide = np.array([_GAP if c.gap else 1.0 for c in self.columns])
        self.column = min(_WIDEST, (_WIDTH - _LEFT) / max(wide.sum(), 1))
        self.edges = np.concatenate([[0.0], np.cumsum(wide)]) * self.column + _LEFT
        self.row = min(max(_ROWS / max(shown.warps, 1), 14.5), 44.0)
        self.gap = 0.22 * self.row
        self.depth = max((len(c.loops) for c in self.columns), default=0)
        self.level = all(_fits(*line) for line in self._lines())
        signs = {c.does for c in self.columns if c.does}
        self.signs = 15.0 if signs and self.column > 8 else 0.0
        self.top = _LOOP * self.depth + (19 if self.level else 32) + self.signs + 4

    def blocks(self) -> list[Block]:
        if not self.columns:
            return []
        self._loops()
        self._line_numbers(self.top - self.signs - 6)
        self._bars()
        self._meetings()
        bottom = self.top + self.shown.warps * (self.row + self.gap)
        end = self._x(len(self.columns))
        self.items.append(Line(_LEFT, bottom + 4, end, bottom + 4, "dim"))
        self.items += [Line(end - 5, bottom + 4 + s, end, bottom + 4, "dim") for s in (-3, 3)]
        bars = Block("timeline", _WIDTH, bottom + 10, tuple(self.items))
        lines = [Label(_LEFT, 8 + 16 * n, text, 11.5, "ink", mono=True, sort="source")
                 for n, text in enumerate(self._source_lines())]  # fmt: skip
        return [bars, Block("source", _WIDTH, 16.0 * len(lines), tuple(lines))]

    def _text(self, x: float, y: float, text: str, *, size: float = _SMALL, anchor: str = "middle",
              **style: Any) -> None:  # fmt: skip
        self.items += [Label(x, y, text, size, anchor=anchor, **style)] if text else []

    def _x(self, column: float) -> float:
        return float(np.interp(column, range(len(self.edges)), self.edges))

    def _y(self, warp: int, lane: float = 0) -> float:
        return self.top + warp * (self.row + self.gap) + self.row * lane / LANES

    # -- above the bars -----------------------------------------------------------------------
    def _loops(self) -> None:
        """Draw one bracket per iteration of each loop, the outermost loop on top."""
        for depth in range(self.depth):
            at = _LOOP * depth + 15
            loops = [c.loops[: depth + 1] if len(c.loops) > depth else () for c in self.columns]
            for first, end, inside in runs(loops):
                if not inside:
                    continue
                left, right = self._x(first) + 1.5, self._x(end) - 1.5
                self.items.append(Line(left, at, right, at, "rule", sort="iteration"))
                self.items += [Line(x, at, x, at + 3, "rule") for x in (left, right)]
                number = str(inside[depth][1])
                text = fitting((f"iteration {number}", number), right - left + 4, _SMALL)
                self._text((left + right) / 2, at - 7, text, sort="iteration number")
            for i, column in enumerate(self.columns):
                if column.gap and len(column.loops) == depth:
                    self._text(self._x(i + 0.5), at - 7, column.gap, sort="gap iterations")
            self._text(_LEFT - 8, at - 7, "loop", anchor="end")

    def _lines(self) -> list[tuple[str, float, float]]:
        return [(str(source.line), self._x(first), self._x(end))
                for first, end, source in runs(c.source for c in self.columns)
                if source is not None]  # fmt: skip

    def _line_numbers(self, under: float) -> None:
        self._text(_LEFT - 8, under - 7, "line", anchor="end")
        for number, left, right in self._lines():
            self.items.append(Line(left + 1.2, under, right - 1.2, under, "rule", 0.8))
            upright = not _fits(number, left, right)
            middle = under - 3 - text_width(number, _SMALL) / 2 if upright else under - 7
            self._text((left + right) / 2, middle, number, upright=upright, sort="line number")
        if self.signs:
            for i, column in enumerate(self.columns):
                if column.does:
                    self._text(self._x(i + 0.5), under + 9, _SIGNS[column.does], size=10.5,
                               sort="sign")  # fmt: skip

    # -- the bars -----------------------------------------------------------------------------
    def _bars(self) -> None:
        for warp in range(self.shown.warps):
            middle = self._y(warp, LANES / 2)
            self._text(_LEFT - 8, middle, f"warp {warp}", size=10.5, anchor="end")
            here = [i for i, c in enumerate(self.columns) if c.gap or c.lanes[warp].any()]
            if here:
                left, right = self._x(here[0]), self._x(here[-1] + 1)
                self.items.append(Rect(left, self._y(warp), right - left, self.row, "quiet",
                                       sort="idle"))  # fmt: skip
            for i, column in enumerate(self.columns):
                if column.gap:
                    self._text(self._x(i + 0.5), middle, "⋯", size=12, sort="gap")
                else:
                    self._bar(i, column, warp)
            self._lane_names(warp)

    def _bar(self, i: int, column: Column, warp: int) -> None:
        inset = min(1.2, 0.08 * self.column)
        x, width = self._x(i) + inset, self.column - 2 * inset
        if column.kind == "barrier":
            x, width = self._x(i + 0.5) - 0.3 * self.column, 0.6 * self.column
        lanes = [run for run in runs(column.lanes[warp].tolist()) if run[2]]
        for first, end, _ in lanes:
            top, high = self._y(warp, first), self.row * (end - first) / LANES
            if len(lanes) == 1:  # a single lane is easily overlooked
                high = max(high, min(_LEAST, self._y(warp, LANES) - top))
            self.items.append(Rect(x, top, width, high, _COLOURS[column.kind], sort=column.kind))

    def _lane_names(self, warp: int) -> None:
        """Write the numbers of the lanes that execute a step if some lanes of the warp do not."""
        part = [[] if c.gap or c.kind == "barrier" or c.lanes[warp].all()
                else np.flatnonzero(c.lanes[warp]).tolist() for c in self.columns]  # fmt: skip
        for first, end, lanes in runs(part):
            if not lanes:
                continue
            names = f"lane{'s' * (len(lanes) > 1)} {spans(lanes)}", spans(lanes)
            text = fitting(names, (end - first) * self.column, 9)
            middle, inside = self._room(warp, lanes)
            if middle:
                self._text((self._x(first) + self._x(end)) / 2, middle, text, size=9,
                           fill=INK if inside else "dim", sort="lanes")  # fmt: skip

    def _room(self, warp: int, lanes: list[int]) -> tuple[float, bool]:
        """Return the y coordinate at which a warp's row has room for the lanes' numbers, and True
        if this is on the lanes' bars. Return 0 and False if there is no room.
        """
        above, below = lanes[0], LANES - 1 - lanes[-1]
        if self.row * max(above, below) / LANES >= 11:
            lane = (LANES + lanes[-1] + 1) / 2 if below >= above else above / 2
            return self._y(warp, lane), False
        solid = len(lanes) == lanes[-1] + 1 - lanes[0]
        if solid and self.row * len(lanes) / LANES >= 19:
            return self._y(warp, (lanes[0] + lanes[-1] + 1) / 2), True
        return 0.0, False

    # -- barriers -----------------------------------------------------------------------------
    def _meetings(self) -> None:
        """Draw a line through the warps that meet at a barrier, and hatching where a warp waited
        for the others."""
        place = {n: i for i, c in enumerate(self.columns) for n in range(c.first, c.last + 1)}
        for meeting in self.shown.meetings:
            at = place.get(meeting.step)
            here = meeting.warps.tolist()
            if at is None or self.columns[at].gap or not here:
                continue
            x = self._x(at + 0.5)
            for warp in here:
                arrived = place.get(int(meeting.since[warp].max()), at)
                if arrived < at:
                    start = self._x(arrived)
                    self.items.append(Rect(start, self._y(warp), x - start, self.row, None,
                                           hatch=WRONG, sort="waiting"))  # fmt: skip
            ends = self._y(here[0]) - 5, self._y(here[-1], LANES) + 5
            self.items.append(Line(x, ends[0], x, ends[1], "ink", 2.4, sort="meeting"))

    # -- below the bars -----------------------------------------------------------------------
    def legend(self) -> list[Swatch]:
        kinds = {c.kind for c in self.columns if not c.gap}
        entries = [Swatch((colour,), _NAMES.get(kind, kind))
                   for kind, colour in _COLOURS.items() if kind in kinds]  # fmt: skip
        if any(m.early.size for m in self.shown.meetings):
            entries.append(Swatch((None,), "waits at a barrier", hatch=WRONG))
        if any(0 < n < LANES for c in self.columns for n in c.lanes.sum(axis=1)):
            entries.append(Swatch(("quiet",), "idle lanes"))
        does = {c.does for c in self.columns} if self.signs else set()
        signs = ", ".join(f"{sign} {name}" for name, sign in _SIGNS.items() if name in does)
        return [*entries, *([Swatch((), signs)] if signs else [])]

    def _source_lines(self) -> list[str]:
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
    return bool(fitting((number,), 0.9 * (right - left), _SMALL))


# -- fewer columns: fold loops, merge steps, drop the last steps ---------------------
def columns_of(shown: Timeline) -> tuple[list[Column], list[str]]:
    """Return the columns, and notes about merged or omitted steps."""
    columns = [Column(s.source, s.kind, s.does, s.lanes, s.loops, i, i)
               for i, s in enumerate(shown.steps)]  # fmt: skip
    notes: list[str] = []
    deepest = max((len(s.loops) for s in shown.steps), default=0)
    for depth in range(deepest):
        if len(columns) > MOST:
            folded = _fold(columns, depth)
            if len(folded) < len(columns):
                note = f"⋯: iterations between the {_FIRST}nd and the last one are not drawn"
                notes = [note]
                columns = folded
    if len(columns) > MOST:
        columns = _merge(columns, lambda a, b: _light(a) and _light(b))
        columns = _merge(columns, lambda a, b: _light(a) and a.source == b.source)
        notes.append("arithmetic and branches are drawn together")
    if len(columns) > MOST:
        columns = _merge(columns, lambda a, b: a.source == b.source)
        notes[-1] = "each line is drawn as one step, in the colour of its main part"
    if len(columns) > MOST:
        drawn, steps = columns[MOST - 1].last + 1, len(shown.steps)
        notes.append(f"only the first {drawn:,} of {steps:,} steps are drawn; line= selects others")
        columns = columns[:MOST]
    return columns, notes


def _light(column: Column) -> bool:
    return column.kind in ("compute", "branch") and not column.gap


def _merge(columns: list[Column], alike: Callable[[Column, Column], bool]) -> list[Column]:
    """Merge similar neighbouring columns if the same lanes execute them in the same iterations."""
    merged: list[Column] = []
    for column in columns:
        last = merged[-1] if merged else None
        same = last is not None and not last.gap and not column.gap and (
            last.loops == column.loops and "barrier" not in (last.kind, column.kind)
            and np.array_equal(last.lanes, column.lanes) and alike(last, column))  # fmt: skip
        if not same or last is None:
            merged.append(column)
            continue
        main = max(last, column, key=lambda c: (KINDS.index(c.kind), c.does))
        merged[-1] = replace(main, first=last.first, last=column.last)
    return merged


def _fold(columns: list[Column], depth: int) -> list[Column]:
    """Return the columns with only the first iterations and the last iteration of each loop at this
    depth.
    """
    result: list[Column] = []
    for at, end in _loop_runs(columns, depth):
        run = columns[at:end]
        last = max((c.loops[depth][1] for c in run if len(c.loops) > depth), default=0)
        if last <= _FIRST + 2:
            result += run
            continue
        gap = f"{_FIRST + 1}–{last - 1}"
        for first, stop, between in runs(_FIRST < c.loops[depth][1] < last for c in run):
            part = run[first:stop]
            if between:
                part = [replace(part[0], kind="", does="", gap=gap, source=None,
                                loops=part[0].loops[:depth], last=part[-1].last)]  # fmt: skip
            result += part
    return result


def _loop_runs(columns: list[Column], depth: int) -> list[tuple[int, int]]:
    """Return ranges of columns, each within one execution of a loop at this depth or outside such
    loops.
    """

    def key(c: Column) -> object:
        return (c.loops[:depth], c.loops[depth][0]) if len(c.loops) > depth else None

    starts = [i for i, c in enumerate(columns)
              if i == 0 or key(c) != key(columns[i - 1])
              or (key(c) is not None and c.loops[depth][1] < columns[i - 1].loops[depth][1])
              ]  # fmt: skip
    return list(zip(starts, [*starts[1:], len(columns)], strict=True))
