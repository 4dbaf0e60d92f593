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

import datetime
import functools
import hashlib
import json
import os
import re
import warnings
from pathlib import Path
from typing import Any

import torch

from forgekit import environment, shared_files
from forgekit.compiling import store
from forgekit.devices import package_version
from forgekit.errors import PlatformError, as_typed, got_needed, usage_error
from forgekit.ops.launching import clusters_of
from forgekit.ops.operators import plan
from forgekit.ops.row_limits import RowProblem, shared_limit, why_not
from forgekit.ops.tile_choice import RowChoice

EXACT_ROWS = 512  # below, an entry is for that number of rows alone
SCHEMA = "forgekit-tuning"
# What makes a configuration fast or slow: the kernels, the table, and what compiles them.
SOURCES = ("kernels/*.py", "ops/tile_choice.py", "ops/row_launch.py")


# -- what a launcher asks -------------------------------------------------------------------------
def tuned_rows(problem: RowProblem, arch: str | None) -> RowChoice | None:
    """The stored configuration for such rows, or None: the table then decides.

    arch: of the virtual GPU, None for the GPU. Launchers ask once for each kind of call; a file is
    read once.
    """
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
    _warn_once(f"{file}, {name}: ignored: {why}; delete the file, or run `forgekit tune` again")
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


def file_of(gpu: str) -> Path | None:
    """The file of a model of GPU, which need not be there; None where that is switched off."""
    wanted = environment.path_or_off("FORGEKIT_TUNING")
    cache = store.folder() if wanted == "" else None
    folder = Path(wanted) if wanted else cache and cache / "tuning"
    return folder and folder / f"tuned-{re.sub(r'[^a-z0-9]+', '-', gpu.lower()).strip('-')}.json"


def forget() -> None:
    """Let the operators of this process ask again, after files have changed."""
    _entries.cache_clear()
    plan.cache_clear()


# -- files ----------------------------------------------------------------------------------------
@functools.cache
def header() -> dict[str, Any]:
    """What a file has to say of itself to count here: schema, kernels and table, CuTe DSL."""
    package = Path(__file__).parents[1]
    texts = [file.read_bytes() for names in SOURCES for file in sorted(package.glob(names))]
    kernels = hashlib.sha256(b"".join(texts)).hexdigest()[:16]
    dsl = package_version("nvidia-cutlass-dsl") or "-"
    return {"schema": SCHEMA, "version": 1, "kernels": kernels, "dsl": dsl}


def _read(file: Path) -> tuple[dict[str, Any] | None, str]:
    """The entries that count here, and why others do not; None if `keep` has not written it."""
    try:
        data = json.loads(shared_files.read(file))
        if data["schema"] != SCHEMA:
            raise ValueError(f"no {SCHEMA}")
        entries = dict(data["entries"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        return None, f"it cannot be read ({type(error).__name__}: {error})"
    if any(data.get(name) != value for name, value in header().items()):
        return {}, "it was made for other kernels, another table or another CuTe DSL"
    return entries, ""


@functools.lru_cache(maxsize=8)
def _entries(file: Path) -> dict[str, Any]:
    """Entries of a file, if it is there and counts here; read once, until `forget`."""
    if not file.exists():
        return {}
    entries, why = _read(file)
    if why:
        _warn_once(f"{file} is ignored: {why}; run `forgekit tune` again")
    return entries or {}


@functools.cache  # launchers ask often
def _warn_once(message: str) -> None:
    warnings.warn(as_typed(message), stacklevel=2)


def file_to_keep(gpu: str) -> Path:
    """The file of a model of GPU. Raises UsageError where that is switched off."""
    file = file_of(gpu)
    if file is None:
        got = os.environ.get("FORGEKIT_TUNING") or "no cache folder"
        remedy = "unset it or name a folder with it, or add --dry-run"
        raise usage_error("FORGEKIT_TUNING", got, "a folder for results", remedy)
    return file


def keep(gpu: str, name: str, entry: dict[str, Any] | None) -> None:
    """Add, replace or (None) remove an entry of a model's file. Processes wait for each other, and
    a reader sees the old file or the new one.

    Raises:
        UsageError: there is no folder.
        PlatformError: it cannot be written.
    """
    file = file_to_keep(gpu)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with shared_files.locked(file):
            entries, _ = _read(file)
            if entries is None and os.path.lexists(file):
                shared_files.set_aside(file)
            entries = (entries or {}) | {name: entry}
            data = header() | {
                "gpu": gpu,
                "date": datetime.date.today().isoformat(),
                "entries": {name: entry for name, entry in entries.items() if entry is not None},
            }
            shared_files.replace(file, json.dumps(data, indent=1) + "\n")
    except OSError as error:
        remedy = "set FORGEKIT_TUNING to another"
        raise PlatformError(got_needed(str(file), error, "a folder to write to", remedy)) from None
    forget()
