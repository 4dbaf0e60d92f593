"""The search of `forgekit tune`: configurations around the table's, each checked, then timed.

A configuration counts only if its result is right by the rule of the suites, bit for bit the same
in two runs, and, where that is asked for, bit for bit the table's. It takes the table's place only
if it is faster by more than the noise: in two more rounds beside the table's, all its times lie
below all of the table's (20th to 80th percentile), and the medians 2 % apart.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from forgekit.benching.suites.machine import lacking_memory, lost_context, told
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import Timing, time_gpu
from forgekit.benching.tuning.candidates import candidates
from forgekit.benching.tuning.checks import CheckedCalls, DroppedError
from forgekit.devices import Target, use_target
from forgekit.errors import PlatformError, UsageError, got_needed
from forgekit.ops import tuned, tuning_files
from forgekit.ops.launching import PIECE, clusters_of
from forgekit.ops.reduce_launch import row_vectors
from forgekit.ops.row_limits import RowProblem, shared_limit
from forgekit.ops.tile_choice import Op, RowChoice, choose_rows

__all__ = ["OPS", "Outcome", "TuneSettings", "configurations", "failed_case", "keep", "plan",
           "tune_case", "tune_cases", "tune_on_worker"]  # fmt: skip

OPS: dict[str, Op] = {
    "reduce_sum": "sum", "softmax": "softmax", "softmax_backward": "softmax_backward"
}  # fmt: skip
LEAST_GAIN = 0.02
FINALISTS, ROUNDS = 3, 2

Timer = Callable[[Callable[[], Any], RowChoice, int], Timing]
Step = Callable[[], None]


def on_gpu(call: Callable[[], Any], choice: RowChoice, repeats: int) -> Timing:
    """The timer that counts."""
    return time_gpu(call, repeats=repeats)


@dataclass(frozen=True)
class TuneSettings:
    """most: configurations tried besides the table's. exact: only those that keep every bit.
    first, repeats: timed calls in the first round, and in the last two. device, arch: those of
    fk.use_target; None leaves the usual choice."""

    most: int = 24
    exact: bool = False
    first: int = 15
    repeats: int = 50
    device: str | None = None
    arch: str | None = None


@dataclass(frozen=True)
class Timed:
    """A configuration and its time: the better of the last rounds."""

    choice: RowChoice
    timing: Timing


@dataclass(frozen=True)
class Outcome:
    """What the search gave for one case.

    key, gpu, made_with: of the entry, of the file. table: the table's choice; None where nothing
    was measured, for the reason in `left_out`. best: what takes its place, None where the table
    stays. tried: configurations, the table's among them. dropped: those that failed or were wrong,
    and why. lost: why this process can use the GPU no more; empty if it can.
    """

    case: Case
    key: str = ""
    gpu: str = ""
    made_with: dict[str, Any] = field(default_factory=dict)
    table: Timed | None = None
    best: Timed | None = None
    tried: int = 0
    dropped: tuple[tuple[RowChoice, str], ...] = ()
    left_out: str = ""
    lost: str = ""

    @property
    def gain(self) -> float:
        """How much less time the best takes, of the table's; 0 where the table stays."""
        if self.table is None or self.best is None:
            return 0.0
        return 1 - self.best.timing.median_ms / self.table.timing.median_ms


def plan(
    case: Case, arch: str | None, settings: TuneSettings
) -> tuple[RowProblem, RowChoice, list[RowChoice]]:
    """The rows of a case, the table's choice, and what to try besides.

    Raises:
        UsageError: the case has no rows, or more or longer ones than a kernel takes at once.
    """
    if case.op not in OPS or case.dim != -1 or max(case.shape) > PIECE:
        needed = f"rows of {', '.join(OPS)}, at most {PIECE} of at most {PIECE} elements"
        raise UsageError(got_needed("case", case, needed, "leave it out"))
    op, (rows, size) = OPS[case.op], case.shape
    itemsize, clusters = getattr(torch, case.dtype).itemsize, clusters_of(arch)
    vector, edges = row_vectors(size, (size,), (0,), itemsize, 1, sums=op == "sum")
    problem = RowProblem(op, rows, size, case.dtype, vector, edges)
    table = choose_rows(op, rows, size, itemsize, vector, edges, clusters)
    found = candidates(
        problem, table, clusters=clusters, shared=shared_limit(arch), most=settings.most,
        exact=settings.exact,
    )  # fmt: skip
    return problem, table, found


