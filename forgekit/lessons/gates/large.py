"""Check calls that are too large to run: only a sample of their blocks runs.

The check finds a grid with a fixed maximum or with more blocks in y or z than a GPU allows, and
places computed with too few bits.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from forgekit.errors import ForgekitError, LaunchError
from forgekit.lessons.gates.economy import enough_threads, launched_threads
from forgekit.lessons.gates.gate import GateError
from forgekit.lessons.gates.submission import Case, Group, MakeCase, Submission, case_of
from forgekit.lessons.gates.values import check_values

if TYPE_CHECKING:
    from forgekit.profiling.profile import Profile

_SAMPLE = 16  # number of blocks to run, as in `fk.profile`
_ALL = 1 << 30  # more blocks than any of the calls has
_MOST = 1 << 20  # elements of the largest tensor
_SMALL = (128, 1024)  # sizes of a mode, with several modes; the grid is larger at one of them
_LENGTH = (1 << 20,)  # the size of the mode, in calls with one mode
_ROWS = (90_000, 60_000)  # in calls with several modes; a GPU allows 65,535 blocks in y and z
_LEAST = 8_192  # smaller sizes prove too little
_MANY = 16  # times the solution's threads; such calls take long
_YZ = 65_535  # the most blocks that a GPU allows in y and z
_BYTES = 1 << 27  # of the largest tensor of a call whose grid exceeds this in y or z
_SHARE = 0.8  # minimum fraction of the results that the launches store


def large_calls(
    make: MakeCase,
    sizes: Sequence[tuple[int, ...]],
    dtype: str = "float32",
    legal: Callable[..., tuple[int, ...]] | None = None,
) -> Group:
    """Return a group that fails if a launch is refused at a large size, or if its results are
    wrong.

    Each mode becomes large in turn, if both the solution's and the submission's grid grow with it:
    a sample of blocks that loop over this mode would take too long. The call runs completely only
    if its sample stores less than expected, or not everywhere that the solution's does. Nothing is
    compared if there are several launches, atomics or bulk copies, because the sample may lack what
    another block contributes.

    make, legal: as in `values`. sizes: sizes that the task allows; each mode's smallest size is
    used while another mode is large.
    """
    least = tuple(map(min, zip(*sizes, strict=True)))

    def run(submission: Submission) -> str:
        assert submission.solution is not None
        calls = _calls(submission.solution, submission.arch, make, least, dtype, legal)
        ran = [call.case.label for call in calls if _is_right(submission, call)]
        for mode in range(len(least)):
            _launches(submission, make, least, mode, dtype, legal)
        return f"{_SAMPLE} blocks of {'; '.join(ran)}" if ran else "none sampled"

    return Group("Large calls", run)


@dataclass(frozen=True)
class _Call:
    """A large call, two small ones between which its grid grows, the quarters of each result that
    the solution's sample changes, and the threads that the solution launches."""

    few: Case
    more: Case
    case: Case
    quarters: Set[tuple[int, int]] = frozenset()
    threads: int = 0


def _is_right(submission: Submission, call: _Call) -> bool:
    """Return True if a large call is right, and False if its sample proves nothing.

    Raises:
        GateError: the launch is refused, or a result is wrong.
    """
    if _blocks(submission, call.more) <= _blocks(submission, call.few):
        return False
    case, independent = call.case, _independent(submission, call.more)
    try:
        profile, after = submission.sampled(case, _SAMPLE)
    except GateError as error:
        if independent or isinstance(error.__context__, LaunchError):
            raise
        return False
    enough_threads(launched_threads(profile), call.threads, case.label)
    if not independent:
        return False
    changed = _changed(case, after)
    some = {k: x.where(changed[k], case.expected[k].to(x.dtype)) for k, x in after.items()
            if k in changed}  # fmt: skip
    part = replace(case, label=f"{case.label}, of which {_SAMPLE} blocks ran")
    check_values(submission, part, after | some, look_at="", explain=False)
    stored = profile["global_store_bytes_asked"]
    if stored < _SHARE * _needed(case) or call.quarters - _quarters(changed):
        _few_enough_threads(submission, profile, case)
        _, after = submission.sampled(case, _ALL)
        check_values(submission, case, after, look_at="")
    return True


