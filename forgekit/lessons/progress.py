"""Show a student's progress in all weeks, as a card in a notebook or as text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from forgekit import course
from forgekit.errors import brief, usage_error
from forgekit.lessons import records
from forgekit.lessons.exercise import Exercise, all_exercises
from forgekit.lessons.records import Record
from forgekit.show import Shown
from forgekit.text import Table, plural

MARKS = {  # state -> (mark for a whole kernel, mark for other exercises; CSS)
    "passed": ("■●", "background:#009E73"),
    "passed (solution seen)": ("◧◐", "box-shadow:inset 0 0 0 3px #009E73"),
    "started": ("□○", "box-shadow:inset 0 0 0 3px #E69F00"),
    "open": ("··", "background:rgba(127,127,127,.3)"),
}
BAR = 20  # width of a week's bar in characters


@dataclass(frozen=True)
class Row:
    """An exercise and its record of tries."""

    exercise: Exercise
    record: Record

    @property
    def standing(self) -> str:
        """Return the exercise's state, a key of `MARKS`."""
        if self.record.passed:
            return "passed (solution seen)" if self.record.solution_seen else "passed"
        return "open" if self.record == Record() else "started"

    @property
    def state(self) -> str:
        r = self.record
        if r.passed:
            return "passed on the first try" if r.passed_at_try == 1 else (
                f"passed on try {r.passed_at_try}")  # fmt: skip
        tries = "1 try" if r.tries == 1 else f"{r.tries} tries"
        return f"open after {tries}" if r.tries else "open"

    @property
    def help(self) -> str:
        parts = [plural(self.record.hints, "hint")] if self.record.hints else []
        return ", ".join([*parts, "solution"] if self.record.solution_seen else parts)

    @property
    def address(self) -> str:
        """Return the relative path from the current folder to the exercise's notebook, for a link;
        "" if the file does not exist."""
        file = self.exercise.folder.parents[1] / f"{self.exercise.notebook}.ipynb"
        return os.path.relpath(file) if file.is_file() else ""

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return self.exercise.name, self.exercise.title, self.state, self.help


@dataclass(frozen=True, repr=False)
class Progress(Shown):
    """Your progress through the exercises, week by week; a notebook shows it as a card."""

    rows: tuple[Row, ...]

    @property
    def passed(self) -> int:
        return done(self.rows)

    @property
    def weeks(self) -> dict[str, list[Row]]:
        """Map each week, such as `Week 1: reduce`, to its rows."""
        by_week = groupby(self.rows, lambda row: row.exercise.week)
        return {course.week_title(week): list(rows) for week, rows in by_week}

    @property
    def table(self) -> Table:
        """Return a table with one row per exercise."""
        return Table((), [row.cells for row in self.rows], left=range(4))

    @property
    def following(self) -> Row | None:
        """Return the first exercise that is not passed."""
        return next((row for row in self.rows if not row.record.passed), None)

    @property
    def closing(self) -> str:
        """Return a line that names the next exercise and the date of the latest pass."""
        if not self.rows:
            return "No exercises found here: run this in the course's or a week's folder."
        said = "All exercises passed."
        if row := self.following:
            where = f" in {row.exercise.notebook}" if row.exercise.notebook else ""
            said = f"Next: {row.exercise.name}{where}, {row.exercise.title}."
        latest = max(row.record.passed_on for row in self.rows)
        return f"{said} Latest pass: {latest}." if latest else said

    def reset(self) -> None:
        """Delete the progress that this object shows."""
        records.forget({row.exercise.name for row in self.rows})

    @property
    def summary(self) -> str:
        """Return the card in plain text."""
        blocks = [f"Kernel Forge: {score(self.rows, ' passed', ' written')}"]
        for week, rows in self.weeks.items():
            books = [(name, f"{done(of)}/{len(of)}", "".join(map(_mark, of)))
                     for name, of in by_notebook(rows).items()]  # fmt: skip
            lines = [f"  {line}" for line in Table((), books, left=(0, 2)).lines()]
            bar = f"{'█' * round(BAR * done(rows) / len(rows)):░<{BAR}}"
            blocks.append("\n".join([f"{week}: {score(rows)}", f"  {bar}  {effort(rows)}", *lines]))
        key = "  ".join(f"{' '.join(dict.fromkeys(m))} {k}" for k, (m, _) in MARKS.items())
        blocks += [f"  {key}  (■ whole kernels)"]
        if len(self.weeks) == 1:
            blocks.append("\n".join(self.table.lines()))
        return "\n\n".join([*blocks, self.closing])


def progress(week: str | None = None) -> Progress:
    """Show the exercises that you have passed and tried, as an overview of all weeks or, for one
    week, exercise by exercise. The result's `.reset()` deletes this progress.

    Raises:
        UsageError: the week does not exist.
    """
    exercises = all_exercises()
    weeks = list(dict.fromkeys(e.week for e in exercises))
    if week is not None and not (isinstance(week, str) and week in weeks):
        needed = f"one of {', '.join(map(repr, weeks))}" if weeks else "a folder with exercises"
        raise usage_error("week", brief(week), needed, "omit it to show all weeks")
    known = records.all_records()
    return Progress(
        tuple(Row(e, known.get(e.name, Record())) for e in exercises if week in (None, e.week))
    )


def by_notebook(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Map each notebook, such as `07_transpose`, to its rows."""
    return {name: list(of) for name, of in groupby(rows, lambda row: row.exercise.notebook)}


def done(rows: Sequence[Row]) -> int:
    return sum(row.record.passed for row in rows)


def score(rows: Sequence[Row], passed: str = "", written: str = "") -> str:
    whole = [row for row in rows if row.exercise.is_whole_kernel]
    of = plural(len(rows), "exercise"), plural(len(whole), "whole kernel")
    return f"{done(rows)} of {of[0]}{passed}, {done(whole)} of {of[1]}{written}"


def effort(rows: Sequence[Row]) -> str:
    """Summarize the number of tries and the help used."""
    known = [row.record for row in rows]
    first, tries = sum(r.passed_at_try == 1 for r in known), sum(r.tries for r in known)
    hints, seen = sum(r.hints for r in known), sum(r.solution_seen for r in known)
    parts = [f"{first} on the first try, {plural(tries, 'try')} in total"] if tries else []
    parts += [plural(hints, "hint")] if hints else []
    parts += [f"{plural(seen, 'solution')} seen before a pass"] if seen else []
    return ", ".join(parts) or "not started"


def _mark(row: Row) -> str:
    return MARKS[row.standing][0][not row.exercise.is_whole_kernel]
