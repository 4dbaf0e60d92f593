"""Store the tries and passes of all exercises in one small file per user.

FORGEKIT_PROGRESS names the file (default: forgekit/progress.json in the user's data folder);
FORGEKIT_PROGRESS=off keeps everything in memory only. Writes are atomic and made under a lock, so
several notebooks may be open at the same time. An unreadable file is renamed, never overwritten; if
FORGEKIT_PROGRESS names a file with other content, that file is not changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import warnings
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from forgekit import environment, shared_files

_VERSION, _NAME = 1, "progress.json"
_memory: dict[str, Record] = {}  # the records if no file can be written
_unwritable: set[Path] = set()
_threads = threading.RLock()


@dataclass
class Record:
    """The record of an exercise: the number of tries, the number of the first try that passed (0 if
    none has), the number of hints used, True if the solution was viewed before that pass, and the
    date of that pass."""

    tries: int = 0
    passed_at_try: int = 0
    hints: int = 0
    solution_seen: bool = False
    passed_on: str = ""

    @property
    def passed(self) -> bool:
        return self.passed_at_try > 0


def path() -> Path | None:
    """Return the path of the progress file, or None if progress is kept only in memory."""
    wish = environment.path_or_off("FORGEKIT_PROGRESS")
    if wish is None:
        return None
    home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local/share")
    return Path(wish) if wish else Path(home) / "forgekit" / _NAME


def record(name: str) -> Record:
    """Return the record of an exercise."""
    return all_records().get(name, Record())


def forget(names: Collection[str]) -> None:
    """Delete the records of these exercises."""
    with _locked():
        _write({name: r for name, r in all_records().items() if name not in names})


@contextlib.contextmanager
def changing(name: str) -> Iterator[Record]:
    """Yield an exercise's current record for editing, and store it afterwards."""
    with _locked():
        records = all_records()
        yield records.setdefault(name, Record())
        _write(records)


def all_records() -> dict[str, Record]:
    """Return the records of all exercises, by name."""
    file = path()
    if file is None or file in _unwritable:
        return {name: replace(known) for name, known in _memory.items()}
    try:
        content = shared_files.read(file)
    except PermissionError as error:
        _set_aside(file, error)
        return {}
    except OSError:  # usually, the file does not exist yet
        return {}
    try:
        data = json.loads(content)
        if data["version"] != _VERSION:
            raise ValueError(f"unknown version {data['version']}")
        return {str(name): _record(values) for name, values in data["exercises"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if _is_progress(file, content):
            _set_aside(file, error)
        return {}


def _is_progress(file: Path, content: bytes) -> bool:
    """Return True if an invalid file was written as a progress file."""
    return file.name == _NAME or not content or b'"exercises"' in content


def _require_own(file: Path) -> None:
    """Raise OSError if the file exists and is not a progress file."""
    try:
        content = shared_files.read(file)
    except FileNotFoundError:
        return
    if not _is_progress(file, content):
        raise OSError("it contains something else")


def _record(values: dict[str, Any]) -> Record:
    known = {f.name: type(getattr(Record(), f.name)) for f in fields(Record)}
    if any(not isinstance(values.get(name, kind()), kind) for name, kind in known.items()):
        raise ValueError(f"invalid record {values}")
    return Record(**{name: values[name] for name in known if name in values})


def _set_aside(file: Path, error: Exception) -> None:
    with contextlib.suppress(OSError):
        aside = shared_files.set_aside(file)
        warnings.warn(
            f"the progress file {file} cannot be read ({error}); it was renamed to "
            f"{aside.name}, and a new file was created",
            stacklevel=6,
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
            f"progress cannot be written to {file} ({error}) and is kept only until this process "
            "ends. Set FORGEKIT_PROGRESS to another file.",
            stacklevel=5,
        )


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Allow one writer of the progress file at a time."""
    file = path()
    with _threads, contextlib.ExitStack() as stack:
        if file is not None:
            with contextlib.suppress(OSError):
                file.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(shared_files.locked(file))
        yield
