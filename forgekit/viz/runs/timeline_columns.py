"""Make a timeline's steps few enough to be drawn: fold loops, merge steps, cut the rest off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from forgekit.errors import SourceLine
from forgekit.tracing.timeline import Timeline
from forgekit.tracing.timeline_steps import KINDS
from forgekit.viz.grid import runs
from forgekit.viz.scene import Array

MOST = 60  # columns of a picture
_FIRST = 2  # iterations shown of a long loop, and its last


@dataclass(frozen=True, eq=False)
class Column:
    """Steps drawn together: `first` to `last`, by number; `gap`: what is not drawn here instead."""

    source: SourceLine | None
    kind: str
    does: str
    lanes: Array
    loops: tuple[tuple[int, int], ...]
    first: int
    last: int
    gap: str = ""


def columns_of(shown: Timeline) -> tuple[list[Column], list[str]]:
    """The columns, and in words what they leave out."""
    columns = [Column(s.source, s.kind, s.does, s.lanes, s.loops, i, i)
               for i, s in enumerate(shown.steps)]  # fmt: skip
    notes: list[str] = []
    deepest = max((len(s.loops) for s in shown.steps), default=0)
    for depth in range(deepest):
        if len(columns) > MOST:
            folded = _fold(columns, depth)
            if len(folded) < len(columns):
                note = f"⋯: iterations between the {_FIRST}nd and the last one, not drawn"
                notes = [note]
                columns = folded
    if len(columns) > MOST:
        columns = _merge(columns, lambda a, b: _light(a) and _light(b))
        columns = _merge(columns, lambda a, b: _light(a) and a.source == b.source)
        notes.append("arithmetic and branches are drawn together")
    if len(columns) > MOST:
        columns = _merge(columns, lambda a, b: a.source == b.source)
        notes[-1] = "all of a line is drawn together, in the colour of its weightiest part"
    if len(columns) > MOST:
        drawn, steps = columns[MOST - 1].last + 1, len(shown.steps)
        notes.append(f"only the first {drawn:,} of {steps:,} steps are drawn; line= chooses")
        columns = columns[:MOST]
    return columns, notes


def _light(column: Column) -> bool:
    return column.kind in ("compute", "branch") and not column.gap


def _merge(columns: list[Column], alike: Callable[[Column, Column], bool]) -> list[Column]:
    """Neighbours that are alike as one, if the same lanes run them in the same iterations."""
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
    """Only the first iterations of each loop of this depth, and its last."""
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
    """Ranges of columns within one loop of this depth, entered once, or within none."""

    def key(c: Column) -> object:
        return (c.loops[:depth], c.loops[depth][0]) if len(c.loops) > depth else None

    starts = [i for i, c in enumerate(columns)
              if i == 0 or key(c) != key(columns[i - 1])
              or (key(c) is not None and c.loops[depth][1] < columns[i - 1].loops[depth][1])
              ]  # fmt: skip
    return list(zip(starts, [*starts[1:], len(columns)], strict=True))