def tune_case(
    case: Case, settings: TuneSettings, *, timer: Timer | None = None, step: Step = lambda: None
) -> Outcome:
    """Search around the table's choice for one case. step: called after each configuration.
    timer: in place of times on the GPU.

    Raises:
        PlatformError: there is no GPU, so that there are no times.
        UsageError: as `plan`.
    """
    with use_target(settings.device, settings.arch) as target:
        timer, arch = timer or on_gpu, _arch(target)
        problem, table, others = plan(case, arch, settings)
        about: dict[str, Any] = {
            "key": tuned.key(problem), "gpu": tuned.gpu_name(arch),
            "made_with": tuning_files.header(),
        }  # fmt: skip
        lacking = lacking_memory(case, target)
        if lacking:
            return Outcome(case, left_out=lacking, **about)
        calls = CheckedCalls(case, problem, arch, exact=settings.exact)
        found, dropped, lost = _first_round(calls, [table, *others], settings, timer, step)
        about |= {"dropped": tuple(dropped), "tried": len(found) + len(dropped), "lost": lost}
        if lost or not found or found[0][0] != table:
            why = lost or f"the table's own choice: {dropped[0][1]}"
            return Outcome(case, left_out=why, **about)
        kept, best = _last_rounds(found, settings.repeats, timer)
        return Outcome(case, table=kept, best=best, **about)


Tried = tuple[RowChoice, Callable[[], None], Timing]


def _first_round(
    calls: CheckedCalls, choices: Sequence[RowChoice], settings: TuneSettings, timer: Timer,
    step: Step,
) -> tuple[list[Tried], list[tuple[RowChoice, str]], str]:  # fmt: skip
    """Each configuration that counts, with its call and a first time; the others; what broke."""
    found: list[Tried] = []
    dropped: list[tuple[RowChoice, str]] = []
    for choice in choices:
        try:
            call = calls.checked(choice)
            found.append((choice, call, timer(call, choice, settings.first)))
        except DroppedError as error:
            dropped.append((choice, str(error)))
        except PlatformError:  # no GPU, no times
            raise
        except Exception as error:
            dropped.append((choice, told(error)))
            lost = lost_context()
            if lost:
                return found, dropped, lost
        step()
        if len(dropped) == 1 and not found:  # the table's choice itself
            break
    return found, dropped, ""


def _last_rounds(found: list[Tried], repeats: int, timer: Timer) -> tuple[Timed, Timed | None]:
    """The table's choice (the first) beside the fastest others, in turn; what takes its place."""
    others = sorted(found[1:], key=lambda tried: tried[2].median_ms)[:FINALISTS]
    times: dict[RowChoice, list[Timing]] = {tried[0]: [] for tried in (found[0], *others)}
    for _ in range(ROUNDS):
        for choice, call, _ in (found[0], *others):
            times[choice].append(timer(call, choice, repeats))
    table, *rest = (Timed(c, min(t, key=lambda one: one.median_ms)) for c, t in times.items())
    faster = [o for o in rest if clearly_faster(times[o.choice], times[table.choice])]
    return table, min(faster, key=lambda o: o.timing.median_ms, default=None)


def clearly_faster(candidate: Sequence[Timing], table: Sequence[Timing]) -> bool:
    """By more than 2 %, with every band of the candidate below every band of the table's."""
    slowest, fastest = max(t.median_ms for t in candidate), min(t.median_ms for t in table)
    apart = max(t.p80_ms for t in candidate) < min(t.p20_ms for t in table)
    return apart and slowest < (1 - LEAST_GAIN) * fastest


def _arch(target: Target) -> str | None:
    return None if target.kind == "gpu" else target.arch


# -- many cases -----------------------------------------------------------------------------------
def configurations(cases: Sequence[Case], settings: TuneSettings) -> int:
    """How many will be tried, the table's among them. Raises UsageError as `plan`."""
    with use_target(settings.device, settings.arch) as target:
        return sum(1 + len(plan(case, _arch(target), settings)[2]) for case in cases)


def tune_cases(
    cases: Sequence[Case], settings: TuneSettings, *, step: Step = lambda: None
) -> Iterator[tuple[int, Outcome]]:
    """(index, outcome) for each case, in order, in this process; ends where the GPU is lost."""
    for index, case in enumerate(cases):
        outcome = tune_case(case, settings, step=step)
        yield index, outcome
        if outcome.lost:
            return


_lost = False  # this worker's GPU can be used no more


def tune_on_worker(piece: tuple[Case, TuneSettings]) -> Outcome:
    """`tune_case` for `spread`. A worker that has lost its GPU's context goes at the next case,
    which Dask then gives to another one."""
    global _lost
    if _lost:
        os._exit(1)
    outcome = tune_case(*piece)
    _lost = bool(outcome.lost)
    return outcome


def failed_case(piece: tuple[Case, TuneSettings], error: BaseException) -> Outcome:
    """What a case gave whose worker failed or never answered."""
    return Outcome(piece[0], left_out=told(error))


def keep(outcome: Outcome) -> bool:
    """Store what was found, or that the table stays; False where there is nothing to store, or a
    worker has other kernels than this process.

    Raises:
        PlatformError: there is no folder, or it cannot be written.
    """
    if outcome.table is None or outcome.made_with != tuning_files.header():
        return False
    entry = None
    if outcome.best is not None:
        entry = {
            "choice": asdict(outcome.best.choice),
            "shape": list(outcome.case.shape),
            "ms": outcome.best.timing.median_ms,
            "table": asdict(outcome.table.choice),
            "table_ms": outcome.table.timing.median_ms,
            "date": datetime.date.today().isoformat(),
        }
    tuning_files.keep(outcome.gpu, {outcome.key: entry})
    tuned.forget()
    return True
