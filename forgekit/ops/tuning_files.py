"""The files that `forgekit tune` writes: one for each model of GPU, shared by processes.

They are tuned-NAME.json in the folder `tuning` of the compile cache's, or in the one that
FORGEKIT_TUNING names; FORGEKIT_TUNING=off switches them off. A file that was written for other
kernels, another table or another CuTe DSL is ignored as a whole, with one warning; the next
`forgekit tune` replaces it. What is no such file is set aside then, and never removed.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forgekit import environment, shared_files
from forgekit.compiling import store
from forgekit.errors import PlatformError, got_needed

SCHEMA, VERSION = "forgekit-tuning", 1
_SOURCES = (
    *(f"kernels/{name}.py" for name in ("rows", "reduce_sum", "softmax", "softmax_staged",
                                        "softmax_streaming")),
    *(f"ops/{name}.py" for name in ("tile_choice", "row_launch")),
)  # fmt: skip
_OTHER = {"dsl": "another CuTe DSL", "kernels": "other kernels or another table"}

_warned: set[str] = set()


@dataclass(frozen=True)
class Stored:
    """A file, the model of GPU it is for, its entries, and why it is ignored; empty if it counts"""

    file: Path
    gpu: str
    entries: dict[str, Any]
    ignored: str = ""


def folder() -> Path | None:
    """Where the files are; None where that is switched off. It need not be there yet."""
    wanted = environment.path_or_off("FORGEKIT_TUNING")
    if wanted is None:
        return None
    if wanted:
        return Path(wanted)
    cache = store.folder()
    return cache and cache / "tuning"


def file_of(gpu: str) -> Path | None:
    """The file of a model of GPU, which need not be there; None where that is switched off."""
    where = folder()
    return where and where / f"tuned-{re.sub(r'[^a-z0-9]+', '-', gpu.lower()).strip('-')}.json"


@functools.cache
def header() -> dict[str, Any]:
    """What a file has to say of itself to count here: schema, kernels and table, CuTe DSL."""
    from importlib import metadata

    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for source in _SOURCES:
        digest.update((package / source).read_bytes())
    try:
        dsl = metadata.version("nvidia-cutlass-dsl")
    except metadata.PackageNotFoundError:
        dsl = "-"
    return {"schema": SCHEMA, "version": VERSION, "kernels": digest.hexdigest()[:16], "dsl": dsl}


def stored() -> list[Stored]:
    """All files of the folder, also those that are ignored."""
    where = folder()
    files = sorted(where.glob("tuned-*.json")) if where else []
    return [_read(file) for file in files if "." not in file.stem]  # not those set aside


def _read(file: Path) -> Stored:
    try:
        data = json.loads(shared_files.read(file))
        gpu, entries = data["gpu"], data["entries"]
        if not (isinstance(gpu, str) and isinstance(entries, dict)):
            raise TypeError("gpu or entries")
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        return Stored(file, "", {}, f"it cannot be read ({type(error).__name__}: {error})")
    other = [name for name, value in header().items() if data.get(name) != value]
    changed = ", ".join(_OTHER.get(name, f"another {name}") for name in other)
    return Stored(file, gpu, entries, f"it was made with {changed}" if other else "")


def entries_of(file: Path) -> dict[str, Any]:
    """Entries of a file, if it is there and counts here; read again where it has changed."""
    try:
        found = file.stat()
    except OSError:
        return {}
    return _entries(file, found.st_mtime_ns, found.st_ino)


@functools.lru_cache(maxsize=8)
def _entries(file: Path, changed_ns: int, number: int) -> dict[str, Any]:
    found = _read(file)
    if found.ignored:
        warn_once(f"{file} is ignored: {found.ignored}; run `forgekit tune` again")
    return {} if found.ignored else found.entries


def warn_once(said: str) -> None:
    """Warn, once for each message in a process, as launchers ask often."""
    if said not in _warned:
        _warned.add(said)
        warnings.warn(said, stacklevel=2)


def keep(gpu: str, changes: Mapping[str, dict[str, Any] | None]) -> Path:
    """Add, replace or (None) remove entries of a model's file. Processes wait for each other, and
    a reader sees the old file or the new one.

    Raises:
        PlatformError: there is no folder, or it cannot be written.
    """
    import forgekit

    file = file_of(gpu)
    if file is None:
        remedy = "set FORGEKIT_TUNING to a folder, or unset it"
        got = os.environ.get("FORGEKIT_TUNING") or "no cache folder"
        raise PlatformError(got_needed("FORGEKIT_TUNING", got, "a folder for results", remedy))
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with shared_files.locked(file):
            if os.path.lexists(file) and not _is_own(file):
                shared_files.set_aside(file)
            before = _read(file)
            entries = {} if before.ignored else dict(before.entries)
            entries |= {name: entry for name, entry in changes.items() if entry is not None}
            for name in (name for name, entry in changes.items() if entry is None):
                entries.pop(name, None)
            about = {"gpu": gpu, "forgekit": forgekit.__version__}
            data = {**header(), **about, "date": datetime.date.today().isoformat()}
            shared_files.replace(file, json.dumps({**data, "entries": entries}, indent=1) + "\n")
    except OSError as error:
        raise PlatformError(
            got_needed(str(file), error, "a folder to write to", "set FORGEKIT_TUNING to another")
        ) from None
    return file


def clear() -> list[Path]:
    """Remove all files of the folder that `keep` has written; returns which there were."""
    files = [one.file for one in stored() if _is_own(one.file)]
    for file in files:
        file.unlink(missing_ok=True)
    return files


def _is_own(file: Path) -> bool:
    """Whether `keep` has written it, for whichever kernels."""
    try:
        return f'"{SCHEMA}"'.encode() in shared_files.read(file)
    except OSError:
        return False
