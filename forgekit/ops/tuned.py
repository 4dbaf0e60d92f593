"""What `forgekit tune` found on the GPU at hand: configurations that go before the table's.

They are kept in tuned-NAME.json, one file for each model of GPU, in the folder `tuning` of the
compile cache's, or in the one that FORGEKIT_TUNING names; FORGEKIT_TUNING=off switches them off.
Processes share the files. One that was written for other kernels, another table or another CuTe DSL
is ignored as a whole, with one warning; the next `forgekit tune` replaces it. What is no such file
is set aside then, and never removed.

An entry is for one operator, dtype, row length and alignment, and for the number of rows: exactly
that number below 512, where it decides how many blocks there are for the GPU's SMs; above, all
numbers with the same leading power of two. Nothing is carried over to other lengths. It never
decides whether a result is right: it is read back only if it obeys `row_limits`, under which all
configurations compute the same, with additions in another order.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from forgekit import environment, shared_files
from forgekit.compiling import store
from forgekit.devices import package_version
from forgekit.errors import PlatformError, as_typed, got_needed
from forgekit.ops.launching import clusters_of
from forgekit.ops.operators import plan
from forgekit.ops.row_limits import RowProblem, shared_limit, why_not
from forgekit.ops.tile_choice import RowChoice

EXACT_ROWS = 512  # below, an entry is for that number of rows alone
SCHEMA = "forgekit-tuning"
# What makes a configuration fast or slow: the kernels, the table, and what compiles them.
SOURCES = ("kernels/*.py", "ops/tile_choice.py", "ops/row_launch.py")

_warned: set[str] = set()
_trial: ContextVar[tuple[RowChoice, list[RowProblem]] | None] = ContextVar("trial", default=None)


# -- what a launcher asks -------------------------------------------------------------------------
def tuned_rows(problem: RowProblem, arch: str | None) -> RowChoice | None:
    """The stored configuration for such rows, or None: the table then decides.

    arch: of the virtual GPU, None for the GPU. Launchers ask once for each kind of call. It costs a
    look at the file's date.
    """
    if trial := _trial.get():
        trial[1].append(problem)
        return trial[0]
    file, name = file_of(gpu_name(arch)), key(problem)
    entry = file and _entries(file).get(name)
    if not entry:
        return None
    try:
        choice = RowChoice(**entry["choice"])
        why = why_not(choice, problem, clusters_of(arch), shared_limit(arch))
    except (TypeError, KeyError) as error:
        why = f"{type(error).__name__} {error}"
    if why is None:
        return choice
    _warn_once(f"{file}, {name}: ignored: {why}; `forgekit tune --clear` removes the file")
    return None


def key(problem: RowProblem) -> str:
    """The name of the entry that serves such rows, such as `softmax bfloat16 8192x4096 vector=8`:
    rows from 8192 to 16383, of 4096 elements."""
    p = problem
    rows = p.rows if p.rows < EXACT_ROWS else 1 << p.rows.bit_length() - 1
    return f"{p.op} {p.dtype} {rows}x{p.size} vector={p.vector}" + " unaligned" * p.unaligned


def gpu_name(arch: str | None) -> str:
    """The model whose file counts; arch: of the virtual GPU, None for the GPU."""
    return f"virtual GPU ({arch})" if arch else torch.cuda.get_device_name()


@contextlib.contextmanager
def trying(choice: RowChoice) -> Iterator[list[RowProblem]]:
    """Within the block a launcher that is made uses this configuration; the list grows by the rows
    that it asks for."""
    asked: list[RowProblem] = []
    token = _trial.set((choice, asked))
    try:
        yield asked
    finally:
        _trial.reset(token)


def forget() -> None:
    """Let the operators of this process ask again, after files have changed."""
    plan.cache_clear()


# -- reading --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Stored:
    """A file, the model of GPU it is for, its entries; why it is ignored, "" if it counts."""

    file: Path
    gpu: str
    entries: dict[str, Any]
    ignored: str = ""


def folder() -> Path | None:
    """Where the files are; None where that is switched off. It need not be there yet."""
    wanted = environment.path_or_off("FORGEKIT_TUNING")
    cache = store.folder() if wanted == "" else None
    return Path(wanted) if wanted else cache and cache / "tuning"


def file_of(gpu: str) -> Path | None:
    """The file of a model of GPU, which need not be there; None where that is switched off."""
    where = folder()
    return where and where / f"tuned-{re.sub(r'[^a-z0-9]+', '-', gpu.lower()).strip('-')}.json"


@functools.cache
def header() -> dict[str, Any]:
    """What a file has to say of itself to count here: schema, kernels and table, CuTe DSL."""
    package = Path(__file__).parents[1]
    texts = [file.read_bytes() for names in SOURCES for file in sorted(package.glob(names))]
    kernels = hashlib.sha256(b"".join(texts)).hexdigest()[:16]
    dsl = package_version("nvidia-cutlass-dsl") or "-"
    return {"schema": SCHEMA, "version": 1, "kernels": kernels, "dsl": dsl}


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
    words = {"dsl": "another CuTe DSL", "kernels": "other kernels or another table"}
    other = [name for name, value in header().items() if data.get(name) != value]
    made_with = ", ".join(words.get(name, f"another {name}") for name in other)
    return Stored(file, gpu, entries, made_with and f"it was made with {made_with}")


def _entries(file: Path) -> dict[str, Any]:
    """Entries of a file, if it is there and counts here; read again where it has changed."""
    try:
        found = file.stat()
    except OSError:
        return {}
    return _entries_of(file, found.st_mtime_ns, found.st_ino)


@functools.lru_cache(maxsize=8)
def _entries_of(file: Path, changed_ns: int, number: int) -> dict[str, Any]:
    found = _read(file)
    if found.ignored:
        _warn_once(f"{file} is ignored: {found.ignored}; run `forgekit tune` again")
    return {} if found.ignored else found.entries


def _warn_once(message: str) -> None:
    if message not in _warned:  # launchers ask often
        _warned.add(message)
        warnings.warn(as_typed(message), stacklevel=2)


# -- writing --------------------------------------------------------------------------------------
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
            entries = ({} if before.ignored else before.entries) | dict(changes)
            data = header() | {
                "gpu": gpu,
                "forgekit": forgekit.__version__,
                "date": datetime.date.today().isoformat(),
                "entries": {name: entry for name, entry in entries.items() if entry is not None},
            }
            shared_files.replace(file, json.dumps(data, indent=1) + "\n")
    except OSError as error:
        remedy = "set FORGEKIT_TUNING to another"
        raise PlatformError(got_needed(str(file), error, "a folder to write to", remedy)) from None
    forget()
    return file


def clear() -> list[Path]:
    """Remove all files of the folder that `keep` has written; returns which there were."""
    files = [one.file for one in stored() if _is_own(one.file)]
    for file in files:
        file.unlink(missing_ok=True)
    forget()
    return files


def _is_own(file: Path) -> bool:
    """Whether `keep` has written it, for whichever kernels."""
    try:
        return f'"{SCHEMA}"'.encode() in shared_files.read(file)
    except OSError:
        return False
