"""What `forgekit tune` found on the GPU at hand: configurations that go before the table's.

An entry is for one operator, dtype, row length and alignment, and for the number of rows: exactly
that number below 512, where it decides how many blocks there are for the GPU's SMs; above, all
numbers with the same leading power of two. Nothing is carried over to other lengths.

An entry never decides whether a result is right: it is read back only if it obeys `row_limits`,
under which all configurations compute the same, with additions in another order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from forgekit.ops import tuning_files
from forgekit.ops.calls import plan
from forgekit.ops.launching import clusters_of
from forgekit.ops.row_limits import RowProblem, shared_limit, why_not
from forgekit.ops.tile_choice import RowChoice

EXACT_ROWS = 512  # below, an entry is for that number of rows alone


def tuned_rows(
    op: Any, arch: str | None, rows: int, size: int, dtype: object, vector: int, unaligned: bool
) -> RowChoice | None:
    """The stored configuration for such rows, or None: the table then decides.

    Launchers ask once for each kind of call. It costs a look at the file's date.
    """
    name = str(dtype).removeprefix("torch.")
    problem = RowProblem(op, rows, size, name, vector, unaligned)
    trial = _trial.get()
    if trial is not None:
        trial.asked.append(problem)
        return trial.choice
    file = tuning_files.file_of(gpu_name(arch))
    entry = file and tuning_files.entries_of(file).get(key(problem))
    return _sound(entry, problem, arch, file) if file and entry else None


def _sound(entry: Any, problem: RowProblem, arch: str | None, file: Path) -> RowChoice | None:
    """The configuration of an entry if it can serve the rows."""
    try:
        choice = RowChoice(**entry["choice"])
        why = why_not(choice, problem, clusters_of(arch), shared_limit(arch))
    except (TypeError, KeyError) as error:
        choice, why = None, f"{type(error).__name__} {error}"
    if why is None:
        return choice
    tuning_files.warn_once(
        f"{file}, {key(problem)}: ignored: {why}; `forgekit tune --clear` removes the file"
    )
    return None


def key(problem: RowProblem) -> str:
    """The name of the entry that serves such rows, such as `softmax bfloat16 8192x4096 vector=8`:
    rows from 8192 to 16383, of 4096 elements."""
    p = problem
    rows = p.rows if p.rows < EXACT_ROWS else 1 << p.rows.bit_length() - 1
    return (
        f"{p.op} {p.dtype} {rows}x{p.size} vector={p.vector}{' unaligned' if p.unaligned else ''}"
    )


def gpu_name(arch: str | None) -> str:
    """The model whose file counts; arch: of the virtual GPU, None for the GPU."""
    return f"virtual GPU ({arch})" if arch else torch.cuda.get_device_name()


@dataclass
class Trial:
    """choice: what all get that ask. asked: for which rows."""

    choice: RowChoice
    asked: list[RowProblem] = field(default_factory=list)


_trial: ContextVar[Trial | None] = ContextVar("forgekit_tuning_trial", default=None)


@contextlib.contextmanager
def trying(choice: RowChoice) -> Iterator[Trial]:
    """Within the block a launcher that is made uses this configuration."""
    token = _trial.set(Trial(choice))
    try:
        yield _trial.get()  # type: ignore[misc]
    finally:
        _trial.reset(token)


def forget() -> None:
    """Let the operators of this process ask again, after files have changed."""
    plan.cache_clear()
