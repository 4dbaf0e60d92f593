"""The search of `forgekit tune`: configurations around the table's, each checked, then timed.

A configuration counts only if its result is right by the rule of the suites, bit for bit the same
in two runs, and, where that is asked for, bit for bit the table's. It takes the table's place only
if it is faster by more than the noise: in two more rounds beside the table's, all its times lie
below all of the table's (20th to 80th percentile), and the medians 2 % apart.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from forgekit.benching.suites.machine import error_line, lacking_memory, lost_context
from forgekit.benching.suites.operations import make_inputs, result_shape, why_wrong
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import Timing, time_gpu
from forgekit.devices import current_target
from forgekit.errors import PlatformError, got_needed, usage_error
from forgekit.kernels import WARP
from forgekit.ops import tuned
from forgekit.ops.calls import Call
from forgekit.ops.launching import PIECE, clusters_of
from forgekit.ops.reductions import launcher
from forgekit.ops.row_launch import row_vectors
from forgekit.ops.row_limits import RowProblem, shared_limit, why_not
from forgekit.ops.tile_choice import (
    KERNELS,
    Kernel,
    Op,
    RowChoice,
    _threads,
    choose_rows,
    whole_loads,
)

OPS: dict[str, Op] = {
    "reduce_sum": "sum", "softmax": "softmax", "softmax_backward": "softmax_backward"
}  # fmt: skip
LOADS = (1, 2, 3, 4, 6, 8, 12, 16, 32)
BLOCKS = (128, 256, 512)  # threads that several rows fill
IN_REGISTERS = 2**15  # elements of a block; more of them have to be spilled
LEAST_GAIN = 0.02
FIRST_REPEATS = 15  # timed calls that choose the finalists
FINALISTS, ROUNDS = 3, 2

Timer = Callable[[Callable[[], Any], RowChoice, int], Timing]


# -- what is tried --------------------------------------------------------------------------------
def plan(
    case: Case, arch: str | None, *, most: int | None = None, exact: bool = False
) -> tuple[RowProblem, RowChoice, list[RowChoice]]:
    """The rows of a case, the table's choice, and the `candidates` around it.

    Raises:
        UsageError: the case has no rows, or more or longer ones than a kernel takes at once.
    """
    if case.op not in OPS or case.dim != -1 or max(case.shape) > PIECE:
        needed = f"rows of {', '.join(OPS)}, at most {PIECE} of at most {PIECE} elements"
        raise usage_error("case", case, needed, "leave it out")
    op, (rows, size) = OPS[case.op], case.shape
    itemsize, clusters = getattr(torch, case.dtype).itemsize, clusters_of(arch)
    vector, unaligned = row_vectors(size, (size,), (0,), itemsize, 1, sums=op == "sum")
    problem = RowProblem(op, rows, size, case.dtype, vector, unaligned)
    table = choose_rows(op, rows, size, itemsize, vector, unaligned, clusters)
    limits = {"clusters": clusters, "shared": shared_limit(arch)}
    return problem, table, candidates(problem, table, **limits, most=most, exact=exact)


def candidates(
    problem: RowProblem,
    table: RowChoice,
    *,
    clusters: int,
    shared: int,
    most: int | None = None,
    exact: bool = False,
) -> list[RowChoice]:
    """Configurations around the table's, without it: the nearest first, at most `most` of them.

    clusters, shared: limits of the GPU, see `row_limits.why_not`. exact: only those with
    `same_bits`.
    """
    found = {
        c
        for c in _neighbors(problem, table)
        if c != table
        and not (c.kernel == "registers" and c.threads * c.rows * c.loads * c.vector > IN_REGISTERS)
        and not (exact and not same_bits(c, table))
        and why_not(c, problem, clusters, shared) is None
    }
    return sorted(found, key=lambda c: (_distance(c, table), astuple(c)))[:most]


def same_bits(choice: RowChoice, table: RowChoice) -> bool:
    """Whether both add in the same order, so that every result has the same bits.

    That is so where only the rows of a block differ, or its turns; of sums also where the loads do,
    since a thread adds its vectors one by one.
    """
    loads = table.loads if table.kernel in ("sum", "short") else choice.loads
    same = replace(choice, rows=table.rows, loads=loads, whole=table.whole, turns=table.turns)
    return same == table


def _neighbors(problem: RowProblem, table: RowChoice) -> Iterator[RowChoice]:
    """Half to twice the table's numbers, in each kernel; also what cannot run."""
    room = max(1, problem.size // problem.vector // 1024, table.cluster * table.split)
    for kernel, loads, cluster, split, turns in itertools.product(
        KERNELS[problem.op],
        {table.loads} | {n for n in LOADS if table.loads / 2 <= n <= 2 * table.loads},
        _halves_and_doubles(table.cluster),
        _halves_and_doubles(table.split),
        _halves_and_doubles(table.turns),
    ):
        if cluster * split > room and problem.op == "sum":  # blocks without anything to do
            continue
        for threads in _thread_counts(problem, table, kernel, loads, cluster):
            for rows in {table.rows, 1, *(max(1, block // threads) for block in BLOCKS)}:
                choice = replace(
                    table, kernel=kernel, threads=threads, rows=rows, loads=loads,
                    cluster=cluster, split=split, turns=turns,
                )  # fmt: skip
                yield replace(choice, whole=whole_loads(choice, problem.size))


def _thread_counts(
    problem: RowProblem, table: RowChoice, kernel: Kernel, loads: int, cluster: int
) -> set[int]:
    """Free for sums; of softmax they follow from loads and cluster, as a row has to fit."""
    if problem.op == "sum":
        return _halves_and_doubles(table.threads)
    if kernel == "streaming":
        return {table.threads} if table.kernel == kernel else set()
    outside = problem.vector - 1 if problem.unaligned else 0
    vectors = -(-(problem.size - outside) // problem.vector)
    least = 2 * problem.vector if problem.unaligned else 1
    return {_threads(-(-vectors // (loads * cluster)), max(least, WARP) if cluster > 1 else least)}


def _halves_and_doubles(number: int) -> set[int]:
    return {max(1, number // 2), number, 2 * number}


def _distance(choice: RowChoice, table: RowChoice) -> float:
    """How many doublings lie between them; another kernel counts as one, threads follow."""
    names = ["rows", "loads", "cluster", "split", "turns"]
    names += ["threads"] * (table.kernel in ("sum", "short"))
    ratios = [getattr(choice, name) / getattr(table, name) for name in names]
    return sum(abs(math.log2(r)) for r in ratios) + (choice.kernel != table.kernel)


# -- checks ---------------------------------------------------------------------------------------
class DroppedError(Exception):
    """A configuration does not count."""


class CheckedCalls:
    """One case on the device that is in use: its tensors, and calls of its configurations.

    arch: of the virtual GPU, None for the GPU. exact: all have to give the bits of the first.
    """

    def __init__(
        self, case: Case, problem: RowProblem, arch: str | None, *, exact: bool = False
    ) -> None:
        device = torch.device("cpu" if arch else "cuda")
        self.case, self.problem, self.arch, self.exact = case, problem, arch, exact
        self.inputs = make_inputs(case, device)
        self.out = torch.empty(result_shape(case), dtype=self.inputs[0].dtype, device=device)
        self.expected: Tensor | None = None  # bit for bit

    def checked(self, choice: RowChoice) -> Callable[[], None]:
        """A call that computes with the configuration. Raises DroppedError if it is wrong."""
        call = self._call(choice)
        first = self._result(call)
        if not torch.equal(_bits(first), _bits(self._result(call))):
            raise DroppedError("two runs gave different bits")
        wrong = why_wrong(self.case, self.inputs, first)
        if wrong:
            raise DroppedError(f"wrong: {wrong}")
        if self.expected is not None and not torch.equal(_bits(first), _bits(self.expected)):
            raise DroppedError("other bits than the table's choice")
        if self.exact and self.expected is None:
            self.expected = first
        return call

    def _call(self, choice: RowChoice) -> Callable[[], None]:
        """What the operator would launch with this configuration."""
        op = "reduce_sum" if self.problem.op == "sum" else self.problem.op
        with tuned.trying(choice) as asked:
            run = launcher(Call.of(op, *self.inputs, arch=self.arch))
        assert run is not None and asked == [self.problem], f"{self.case}: asked for {asked}"
        return functools.partial(run, *self.inputs, self.out)

    def _result(self, call: Callable[[], None]) -> Tensor:
        self.out.fill_(float("nan"))
        call()
        return self.out.clone()


def _bits(x: Tensor) -> Tensor:
    return x.view({2: torch.int16, 4: torch.int32}[x.dtype.itemsize])


# -- the search -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Timed:
    """A configuration and its time: the better of the last rounds."""

    choice: RowChoice
    timing: Timing


@dataclass(frozen=True)
class Tuning:
    """What the search gave for one case.

    key, gpu: of the entry that serves it, and of its file. table: the table's choice; None where
    nothing was measured, for the reason in `left_out`. best: what takes its place, None where the
    table stays. tried: configurations, the table's among them. dropped: those that failed or were
    wrong, and why.
    """

    case: Case
    key: str
    gpu: str
    table: Timed | None = None
    best: Timed | None = None
    tried: int = 0
    dropped: tuple[tuple[RowChoice, str], ...] = ()
    left_out: str = ""

    @property
    def gain(self) -> float:
        """How much less time the best takes, of the table's; 0 where the table stays."""
        if self.table is None or self.best is None:
            return 0.0
        return 1 - self.best.timing.median_ms / self.table.timing.median_ms


def on_gpu(call: Callable[[], Any], choice: RowChoice, repeats: int) -> Timing:
    """The timer that counts."""
    return time_gpu(call, repeats=repeats)


def tune_case(
    case: Case,
    *,
    most: int = 24,
    exact: bool = False,
    repeats: int = 50,
    timer: Timer | None = None,
) -> Tuning:
    """Search around the table's choice for one case, on the device that is in use.

    most: configurations tried besides the table's. exact: only those that keep every bit. repeats:
    timed calls in each of the last rounds. timer: in place of times on the GPU.

    Raises:
        PlatformError: there is no GPU, so that there are no times; or a configuration broke it.
        UsageError: as `plan`.
    """
    target, timer = current_target(), timer or on_gpu
    arch = None if target.kind == "gpu" else target.arch
    problem, table, others = plan(case, arch, most=most, exact=exact)
    result = Tuning(case, tuned.key(problem), tuned.gpu_name(arch))
    lacking = lacking_memory(case, target)
    if lacking:
        return replace(result, left_out=lacking)
    calls = CheckedCalls(case, problem, arch, exact=exact)
    found, dropped = _first_round(calls, [table, *others], timer)
    result = replace(result, dropped=tuple(dropped), tried=len(found) + len(dropped))
    if not found or found[0][0] != table:
        return replace(result, left_out=f"the table's own choice: {dropped[0][1]}")
    kept, best = _last_rounds(found, repeats, timer)
    return replace(result, table=kept, best=best)


Tried = tuple[RowChoice, Callable[[], None], Timing]


def _first_round(
    calls: CheckedCalls, choices: Sequence[RowChoice], timer: Timer
) -> tuple[list[Tried], list[tuple[RowChoice, str]]]:
    """Each configuration that counts, with its call and a first time; the others, and why."""
    found: list[Tried] = []
    dropped: list[tuple[RowChoice, str]] = []
    for choice in choices:
        try:
            call = calls.checked(choice)
            found.append((choice, call, timer(call, choice, FIRST_REPEATS)))
        except DroppedError as error:
            dropped.append((choice, str(error)))
        except PlatformError:  # no GPU, no times
            raise
        except Exception as error:
            dropped.append((choice, error_line(error)))
            if lost := lost_context():
                got, needed = f"{choice} broke the GPU's context ({lost})", "a GPU that answers"
                remedy = "leave that size out, and report it"
                raise PlatformError(
                    got_needed(f"forgekit tune, {calls.case}", got, needed, remedy)
                ) from None
        if not found:  # the table's choice itself
            break
    return found, dropped


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


def keep(result: Tuning) -> None:
    """Store what was found, or that the table stays.

    Raises:
        PlatformError: there is no folder, or it cannot be written.
    """
    if result.table is None:
        return
    entry = None
    if result.best is not None:
        entry = {
            "choice": asdict(result.best.choice),
            "shape": list(result.case.shape),
            "ms": result.best.timing.median_ms,
            "table": asdict(result.table.choice),
            "table_ms": result.table.timing.median_ms,
            "date": datetime.date.today().isoformat(),
        }
    tuned.keep(result.gpu, {result.key: entry})
