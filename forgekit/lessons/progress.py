"""What has been tried and passed: one small file of this user's, and the table a notebook shows.

FORGEKIT_PROGRESS names the file (default: forgekit/progress.json in the user's data folder);
FORGEKIT_PROGRESS=off keeps everything in memory only. Writes are atomic and made under a lock, so
several notebooks may be open at once. A file that cannot be read is set aside, never overwritten;
what holds something else, where FORGEKIT_PROGRESS names such a file, is left alone.
"""

from __future__ import annotations

import contextlib
import html
import json
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from forgekit import environment, shared_files
from forgekit.errors import UsageError, brief, got_needed

__all__ = ["Progress", "Record", "change", "path", "progress", "record"]

_VERSION, _NAME = 1, "progress.json"
_memory: dict[str, Record] = {}  # where there is no file, or none that can be written
_unwritable: set[Path] = set()
_threads = threading.RLock()


@dataclass
class Record:
    """One exercise: how often it was graded, how often until it passed first (0: not yet), how
    many hints were taken, whether the solution was looked at."""

    tries: int = 0
    passed_at_try: int = 0
    hints: int = 0
    solution_seen: bool = False

    @property
    def passed(self) -> bool:
        return self.passed_at_try > 0


# -- the file -------------------------------------------------------------------------------------
def path() -> Path | None:
    """The file, or None where progress is kept in memory only."""
    wish = environment.path_or_off("FORGEKIT_PROGRESS")
    if wish is None:
        return None
    home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local/share")
    return Path(wish) if wish else Path(home) / "forgekit" / _NAME


def record(name: str) -> Record:
    """What is known of an exercise."""
    return _read().get(name, Record())


def change(name: str, edit: Callable[[Record], None] | None) -> Record:
    """Edit an exercise's record, as it is now, and keep it; None forgets the exercise."""
    with _locked():
        records = _read()
        known = records.pop(name, Record())
        if edit is not None:
            edit(known)
            records[name] = known
        _write(records)
    return records.get(name, Record())


