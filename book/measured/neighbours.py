"""Time configurations that differ slightly from the table's choice for some rows, on a GPU.

    python -m book.measured.neighbours softmax 8192x8192 bfloat16

A neighbour of the table's choice uses another kernel, or has one number halved or doubled, and
obeys `tests/ops/row_limits.py`. Each neighbour's result is compared with the reference before it is
timed; the fastest neighbour is printed first.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from forgekit.benching.suites.operations import make_inputs, moved_bytes, result_shape, why_wrong
from forgekit.benching.suites.suite import Case
from forgekit.benching.timing import Timing, time_gpu
from forgekit.kernels import WARP
from forgekit.ops.calls import Call
from forgekit.ops.launching import clusters_of
from forgekit.ops.row_launch import row_vectors, run_of_choice
from forgekit.ops.tile_choice import KERNELS, RowChoice, block_threads, choose_rows, whole_loads
from tests.ops.row_limits import RowProblem, why_not

NUMBERS = ("threads", "rows", "loads", "turns", "cluster", "split")


def rows_of(case: Case, clusters: int) -> tuple[RowProblem, RowChoice]:
    """Return a case's rows, assumed contiguous and aligned, and the table's choice for them."""
    op: Any = "sum" if case.op == "reduce_sum" else case.op
    (rows, size), itemsize = case.shape, getattr(torch, case.dtype).itemsize
    vector, unaligned = row_vectors(op, size, (size,), (0,), itemsize, 1)
    table = choose_rows(op, rows, size, itemsize, vector, unaligned, clusters)
    return RowProblem(op, rows, size, vector, unaligned), table


def neighbours(
    problem: RowProblem, table: RowChoice, *, clusters: int, shared: int
) -> list[RowChoice]:
    """Return the neighbours of the table's choice that can run. clusters, shared: limits as in
    `why_not`.
    """
    kernels = [k for k in KERNELS[problem.op] if (k == "split") == (table.kernel == "split")]
    changes: list[Any] = [{"kernel": kernel} for kernel in kernels]
    for name in NUMBERS:
        n = getattr(table, name)
        changes += [{name: near} for near in (n // 2, 2 * n) if near]
    found = dict.fromkeys(_fitted(problem, replace(table, **change)) for change in changes)
    return [c for c in found if c != table and why_not(c, problem, clusters, shared) is None]


def _fitted(problem: RowProblem, choice: RowChoice) -> RowChoice:
    """Return the choice with the number of threads that its loads and cluster require if a block or
    cluster holds a whole row.
    """
    c = choice
    if problem.op != "sum" and c.kernel not in ("streaming", "split"):
        vectors = -(-problem.size // c.vector)
        least = max(WARP * (c.cluster > 1), 2 * c.vector * c.unaligned)
        threads = block_threads(-(-vectors // (c.loads * c.cluster)), least)
        c = replace(c, threads=threads, loads=max(1, -(-vectors // (threads * c.cluster))))
    return replace(c, whole=whole_loads(c, problem.size))


def timed(case: Case, choice: RowChoice) -> Timing | str:
    """Return the time of a choice on the GPU, or the reason why it was not timed."""
    inputs = make_inputs(case, torch.device("cuda"))
    out = inputs[0].new_full(result_shape(case), float("nan"))
    try:
        run = run_of_choice(Call.of(case.op, *inputs, arch=None), choice)
        run(*inputs, out)
        return why_wrong(case, inputs, out) or time_gpu(partial(run, *inputs, out))
    except Exception as error:
        return str(error).partition("\n")[0]


def main(name: str, shape: str, dtype: str) -> None:
    rows, size = map(int, shape.split("x"))
    case = Case(name, (rows, size), dtype)
    clusters, gpu = clusters_of(None), torch.cuda.get_device_properties()
    problem, table = rows_of(case, clusters)
    near = neighbours(problem, table, clusters=clusters, shared=gpu.shared_memory_per_block_optin)
    found = {choice: timed(case, choice) for choice in (table, *near)}
    times = {choice: t for choice, t in found.items() if isinstance(t, Timing)}
    for choice, t in sorted(times.items(), key=lambda item: item[1].median_ms):
        mark = " (the table's)" if choice == table else ""
        print(f"{t.median_ms:.4f} ms, {t.gbps(moved_bytes(case)):,.0f} GB/s  {choice}{mark}")
    print(*(f"not timed  {c}: {why}" for c, why in found.items() if c not in times), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
