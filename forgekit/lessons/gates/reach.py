"""Check at a much larger size, with a sample of the blocks, that the blocks store all outputs."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from forgekit.errors import KernelError
from forgekit.lessons.gates.gate import GateError
from forgekit.lessons.gates.submission import Case, MakeCase, Submission, case_of
from forgekit.vgpu import Listener

if TYPE_CHECKING:
    from forgekit.vgpu import Moment

_LONG = 300_007  # the size if there is one mode; exceeds 2,048 blocks of 128 threads
_WIDE = 80_021  # the size in one of several modes; exceeds 65,535 blocks
_MOST = 1_300_000  # maximum number of elements in all arguments
_BLOCKS = 32  # sampled blocks
_LEAST = 0.9  # the fraction of the outputs that the blocks must store; 65,536 of 80,021 are 0.82


def stores_everything(
    submission: Submission,
    make: MakeCase,
    dtype: str,
    least: tuple[int, ...],
    legal: Callable[..., tuple[int, ...]] | None,
) -> None:
    """Run some blocks of a call that is large in one mode, for each mode.

    least: the smallest size of each mode. A mode is omitted if the task does not allow such a size,
    if its calls have too many elements, if the solution's grid does not grow with it, or if the
    solution's sample does not store everything.

    Raises:
        GateError: the blocks store less than the outputs have.
    """
    for mode in range(len(least)):
        case = _wide(submission.solution, submission.arch, make, mode, dtype, least, legal)
        if case is not None and (stored := _stored(submission, case)) < _LEAST * _needed(case):
            raise GateError(
                f"With {case.label}, all blocks together store about {stored:,.0f} bytes "
                "(estimated from some of them); the outputs have {_needed(case):,} bytes.",
                look_at="Which limit does the grid have, or a loop over its blocks?",
            )


def _stored(submission: Submission, case: Case, otherwise: float = math.inf) -> float:
    """Return the bytes that a call stores, estimated from some blocks; `otherwise` if they stop,
    as a block may that waits for others."""
    try:
        profile, _ = submission.sampled(case, _BLOCKS, submission.arguments(case))
    except (GateError, KernelError):
        return otherwise
    return float(profile["global_store_bytes_asked"])


class _LaunchedError(Exception):
    """The first launch has been accepted."""


class _FirstLaunch(Listener):
    """Ends a run when its first blocks begin; threads: the launch's threads."""

    def __init__(self) -> None:
        self.threads = 0

    def on_batch(self, m: Moment) -> None:
        self.threads = math.prod(m.record.grid) * math.prod(m.record.block)
        raise _LaunchedError


def _threads(submission: Submission, case: Case) -> int:
    """Return the number of threads in the first launch of a call."""
    from forgekit.tracing.recordings import sampled

    first, args = _FirstLaunch(), tuple(submission.arguments(case).values())
    with contextlib.suppress(_LaunchedError):
        sampled(submission.compiled(case), args, _BLOCKS, lambda: first)
    return first.threads


def _needed(case: Case) -> int:
    return sum(case.args[k].nbytes for k in case.expected)


@functools.lru_cache(maxsize=64)
def _wide(
    solution: Callable[[], Any] | None,
    arch: str | None,
    make: MakeCase,
    mode: int,
    dtype: str,
    least: tuple[int, ...],
    legal: Callable[..., tuple[int, ...]] | None,
) -> Case | None:
    """Return a call that is large in a mode, or None."""

    def of(number: int) -> tuple[int, ...]:
        size = (*least[:mode], number, *least[mode + 1 :])
        return legal(*size) if legal else size

    small = of(1000)
    if solution is None or small[mode] < 500:
        return None
    mine, case = Submission(solution(), arch), case_of(make, small, dtype)
    if sum(case.args[k].numel() for k in case.expected) < 500:  # no output grows with this mode
        return None
    elements = sum(x.numel() for x in case.args if hasattr(x, "numel"))
    larger = case_of(make, of(4 * small[mode]), dtype)
    if _threads(mine, larger) < 3 * _threads(mine, case):  # a thread would loop for long
        return None
    size = of(_LONG if len(least) == 1 else _WIDE)
    if size[mode] < 70_000 or elements * size[mode] / small[mode] > _MOST:
        return None
    case = case_of(make, size, dtype)
    return case if _stored(mine, case, 0.0) >= _LEAST * _needed(case) else None