def _read() -> dict[str, Record]:
    file = path()
    if file is None or file in _unwritable:
        return {name: replace(known) for name, known in _memory.items()}
    try:
        content = shared_files.read(file)
    except PermissionError as error:
        _set_aside(file, error)
        return {}
    except OSError:  # there is none yet, or none that will be written
        return {}
    try:
        data = json.loads(content)
        if data["version"] != _VERSION:
            raise ValueError(f"version {data['version']}")
        return {str(name): _record(values) for name, values in data["exercises"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if _is_progress(file, content):
            _set_aside(file, error)
        return {}


def _is_progress(file: Path, content: bytes) -> bool:
    """Whether a file that cannot be read was one of progress."""
    return file.name == _NAME or not content or b'"exercises"' in content


def _require_own(file: Path) -> None:
    """Raise OSError where something else stands in the file's place."""
    try:
        content = shared_files.read(file)
    except FileNotFoundError:
        return
    if not _is_progress(file, content):
        raise OSError("it holds something else")


def _record(values: dict[str, Any]) -> Record:
    known = {f.name: type(getattr(Record(), f.name)) for f in fields(Record)}
    if any(not isinstance(values.get(name, kind()), kind) for name, kind in known.items()):
        raise ValueError(f"a record {values}")
    return Record(**{name: values[name] for name in known if name in values})


def _set_aside(file: Path, error: Exception) -> None:
    with contextlib.suppress(OSError):
        aside = shared_files.set_aside(file)
        warnings.warn(
            f"the progress in {file} cannot be read ({error}); it was kept as {aside.name}, and a "
            "new file begins",
            stacklevel=5,
        )


def _write(records: dict[str, Record]) -> None:
    file = path()
    _memory.clear()
    _memory.update(records if file is None or file in _unwritable else {})
    if file is None:
        return
    data = {"version": _VERSION, "exercises": {n: asdict(r) for n, r in sorted(records.items())}}
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _require_own(file)
        shared_files.replace(file, json.dumps(data, indent=1))
        _unwritable.discard(file)
    except OSError as error:
        _memory.update(records)
        if file in _unwritable:
            return
        _unwritable.add(file)
        warnings.warn(
            f"progress cannot be written to {file} ({error}); it lasts as long as this process. "
            "FORGEKIT_PROGRESS can name another file.",
            stacklevel=4,
        )


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """One writer at a time."""
    file = path()
    with _threads, contextlib.ExitStack() as stack:
        if file is not None:
            with contextlib.suppress(OSError):
                file.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(shared_files.locked(file))
        yield


# -- the table ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Row:
    """week: `week0`; name: `week0/scale`; title; record."""

    week: str
    name: str
    title: str
    record: Record

    @property
    def state(self) -> str:
        r = self.record
        if r.passed:
            return "passed at the first try" if r.passed_at_try == 1 else (
                f"passed at try {r.passed_at_try}")  # fmt: skip
        return f"open, tries: {r.tries}" if r.tries else "open"

    @property
    def help(self) -> str:
        hints = f"{self.record.hints} hint{'s' if self.record.hints != 1 else ''}"
        parts = [hints] if self.record.hints else []
        return ", ".join([*parts, "solution"] if self.record.solution_seen else parts)


@dataclass(frozen=True)
class Progress:
    """All exercises with what you have done of them; a notebook shows it as a table."""

    rows: tuple[Row, ...]

    @property
    def passed(self) -> int:
        return sum(row.record.passed for row in self.rows)

    def reset(self) -> None:
        """Forget what stands in it."""
        shown = {row.name for row in self.rows}
        with _locked():
            _write({name: r for name, r in _read().items() if name not in shown})

    @property
    def headline(self) -> str:
        weeks: dict[str, list[Row]] = {}
        for row in self.rows:
            weeks.setdefault(row.week, []).append(row)
        return ", ".join(
            f"{week}: {sum(r.record.passed for r in rows)} of {len(rows)}"
            for week, rows in weeks.items()
        )

    def __repr__(self) -> str:
        heads = ("exercise", "", "state", "help")
        cells = [heads, *((r.name, r.title, r.state, r.help) for r in self.rows)]
        widths = [max(len(c[k]) for c in cells) for k in range(4)]
        lines = ["  ".join(t.ljust(w) for t, w in zip(c, widths, strict=True)) for c in cells]
        return "\n".join([f"Passed: {self.headline}", "", *(x.rstrip() for x in lines)])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": _table(self)}


def progress(week: str | None = None) -> Progress:
    """What you have passed and tried, over all weeks or in one; `.reset()` of it forgets that.

    Raises:
        UsageError: there is no such week.
    """
    from forgekit.lessons.exercise import all_exercises

    exercises = all_exercises()
    weeks = list(dict.fromkeys(e.week for e in exercises))
    if week is not None and not (isinstance(week, str) and week in weeks):
        needed = "one of " + (", ".join(map(repr, weeks)) or "none: no exercises are found here")
        raise UsageError(got_needed("week", brief(week), needed, "leave it out for all"))
    records = _read()
    return Progress(
        tuple(
            Row(e.week, e.name, e.title, records.get(e.name, Record()))
            for e in exercises
            if week in (None, e.week)
        )
    )


_CELL = "padding:3px 10px;text-align:left;border:0;background:transparent"
_DONE, _TODO = "#009E73", "rgba(127,127,127,.6)"


def _table(p: Progress) -> str:
    parts = ['<div style="font-size:13px;max-width:800px">']
    parts.append(f'<div style="margin:4px 0 8px"><b>Passed</b> {html.escape(p.headline)}</div>')
    parts.append('<table style="border-collapse:collapse">')
    heads = "".join(f'<th style="{_CELL}">{h}</th>' for h in ("Exercise", "", "State", "Help"))
    parts.append(f"<tr>{heads}</tr>")
    for row in p.rows:
        colour = _DONE if row.record.passed else _TODO
        mark = "&#10003;" if row.record.passed else "&#9675;"
        cells = (
            f"<code>{html.escape(row.name)}</code>",
            html.escape(row.title),
            f'<span style="color:{colour}">{mark}</span> {html.escape(row.state)}',
            html.escape(row.help),
        )
        parts.append("<tr>" + "".join(f'<td style="{_CELL}">{c}</td>' for c in cells) + "</tr>")
    return "".join(parts) + "</table></div>"
