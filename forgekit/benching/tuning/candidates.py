"""What `forgekit tune` tries: the neighbours of the table's choice for some rows, nearest first."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from forgekit.kernels import WARP
from forgekit.ops.row_limits import RowProblem, why_not
from forgekit.ops.tile_choice import Kernel, RowChoice, _threads, whole_loads

__all__ = ["candidates", "same_bits"]

LOADS = (1, 2, 3, 4, 6, 8, 12, 16, 32)
BLOCKS = (128, 256, 512)  # threads that several rows fill
IN_REGISTERS = 2**15  # elements of a block; more of them have to be spilled
LONG_BYTES = 64 * 1024  # rows that may be worth reading twice


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

    Loads of a thread, blocks of a cluster and (of sums) threads, parts and turns are half to twice
    the table's; rows wait in registers or in shared memory, and long ones may be read twice.
    clusters, shared: limits of the GPU, see `row_limits.why_not`. exact: only those with
    `same_bits`.
    """
    made = _sums(problem, table) if problem.op == "sum" else _softmaxes(problem, table)
    found: dict[RowChoice, float] = {}
    for one in made:
        choice = dataclasses.replace(one, whole=whole_loads(one, problem.size))
        fits = choice.kernel != "registers" or _block_elements(choice) <= IN_REGISTERS
        if exact and not same_bits(choice, table):
            continue
        if fits and choice != table and why_not(choice, problem, clusters, shared) is None:
            found[choice] = _distance(choice, table)
    return sorted(found, key=lambda c: (found[c], dataclasses.astuple(c)))[:most]


def same_bits(choice: RowChoice, table: RowChoice) -> bool:
    """Whether both add in the same order, so that every result has the same bits.

    That is so where only the rows of a block differ, or its turns; of sums also where the loads do,
    since a thread adds its vectors one by one.
    """
    loads = table.loads if table.kernel in ("sum", "short") else choice.loads
    same = dataclasses.replace(
        choice, rows=table.rows, loads=loads, whole=table.whole, turns=table.turns
    )
    return same == table


def _softmaxes(problem: RowProblem, table: RowChoice) -> Iterator[RowChoice]:
    """Threads follow from loads and cluster, as a row has to fit."""
    outside = problem.vector - 1 if problem.edges else 0
    vectors = -(-(problem.size - outside) // problem.vector)
    least = 2 * problem.vector if problem.edges else 1
    kernels: list[Kernel] = ["registers"]
    if problem.op == "softmax":
        kernels.append("shared")
    for loads in _near(table.loads):
        for cluster in _halves_and_doubles(table.cluster):
            lanes = -(-vectors // (loads * cluster))
            threads = _threads(lanes, max(least, WARP) if cluster > 1 else least)
            for kernel in kernels:
                for rows in _rows(threads, table.rows) if cluster == 1 else (1,):
                    yield dataclasses.replace(
                        table, kernel=kernel, threads=threads, rows=rows, loads=loads,
                        cluster=cluster,
                    )  # fmt: skip
            if table.kernel == "streaming" or problem.size * 16 // problem.vector > LONG_BYTES:
                yield dataclasses.replace(
                    table, kernel="streaming", threads=1024, rows=1, loads=min(loads, 8),
                    cluster=cluster,
                )  # fmt: skip


def _sums(problem: RowProblem, table: RowChoice) -> Iterator[RowChoice]:
    room = max(1, problem.size // problem.vector // 1024)  # blocks that have something to do
    shared = [(cluster, 1) for cluster in _halves_and_doubles(table.cluster)]
    shared += [(1, parts) for parts in _halves_and_doubles(table.split)]
    for threads in _halves_and_doubles(table.threads):
        for loads in _near(table.loads):
            for cluster, parts in shared:
                if cluster * parts > max(room, table.cluster * table.split):
                    continue
                for rows in _rows(threads, table.rows) if cluster * parts == 1 else (1,):
                    choice = dataclasses.replace(
                        table, kernel="sum", threads=threads, rows=rows, loads=loads,
                        cluster=cluster, split=parts, turns=1,
                    )  # fmt: skip
                    yield choice
                    for turns in _halves_and_doubles(table.turns):
                        yield dataclasses.replace(choice, kernel="short", turns=turns)


def _near(loads: int) -> list[int]:
    return sorted({loads} | {n for n in LOADS if loads / 2 <= n <= 2 * loads})


def _halves_and_doubles(number: int) -> list[int]:
    return sorted({max(1, number // 2), number, 2 * number})


def _rows(threads: int, usual: int) -> list[int]:
    return sorted({usual, 1, *(max(1, block // threads) for block in BLOCKS)})


def _block_elements(choice: RowChoice) -> int:
    return choice.threads * choice.rows * choice.loads * choice.vector


def _distance(choice: RowChoice, table: RowChoice) -> float:
    """How many doublings lie between them; another kernel counts as one, threads follow."""
    names = ["rows", "loads", "cluster", "split", "turns"]
    names += ["threads"] * (table.kernel in ("sum", "short"))
    ratios = [getattr(choice, name) / getattr(table, name) for name in names]
    return sum(abs(math.log2(r)) for r in ratios) + (choice.kernel != table.kernel)
