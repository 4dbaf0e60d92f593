"""Define the gate against waste, which compares the bytes that a call moves, its stores and its
launches with the solution's.

No limits are written by hand: the gate counts the course's solution on the same call, and allows a
submission a fixed multiple of each quantity. A new exercise therefore gets its limits
automatically.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forgekit.errors import usage_error
from forgekit.lessons.gates.counters import exact, lines_of_most
from forgekit.lessons.gates.gate import GateError
from forgekit.lessons.gates.submission import (
    CallKey,
    Case,
    Group,
    MakeCase,
    Submission,
    WarpShares,
    case_of,
    secret,
)
from forgekit.lessons.gates.values import check_values, seconds, seconds_of
from forgekit.vgpu import Listener

if TYPE_CHECKING:
    from forgekit.profiling.profile import Profile
    from forgekit.vgpu import Access, Moment


@dataclass(frozen=True)
class Quantity:
    """A quantity that a call must not waste.

    Attributes:
        called: the quantity's name, in the plural. measure: computes the quantity from a profile.
            factor, slack: the limit is `factor` times the solution's value plus `slack`. line: the
            metric by which a failed gate selects the lines that it quotes.
        says: the explanation to print if a call exceeds the limit, valid for every kernel; {mine}
            and {best} are replaced with the bytes per thread in the submission and in the solution.
            look_at: the call to suggest, which shows the waste.
    """

    called: str
    measure: Callable[[Profile], float]
    factor: float
    slack: float = 0
    line: str = ""
    says: str = ""
    look_at: str = ""


def _sum(*metrics: str) -> Callable[[Profile], float]:
    return lambda p: sum(p[m] for m in metrics)


def launched_threads(p: Profile) -> int:
    """Return the total number of threads in all launches."""
    return sum(math.prod(x.grid) * math.prod(x.block) for x in p.launches)


def _atomics(p: Profile) -> float:
    shared = p["shared_atomic_requests"] - launched_threads(p) / 32
    return p["global_atomic_requests"] + p["global_reduction_requests"] + max(shared, 0.0)


def bytes_per_thread(p: Profile) -> float:
    """Return the average number of bytes of global memory that a thread loads and stores."""
    moved = p["global_load_bytes_asked"] + p["global_store_bytes_asked"]
    return moved / max(launched_threads(p), 1)


# Bytes of shared memory per thread that never limit the number of resident blocks. For example, a
# multiprocessor with 100 KiB has room for 12 blocks of 128 threads, each with 6 KiB plus 1 KiB
# reserved.
_FREE = 48


def _beyond_free(p: Profile) -> float:
    return sum(
        max(x.shared_bytes - _FREE * math.prod(x.block), 0) * math.prod(x.grid) for x in p.launches
    )


QUANTITIES: dict[str, Quantity] = {
    "launches": Quantity("launches", lambda p: len(p.launches), 1),
    "stored": Quantity(
        "bytes stored", _sum("global_store_bytes_asked"), 1, line="global_store_bytes_asked",
        says="some elements are stored more than once, but each element belongs to one thread.",
        look_at="fk.footprint(*{failed})",
    ),
    "idle_lanes": Quantity(
        "percentage of idle lanes over all instructions", lambda p: 100 - p["thread_efficiency"],
        1, 30, "warp_instructions",
        "a warp's instruction takes as long with one active lane as with all 32.",
        "fk.profile(*{failed})",
    ),
    "loaded": Quantity(
        "bytes requested by loads", _sum("global_load_bytes_asked"), 1.25, 1024,
        "global_load_bytes_asked",
        "some loaded elements do not contribute to the result, or are loaded more often than "
        "needed.",
        "fk.footprint(*{failed})",
    ),
    "load_sectors": Quantity(
        "sectors loaded", _sum("global_load_sectors"), 1.25, 8, "global_load_sectors",
        "the extra sectors contain bytes that no thread uses or that another request also fetches.",
        "fk.coalescing(*{failed}, kind='load')",
    ),
    "store_sectors": Quantity(
        "sectors stored", _sum("global_store_sectors"), 1.25, 8, "global_store_sectors",
        "a request writes every sector that it touches, however few of the sector's 32 bytes it "
        "stores.",
        look_at="fk.coalescing(*{failed}, kind='store')",
    ),
    "atomics": Quantity(
        "atomic requests, not counting one per warp in shared memory", _atomics, 1.25, 2,
        says="each request reads, modifies and writes memory, and requests for the same word wait "
        "for each other.",
    ),
    "threads": Quantity(
        "threads launched", launched_threads, 1.5, 1024,
        says="a thread moves {mine:.3g} bytes on average, compared with {best:.3g} in the "
        "solution: launch fewer threads. Either some have nothing to do, or each should move more.",
    ),
    "shared_bytes": Quantity(
        f"bytes of shared memory in all blocks, not counting {_FREE} per thread",
        _beyond_free, 4, 1 << 18,
        says="every byte that one block occupies is unavailable to other blocks.",
    ),
    "instructions": Quantity(
        "warp instructions executed", _sum("warp_instructions"), 3, 1024,
        "warp_instructions",
    ),
}  # fmt: skip

_ELSEWHERE = (
    "more elements are stored than in the solution, although none is stored twice. Which of them "
    "do not belong to the result?"
)

# In the first, small call, the last block's surplus threads may repeat other threads' loads. Excess
# loads in this call cause a failure only if a later call also has excess loads.
_LOADS = {"loaded", "load_sectors"}

# The maximum ratio of the solution's threads to the submission's. Vector accesses explain smaller
# ratios; at larger ratios, most of a GPU would be idle.
_FEW = 16

# The maximum ratio of the submission's unevenness to the solution's. A warp that does the work of
# four warps exceeds it.
_UNEVEN = 2.5

# A submission that takes this many times as long as the solution in the small call is refused for
# the idle lanes in this call, before it runs any large calls.
_SLOW = 4

_OF_A_BLOCK = re.compile(r"(atom|red)\.(?=\S*\bcta\b)(?=\S*\bglobal\b)")


class _SameWords(Listener):
    """Finds words of global memory that several blocks update with the scope of a block."""

    def __init__(self) -> None:
        self.found, self._batch = False, 0
        self._of: dict[int, tuple[int, int]] = {}  # address -> batch and place of its first block

    def on_batch(self, m: Moment) -> None:
        self._batch += 1

    def on_access(self, m: Moment, access: Access) -> None:
        if access.kind != "atomic" or not _OF_A_BLOCK.match(m.program.instructions[m.pc].name):
            return
        for _, address, there in access.by_space(m.shape):
            who = there & m.expand(access.mask)
            for place in who.any(1).nonzero()[0].tolist():
                for at in {*address[place][who[place]].tolist()}:
                    block = self._batch, place
                    self.found |= self._of.setdefault(at, block) != block


def _wide_scope(submission: Submission, case: Case, profile: Profile) -> None:
    """Raise GateError if several blocks update a word with atomic operations whose scope is a
    block."""
    every = (line for line in profile.all_lines for i in line.instructions
             if _OF_A_BLOCK.match(i.text))  # fmt: skip
    line, same = next(every, None), _SameWords()
    if line is None:
        return
    submission.counted(case, same)
    if same.found:
        raise GateError(
            f"{line.where}: {line.text}\nWith {case.label}, several blocks update the same element "
            "with this operation, whose scope is one block (`cta`).",
            "the operation is atomic only among the threads of its scope: two blocks may read the "
            "same old value.",
            'scope="gpu", or no scope',
        )


def economical(
    make: MakeCase,
    sizes: Sequence[tuple[int, ...]],
    dtype: str = "float32",
    *,
    more: Callable[[], Sequence[CallKey]] = list,
    waste: Mapping[str, float | None] | None = None,
) -> Group:
    """Return a group that profiles calls, compares their results, and then compares their counts
    with the solution's.

    Args:
        make: as in `values`. sizes: a small and a large size, so that the grid must adapt. more:
            returns further calls.
        waste: maps a name from `QUANTITIES` to the factor that replaces the usual one; None omits
            the quantity.

    Raises:
        UsageError: a quantity is unknown.
    """
    changed = dict(waste or {})
    for key in changed:
        if key not in QUANTITIES:
            needed = f"one of {', '.join(QUANTITIES)}"
            raise usage_error("waste", repr(key), needed, "check the name")
    usual = {key: quantity.factor for key, quantity in QUANTITIES.items()}
    factors = {key: factor for key, factor in (usual | changed).items() if factor is not None}

    def calls() -> list[CallKey]:
        return [*((make, size, dtype) for size in sizes), *more()]

    def loads_too_much(submission: Submission, calls: Sequence[CallKey]) -> bool:
        """Return True if one of the calls loads too much, or if there are no calls."""
        for call in calls:
            case = submission.case(*call)
            profile, _ = submission.counted(case)
            ideal = _ideal(submission.solution, call, submission.arch, secret())
            try:
                for key in factors.keys() & _LOADS:
                    _compare(key, factors[key], profile, ideal, case.label)
            except GateError:
                return True
        return not calls

    def early(submission: Submission) -> None:
        call = make, sizes[0], dtype
        case = submission.case(*call)
        assert submission.solution is not None
        usual = seconds_of(submission.solution, submission.arch, *call)
        try:
            if seconds(submission, case) < _SLOW * usual:
                return
            profile, after = submission.counted(case)
            check_values(submission, case, after)
        except GateError:  # the next calls explain it
            return
        ideal = _ideal(submission.solution, call, submission.arch, secret())
        if factor := factors.get("idle_lanes"):
            _compare("idle_lanes", factor, profile, ideal, case.label)

    def run(submission: Submission) -> str:
        seen = ""
        every = calls()
        for call in every:
            case = submission.case(*call)
            shares = WarpShares()
            profile, after = submission.counted(case, shares)
            try:
                check_values(submission, case, after)
            except GateError as failure:
                failure.happened = (
                    f"The group Values does not test {case.label}.\n{failure.happened}"
                )
                raise
            assert submission.solution is not None
            ideal = _ideal(submission.solution, call, submission.arch, secret())
            for key, factor in factors.items():
                try:
                    _compare(key, factor, profile, ideal, case.label)
                except GateError:
                    small = key in _LOADS and call == every[0]
                    if not small or loads_too_much(submission, every[1:]):
                        submission.last = case
                        raise
            enough_threads(launched_threads(profile), ideal["threads"], case.label)
            if call in every[1:] or len(every) == 1:
                _evenly_shared(shares.unevenness, ideal["unevenness"], case.label)
            _wide_scope(submission, case, profile)
            seen = f"{case.label}: " + ", ".join(
                f"{QUANTITIES[key].called} {QUANTITIES[key].measure(profile):,.0f}"
                for key in ("load_sectors", "store_sectors", "threads")
            )
        return seen

    return Group("Nothing wasted", run, counts=calls, early=early)


def _compare(
    key: str, factor: float, profile: Profile, ideal: Mapping[str, float], label: str
) -> None:
    quantity = QUANTITIES[key]
    value, most = quantity.measure(profile), factor * ideal[key] + quantity.slack
    if value <= most:
        return
    why, bytes_ = quantity, QUANTITIES["loaded"]
    if key == "load_sectors" and bytes_.measure(profile) > bytes_.factor * ideal["loaded"]:
        why = bytes_  # the extra bytes, not alignment, cause the extra sectors
    called = quantity.called[0].upper() + quantity.called[1:]
    says = why.says.format(mine=bytes_per_thread(profile), best=ideal["bytes_per_thread"])
    got, limit = f"{value:,.0f}", f"{math.floor(most):,}"
    if round(value) <= math.floor(most):  # do not let a number beyond the limit look equal to it
        got, limit = exact(value), exact(most)
    raise GateError(
        f"{called}: {got} with {label}; the limit is {limit} (solution: "
        f"{ideal[key]:,.0f}).{lines_of_most(profile, quantity.line)}",
        _ELSEWHERE if key == "stored" and _stored_once(profile) else says,
        why.look_at or "fk.profile(*{failed})",
    )


def _stored_once(profile: Profile) -> bool:
    """Return True if no element is stored more than once."""
    from forgekit.tracing.footprint import footprint

    if profile.call is None:
        return False
    kernel, args = profile.call
    found = footprint(kernel, *args, kind="store").touched.values()
    return all(of["stores"].max(initial=0) <= 1 for of in found)


def enough_threads(value: int, ideal: float, label: str) -> None:
    """Raise GateError if a call launches far fewer threads than the solution."""
    if value * _FEW < ideal:
        raise GateError(
            f"With {label}, the call launches {value:,} threads; the solution launches "
            f"{ideal:,.0f}.",
            "each thread does so much work that most of the GPU is idle: launch more threads, each "
            "of which does less.",
            "fk.footprint(*{failed})",
        )


def _evenly_shared(value: float, ideal: float, label: str) -> None:
    if value > _UNEVEN * ideal:
        raise GateError(
            f"With {label}, one warp executes {value:.1f} times as many instructions as the "
            f"average warp; in the solution, {ideal:.1f} times as many.",
            "the warps share the work unevenly, and a block takes as long as its slowest warp.",
            "fk.footprint(*{failed}, by='warp')",
        )


@functools.lru_cache(maxsize=512)
def _ideal(
    solution: Callable[[], Any], call: CallKey, arch: str | None, secret: int
) -> dict[str, Any]:
    """Return the solution's quantities for a call, whose inputs may depend on the secret."""
    case = case_of(*call)
    shares = WarpShares()
    profile, _ = Submission(solution(), arch).counted(case, shares)
    found = {key: quantity.measure(profile) for key, quantity in QUANTITIES.items()}
    more = {"unevenness": shares.unevenness, "bytes_per_thread": bytes_per_thread(profile)}
    return found | more
