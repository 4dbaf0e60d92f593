"""The search of `forgekit tune`: the neighbours of the table's choice, each checked, then timed.

A configuration counts only if its result is right by the rule of the suites, bit for bit the same
in two runs, and, where that is asked for, bit for bit the table's. It takes the table's place only
if it is faster by more than the noise: in two rounds beside the table's, all its times lie below
all of the table's (20th to 80th percentile), and the medians 2 % apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

import torch
from torch import Tensor

from forgekit.benching.suites.operations import (
    lacking_memory,
    make_inputs,
    result_shape,
    why_wrong,
)
from forgekit.benching.suites.running import error_line, lost_context
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import Timing, time_gpu
from forgekit.devices import current_target
from forgekit.errors import PlatformError, got_needed, usage_error
from forgekit.kernels import WARP
from forgekit.ops import tuned
from forgekit.ops.calls import Call
from forgekit.ops.launching import PIECE, clusters_of
from forgekit.ops.row_launch import row_vectors, run_of_choice
from forgekit.ops.row_limits import RowProblem, shared_limit, why_not
from forgekit.ops.tile_choice import KERNELS, RowChoice, block_threads, choose_rows, whole_loads

LEAST_GAIN = 0.02
ROUNDS = 2


# -- what is tried --------------------------------------------------------------------------------
def candidates(
    problem: RowProblem, table: RowChoice, *, clusters: int, shared: int, exact: bool = False
) -> list[RowChoice]:
    """The configurations around the table's that can run, without it.

    clusters, shared: limits of the GPU, see `row_limits.why_not`. exact: only those with
    `adds_alike`.
    """
    return [
        choice
        for choice in dict.fromkeys(_neighbours(problem, table))
        if choice != table
        and (adds_alike(choice, table) or not exact)
        and why_not(choice, problem, clusters, shared) is None
    ]


def adds_alike(choice: RowChoice, table: RowChoice) -> bool:
    """Whether both add in the same order, so that every result has the same bits.

    That is so where only the rows of a block differ, or its turns; of sums also where the loads do,
    since a thread adds its vectors one by one.
    """
    loads = table.loads if table.kernel in ("sum", "short") else choice.loads
    same = replace(choice, rows=table.rows, loads=loads, whole=table.whole, turns=table.turns)
    return same == table


def _neighbours(problem: RowProblem, table: RowChoice) -> Iterator[RowChoice]:
    """Another kernel, or one number from half to twice the table's; also what cannot run. Each with
    as many rows a block as the table has, and with as many as make blocks of the same size."""
    streams = table.kernel == "streaming"  # rows that nothing else holds
    changes: list[dict[str, object]] = [
        {"kernel": kernel} for kernel in KERNELS[problem.op] if (kernel == "streaming") == streams
    ]
    for name in ("rows", "loads", "threads", "turns", "cluster", "split"):
        n = getattr(table, name)
        changes += [{name: near} for near in (n // 2, 3 * n // 4, 3 * n // 2, 2 * n) if near]
    for change in changes:
        choice = _fitted(problem, replace(table, **change))  # type: ignore[arg-type]
        filled = max(1, table.threads * table.rows // choice.threads)
        for rows in (choice.rows, filled) if choice.cluster * choice.split == 1 else (1,):
            found = replace(choice, rows=rows)
            yield replace(found, whole=whole_loads(found, problem.size))


def _fitted(problem: RowProblem, choice: RowChoice) -> RowChoice:
    """A choice whose blocks hold a row has the threads that its loads and cluster ask for."""
    c = choice
    if problem.op == "sum" or c.kernel == "streaming":
        return c
    outside, least = (c.vector - 1, 2 * c.vector) if c.unaligned else (0, 1)
    vectors = -(-(problem.size - outside) // c.vector)
    least = max(least, WARP) if c.cluster > 1 else least
    threads = block_threads(-(-vectors // (c.loads * c.cluster)), least)
    return replace(c, threads=threads, loads=max(1, -(-vectors // (threads * c.cluster))))


# -- the search -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Tuning:
    """What the search gave for one case.

    table: its choice. best: what takes its place, None where it stays. times: the better round of
    each configuration that counts. dropped: those that failed or were wrong, and why. left_out: why
    nothing was measured, empty if it was.
    """

    case: Case
    problem: RowProblem
    gpu: str
    table: RowChoice
    best: RowChoice | None = None
    times: dict[RowChoice, Timing] = field(default_factory=dict)
    dropped: dict[RowChoice, str] = field(default_factory=dict)
    left_out: str = ""


def tune_case(case: Case, *, exact: bool = False, repeats: int = 50) -> Tuning:
    """Search around the table's choice for the rows of a case, on the GPU at hand.

    exact: only what keeps every bit. repeats: timed calls of each configuration in a round.

    Raises:
        PlatformError: there is no GPU, so that there are no times; or a configuration broke it.
        UsageError: more or longer rows than a kernel takes at once.
    """
    target = current_target()
    arch = None if target.kind == "gpu" else target.arch
    problem, limits = _problem(case), (clusters_of(arch), shared_limit(arch))
    p, itemsize = problem, getattr(torch, case.dtype).itemsize
    table = choose_rows(p.op, p.rows, p.size, itemsize, p.vector, p.unaligned, limits[0])
    found = Tuning(case, problem, tuned.gpu_name(arch), table)
    if lacking := lacking_memory(case, target):
        return replace(found, left_out=lacking)
    others = candidates(problem, table, clusters=limits[0], shared=limits[1], exact=exact)
    calls, dropped = _checked_calls(case, [table, *others], arch, exact)
    found = replace(found, dropped=dropped)
    if not calls:
        return replace(found, left_out=f"the table's own choice: {dropped[table]}")
    rounds: dict[RowChoice, list[Timing]] = {choice: [] for choice in calls}
    for choice, call in [*calls.items()] * ROUNDS:
        rounds[choice].append(time_gpu(call, repeats=repeats))
    times = {choice: min(t, key=lambda one: one.median_ms) for choice, t in rounds.items()}
    faster = [choice for choice in calls if clearly_faster(rounds[choice], rounds[table])]
    best = min(faster, key=lambda choice: times[choice].median_ms, default=None)
    return replace(found, best=best, times=times)


def _problem(case: Case) -> RowProblem:
    rows, size = case.shape
    if max(rows, size) > PIECE:
        needed = f"at most {PIECE} rows of at most {PIECE} elements"
        raise usage_error("--shape", f"{rows}x{size}", needed, "leave it out")
    op = "sum" if case.op == "reduce_sum" else case.op
    itemsize = getattr(torch, case.dtype).itemsize
    vector, unaligned = row_vectors(size, (size,), (0,), itemsize, 1, sums=op == "sum")
    return RowProblem(op, rows, size, case.dtype, vector, unaligned)  # type: ignore[arg-type]


def _checked_calls(
    case: Case, choices: Sequence[RowChoice], arch: str | None, exact: bool
) -> tuple[dict[RowChoice, Callable[[], None]], dict[RowChoice, str]]:
    """A call of each configuration that counts, and why the others do not; nothing is tried after
    the first, the table's, if that does not.

    Raises:
        PlatformError: the GPU answers no more.
    """
    calls: dict[RowChoice, Callable[[], None]] = {}
    dropped: dict[RowChoice, str] = {}
    inputs = make_inputs(case, torch.device("cpu" if arch else "cuda"))
    out, expected = inputs[0].new_empty(result_shape(case)), None
    operator_call = Call.of(case.op, *inputs, arch=arch)
    for choice in choices:
        try:
            run = run_of_choice(operator_call, choice, case.shape[0])
            call = partial(run, *inputs, out)
            result = _result(call, out)
            why = _why_dropped(case, inputs, result, _result(call, out), expected)
        except Exception as error:
            why = error_line(error)
            if lost := lost_context():
                got, needed = f"{choice} broke the GPU's context ({lost})", "a GPU that answers"
                said = got_needed(f"forgekit tune, {case}", got, needed, "report that size")
                raise PlatformError(said) from None
        if not why:
            calls[choice] = call
            expected = result if exact and expected is None else expected
            continue
        dropped[choice] = why
        if not calls:
            break
    return calls, dropped


def _result(call: Callable[[], None], out: Tensor) -> Tensor:
    out.fill_(float("nan"))
    call()
    return out.clone()


def _why_dropped(
    case: Case, inputs: tuple[Tensor, ...], result: Tensor, again: Tensor, expected: Tensor | None
) -> str:
    """Why a configuration does not count, "" if it does. again: of a second run. expected: the
    table's result, where every bit of it is to stay."""
    if not _same_bits(result, again):
        return "two runs gave different bits"
    if wrong := why_wrong(case, inputs, result):
        return f"wrong: {wrong}"
    if expected is not None and not _same_bits(result, expected):
        return "other bits than the table's choice"
    return ""


def _same_bits(x: Tensor, y: Tensor) -> bool:
    return torch.equal(x.view(torch.uint8), y.view(torch.uint8))


def clearly_faster(candidate: Sequence[Timing], table: Sequence[Timing]) -> bool:
    """By more than 2 %, with every band of the candidate below every band of the table's."""
    slowest, fastest = max(t.median_ms for t in candidate), min(t.median_ms for t in table)
    apart = max(t.p80_ms for t in candidate) < min(t.p20_ms for t in table)
    return apart and slowest < (1 - LEAST_GAIN) * fastest


def keep(found: Tuning) -> None:
    """Store what was found, or that the table stays.

    Raises:
        UsageError, PlatformError: as `tuned.keep`.
    """
    if not found.times:
        return
    entry = None
    if found.best is not None:
        ms, table_ms = (found.times[choice].median_ms for choice in (found.best, found.table))
        entry = {"choice": asdict(found.best), "ms": ms, "table_ms": table_ms}
    tuned.keep(found.gpu, tuned.key(found.problem), entry)