def _launches(
    submission: Submission,
    make: MakeCase,
    least: tuple[int, ...],
    mode: int,
    dtype: str,
    legal: Callable[..., tuple[int, ...]] | None,
) -> None:
    """Raise GateError if the grid grows with a mode in y or z, unlike the solution's, and a launch
    is refused at a large size.

    Two small calls show the size. The large call's tensors contain 0; 8 of its blocks run.
    """
    assert submission.solution is not None

    def call(number: int) -> tuple[tuple[int, ...], Case]:
        size = (*least[:mode], number, *least[mode + 1 :])
        size = legal(*size) if legal else size
        return size, case_of(make, size, dtype)

    least, few = call(least[mode])
    for number in _SMALL:
        small, more = call(number)
        if (grows := _rows(submission, more)) >= 2:
            break
    if grows < 2 or grows <= _rows(submission, few):
        return
    if _rows(Submission(submission.solution(), submission.arch), more) > 1:
        return
    number = (_YZ + 1) * small[mode] // (grows - 1)
    size = (*small[:mode], number, *small[mode + 1 :])
    size = legal(*size) if legal else size
    if size[mode] < 0.99 * number:
        return
    steps = (size[mode] - least[mode]) / (small[mode] - least[mode])
    args = [_scaled(x, y, steps) for x, y in zip(few.args, more.args, strict=True)]
    if any(x is None for x in args):
        return
    label = more.label.replace(f"= {small[mode]:,}", f"= {size[mode]:,}", 1)
    case = replace(more, args=tuple(args), expected={}, label=label)
    try:
        submission.sampled(case, 8)
    except GateError as error:
        if isinstance(error.__context__, LaunchError):
            raise
    except ForgekitError:  # the arguments do not fit
        pass


def _rows(submission: Submission, case: Case) -> int:
    """Return the largest number of blocks in y or z; 0 if the call is stopped."""
    with contextlib.suppress(GateError):
        return max(max(x.grid[1:]) for x in submission.sampled(case, 8)[0].launches)
    return 0


def _scaled(few: Any, more: Any, steps: float) -> Any:
    """Return zeros whose size continues that of two tensors; a number unchanged; None if the tensor
    is too large."""
    import torch

    if not isinstance(more, torch.Tensor):
        return more
    shape = [round(a + (b - a) * steps) for a, b in zip(few.shape, more.shape, strict=True)]
    small = math.prod(shape) * more.itemsize <= _BYTES
    return torch.zeros(shape, dtype=more.dtype) if small else None


def _few_enough_threads(submission: Submission, profile: Profile, case: Case) -> None:
    """Raise GateError if a call launches so many threads that it takes long."""
    assert submission.solution is not None
    usual, _ = Submission(submission.solution(), submission.arch).sampled(case, _SAMPLE)
    mine, best = launched_threads(profile), launched_threads(usual)
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
) -> tuple[_Call, ...]:
    """Return a large call for each mode with which the solution's grid grows, if the solution
    passes it."""
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
            call = _Call(few, more, case)
            with contextlib.suppress(GateError):
                if _is_right(runs, call):
                    profile, after = runs.sampled(case, _SAMPLE)
                    quarters = _quarters(_changed(case, after))
                    found.append(
                        replace(call, quarters=quarters, threads=launched_threads(profile))
                    )
                    break
    return tuple(found)


def _blocks(submission: Submission, case: Case) -> int:
    profile, _ = submission.counted(case)
    return sum(math.prod(x.grid) for x in profile.launches)


def _independent(submission: Submission, case: Case) -> bool:
    """Return True if no block of a call depends on another, and if all stores are counted."""
    profile, _ = submission.counted(case)
    shared = profile["global_atomic_requests"] + profile["global_reduction_requests"]
    bulk = "cp.async.bulk" in submission.compiled(case).ptx
    return len(profile.launches) == 1 and not shared and not bulk


def _changed(case: Case, after: Mapping[int, Any]) -> dict[int, Any]:
    """Return a mask of the changed elements of each result."""
    import torch

    masks = {}
    for position in case.expected:
        pair = (x[position].contiguous() for x in (case.args, after))
        one, other = (x.view(torch.uint8).view(*x.shape, x.element_size()) for x in pair)
        masks[position] = (one != other).any(-1)
    return masks


def _quarters(changed: Mapping[int, Any]) -> set[tuple[int, int]]:
    """Return the position and the number of each quarter of a result with a changed element."""
    return {
        (position, k)
        for position, mask in changed.items()
        for k, quarter in enumerate(mask.flatten().chunk(4))
        if quarter.any()
    }


def _needed(case: Case) -> int:
    return sum(x.numel() * case.args[k].element_size() for k, x in case.expected.items())
