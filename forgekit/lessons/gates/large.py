"""Check that a launch covers a call that is too large to run: only a sample of its blocks runs.

The check finds a grid with a fixed maximum, or with more blocks in y or z than a GPU allows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from forgekit.errors import LaunchError
from forgekit.lessons.gates.economy import launched_threads
from forgekit.lessons.gates.gate import GateError
from forgekit.lessons.gates.submission import Case, MakeCase, Submission, case_of

_SAMPLE = 16  # number of blocks to run, as in `fk.profile`
_MOST = 1 << 20  # elements of the largest tensor
_SMALL = (128, 1024)  # sizes of a mode, with several modes; the grid is larger at one of them
_LENGTH = (1 << 20,)  # the size of the mode, in calls with one mode
_ROWS = (90_000, 60_000)  # in calls with several modes; a GPU allows 65,535 blocks in y and z
_LEAST = 8_192  # smaller sizes prove too little
_MANY = 16  # times the solution's threads; a sample of more blocks proves little
_SHARE = 0.8  # minimum fraction of the results that the launches store


def covers(
    submission: Submission,
    make: MakeCase,
    sizes: Sequence[tuple[int, ...]],
    dtype: str = "float32",
    legal: Callable[..., tuple[int, ...]] | None = None,
) -> None:
    """Raise GateError if a launch is refused at a large size, or stores too little of the results.

    Each mode becomes large in turn, if both the solution's and the submission's grid grow with it:
    a sample of blocks that loop over this mode would take too long. The bytes that all blocks store
    are estimated from the sample, as in `fk.profile`. They are not compared if there are several
    launches, atomics or bulk copies: the sample may lack what another block contributes, and bulk
    copies are no stores.

    make, legal: as in `values`. sizes: sizes that the task allows; each mode's smallest size is
    used while another mode is large.
    """
    assert submission.solution is not None
    least = tuple(map(min, zip(*sizes, strict=True)))
    for few, more, case in _calls(submission.solution, submission.arch, make, least, dtype, legal):
        if _blocks(submission, more) <= _blocks(submission, few):
            continue
        try:
            stored = _stored(submission, case)
        except GateError as error:
            if isinstance(error.__context__, LaunchError):  # proven without the other blocks
                raise
            continue
        needed = _needed(case)
        if stored is not None and stored < _SHARE * needed:
            _few_enough_threads(submission, case)
            raise GateError(
                f"With {case.label}, the blocks store about {stored:,.0f} bytes, but the results "
                f"have {needed:,} bytes.",
                "the blocks do not cover a call of this size: does the grid, or a loop, have a "
                "maximum?",
            )


def _few_enough_threads(submission: Submission, case: Case) -> None:
    """Raise GateError if so many threads are launched that a sample of the blocks may miss those
    that store."""
    assert submission.solution is not None
    mine, best = (
        launched_threads(s.sampled(case, _SAMPLE, s.arguments(case))[0])
        for s in (submission, Submission(submission.solution(), submission.arch))
    )
    if mine > _MANY * best:
        raise GateError(
            f"With {case.label}, the call launches {mine:,} threads; the solution launches "
            f"{best:,}.",
            look_at="Compute each size of the grid from the mode that it divides.",
        )


@functools.lru_cache(maxsize=4)  # the cases are large
def _calls(
    solution: Callable[[], object],
    arch: str | None,
    make: MakeCase,
    least: tuple[int, ...],
    dtype: str,
    legal: Callable[..., tuple[int, ...]] | None,
) -> tuple[tuple[Case, Case, Case], ...]:
    """Return two small cases and a large one for each mode, if the grid grows between the small
    cases and the solution covers the large one."""
    runs, found = Submission(solution(), arch), []

    def of(mode: int, number: int) -> tuple[int, ...]:
        size = (*least[:mode], number, *least[mode + 1 :])
        return legal(*size) if legal else size

    few = case_of(make, of(0, least[0]), dtype)
    for mode in range(len(least)):
        for number in _SMALL if len(least) > 1 else (8192,):
            small = of(mode, number)
            more = case_of(make, small, dtype)
            if grows := _blocks(runs, more) > _blocks(runs, few):
                break
        if not grows or small[mode] <= least[mode]:
            continue
        each = max(x.numel() for x in more.args if hasattr(x, "numel")) / small[mode]
        for number in _LENGTH if len(least) == 1 else _ROWS:
            large = of(mode, min(number, int(_MOST / each)))
            if large[mode] < _LEAST:
                continue
            case = case_of(make, large, dtype)
            if _is_covered(runs, case):
                found.append((few, more, case))
                break
    return tuple(found)


def _is_covered(submission: Submission, case: Case) -> bool:
    try:
        stored = _stored(submission, case)
    except GateError:
        return False
    return stored is not None and stored >= _needed(case)


def _blocks(submission: Submission, case: Case) -> int:
    profile, _ = submission.counted(case)
    return sum(math.prod(x.grid) for x in profile.launches)


def _stored(submission: Submission, case: Case) -> float | None:
    """Return the number of bytes that a call stores in global memory; None if the sample does not
    show it."""
    profile, _ = submission.sampled(case, _SAMPLE, submission.arguments(case))
    shared = profile["global_atomic_requests"] + profile["global_reduction_requests"]
    if shared or len(profile.launches) != 1 or "cp.async.bulk" in submission.compiled(case).ptx:
        return None
    return float(profile["global_store_bytes_asked"])


def _needed(case: Case) -> int:
    return sum(x.numel() * case.args[k].element_size() for k, x in case.expected.items())
