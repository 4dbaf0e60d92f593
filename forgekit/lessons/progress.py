"""What you have passed, over all weeks: the card that a notebook shows, and its text."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from forgekit import course
from forgekit.errors import UsageError, brief, got_needed
from forgekit.lessons import records
from forgekit.lessons.records import Record
from forgekit.text import plural

if TYPE_CHECKING:
    from forgekit.lessons.exercise import Exercise

__all__ = ["Progress", "Row", "progress"]

_MARKS = {  # of a whole kernel and of any other exercise; CSS
    "passed": ("■●", "background:#009E73"),
    "passed, solution seen first": ("◧◐", "box-shadow:inset 0 0 0 3px #009E73"),
    "begun": ("□○", "box-shadow:inset 0 0 0 3px #E69F00"),
    "open": ("··", "background:rgba(127,127,127,.3)"),
}


@dataclass(frozen=True)
class Row:
    """An exercise and what is known of it."""

    exercise: Exercise
    record: Record

    @property
    def name(self) -> str:
        return self.exercise.name

    @property
    def week(self) -> str:
        return self.exercise.week

    @property
    def standing(self) -> str:
        """One of `_MARKS`."""
        if self.record.passed:
            return "passed, solution seen first" if self.record.solution_seen else "passed"
        return "open" if self.record == Record() else "begun"

    @property
    def state(self) -> str:
        r = self.record
        if r.passed:
            return "passed at the first try" if r.passed_at_try == 1 else (
                f"passed at try {r.passed_at_try}")  # fmt: skip
        return f"open, tries: {r.tries}" if r.tries else "open"

    @property
    def help(self) -> str:
        parts = [plural(self.record.hints, "hint")] if self.record.hints else []
        return ", ".join([*parts, "solution"] if self.record.solution_seen else parts)

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return self.name, self.exercise.title, self.state, self.help


@dataclass(frozen=True)
class Progress:
    """What you have done of the exercises, week by week; a notebook shows it as a card."""

    rows: tuple[Row, ...]

    @property
    def passed(self) -> int:
        return sum(row.record.passed for row in self.rows)

    @property
    def weeks(self) -> dict[str, list[Row]]:
        """`Week 1: reduce` -> its rows."""
        return {course.week_title(w): list(of) for w, of in groupby(self.rows, lambda r: r.week)}

    @property
    def closing(self) -> str:
        """What comes next, and the day of the latest pass."""
        if not self.rows:
            return "No exercises are found here: run it in the course, or in a week's folder."
        following = next((row.exercise for row in self.rows if not row.record.passed), None)
        said = "All of it is passed."
        if following is not None:
            where = f" in {following.notebook}" if following.notebook else ""
            said = f"Next: {following.name}{where}, {following.title}."
        latest = max(row.record.passed_on for row in self.rows)
        return f"{said} Latest pass: {latest}." if latest else said

    def reset(self) -> None:
        """Forget what stands in it."""
        records.forget({row.name for row in self.rows})

    def __repr__(self) -> str:
        blocks = [f"Kernel Forge: {_score(self.rows, ' passed', ' written')}"]
        for week, rows in self.weeks.items():
            marks = " ".join("".join(map(_mark, of)) for of in _by_notebook(rows))
            blocks.append(f"{week}: {_score(rows)}\n  {marks}\n  {_effort(rows)}")
        key = "  ".join(f"{' '.join(dict.fromkeys(m))} {k}" for k, (m, _) in _MARKS.items())
        blocks += [f"  {key}  (■ whole kernels)"]
        if len(self.weeks) == 1:
            cells = [row.cells for row in self.rows]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            lines = ("  ".join(map(str.ljust, c, widths)).rstrip() for c in cells)
            blocks.append("\n".join(lines))
        return "\n\n".join([*blocks, self.closing])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": _card(self)}


def progress(week: str | None = None) -> Progress:
    """What you have passed and tried, over all weeks, or one week exercise by exercise; `.reset()`
    of it forgets that.

    Raises:
        UsageError: there is no such week.
    """
    from forgekit.lessons.exercise import all_exercises

    exercises = all_exercises()
    weeks = list(dict.fromkeys(e.week for e in exercises))
    if week is not None and not (isinstance(week, str) and week in weeks):
        needed = "one of " + (", ".join(map(repr, weeks)) or "none: no exercises are found here")
        raise UsageError(got_needed("week", brief(week), needed, "leave it out for all"))
    known = records.all_records()
    return Progress(
        tuple(Row(e, known.get(e.name, Record())) for e in exercises if week in (None, e.week))
    )


def _by_notebook(rows: Sequence[Row]) -> list[list[Row]]:
    return [list(of) for _, of in groupby(rows, lambda row: row.exercise.notebook)]


def _score(rows: Sequence[Row], passed: str = "", written: str = "") -> str:
    whole = [row for row in rows if row.exercise.is_whole_kernel]
    done, kernels = (sum(row.record.passed for row in of) for of in (rows, whole))
    of = plural(len(rows), "exercise"), plural(len(whole), "whole kernel")
    return f"{done} of {of[0]}{passed}, {kernels} of {of[1]}{written}"


def _effort(rows: Sequence[Row]) -> str:
    """How often it was tried, and all help that was taken."""
    known = [row.record for row in rows]
    first, tries = sum(r.passed_at_try == 1 for r in known), sum(r.tries for r in known)
    hints, seen = sum(r.hints for r in known), sum(r.solution_seen for r in known)
    parts = [f"{first} at the first try, tries in all: {tries}"] if tries else []
    parts += [plural(hints, "hint")] if hints else []
    parts += [f"{plural(seen, 'solution')} seen before a pass"] if seen else []
    return ", ".join(parts) or "not begun"


def _mark(row: Row) -> str:
    return _MARKS[row.standing][0][not row.exercise.is_whole_kernel]


_QUIET = "font-size:12px;opacity:.8"
_CELL = "padding:3px 14px 3px 0;text-align:left;border:0;background:none;white-space:nowrap"


def _dot(standing: str, radius: str = "50%", said: str = "") -> str:
    return (
        f'<span title="{html.escape(said)}" style="display:inline-block;width:12px;height:12px;'
        f'margin:2px;border-radius:{radius};vertical-align:middle;{_MARKS[standing][1]}"></span>'
    )


def _dots(rows: Sequence[Row]) -> str:
    found = ""
    for row in rows:
        radius = "2px" if row.exercise.is_whole_kernel else "50%"
        found += _dot(row.standing, radius, ", ".join(filter(None, (row.name, *row.cells[2:]))))
    return f'<span style="white-space:nowrap;margin-right:9px">{found}</span>'


def _card(p: Progress) -> str:
    parts = [
        '<div style="font-size:13px;max-width:780px;padding:16px 22px;border:1px solid '
        'rgba(127,127,127,.4);border-top:5px solid #009E73;border-radius:6px">'
        f'<div style="{_QUIET};letter-spacing:.15em">KERNEL FORGE</div>'
        f'<div style="font-size:20px">{_score(p.rows, " passed", " written")}</div>'
    ]
    for week, rows in p.weeks.items():
        dots = " ".join(map(_dots, _by_notebook(rows)))
        parts.append(
            f'<div style="margin-top:14px"><b>{html.escape(week)}.</b> {_score(rows)}</div>'
            f'<div style="margin:3px -2px">{dots}</div><div style="{_QUIET}">{_effort(rows)}</div>'
        )
    key = " &nbsp; ".join(f"{_dot(standing)} {standing}" for standing in _MARKS)
    key += f" &nbsp; {_dot('passed', '2px')} squares: whole kernels"
    parts.append(f'<div style="{_QUIET};margin-top:14px">{key}</div>')
    if len(p.weeks) == 1:
        cells = [[f'<td style="{_CELL}">{html.escape(c)}</td>' for c in r.cells] for r in p.rows]
        lines = "".join(f"<tr>{''.join(line)}</tr>" for line in cells)
        style = "border-collapse:collapse;margin-top:12px;font-size:12px"
        parts.append(f'<table style="{style}">{lines}</table>')
    return f'{"".join(parts)}<div style="margin-top:14px">{html.escape(p.closing)}</div></div>'
