"""Test the list of configurations of the script that times the neighbours of the table's choice."""

from __future__ import annotations

import pytest

from book.measured.neighbours import NUMBERS, neighbours, rows_of
from forgekit.benching.suites.suite import Case
from forgekit.ops.tile_choice import KERNELS
from tests.ops.row_limits import why_not

LIMITS = {"clusters": 16, "shared": 227 * 1024}


def test_the_neighbours_of_a_usual_softmax() -> None:
    problem, table = rows_of(Case("softmax", (8192, 8192), "bfloat16"), 16)
    found = [table, *neighbours(problem, table, **LIMITS)]
    assert [(c.kernel, c.threads, c.rows, c.loads, c.cluster, c.whole) for c in found] == [
        ("shared", 128, 1, 8, 1, 8), ("registers", 128, 1, 8, 1, 8), ("streaming", 128, 1, 8, 1, 8),
        ("shared", 128, 2, 8, 1, 8), ("shared", 256, 1, 4, 1, 4), ("shared", 64, 1, 16, 1, 16),
        ("shared", 64, 1, 8, 2, 8),
    ]  # fmt: skip


@pytest.mark.parametrize("op", ["reduce_sum", "softmax", "softmax_backward"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_each_neighbour_can_run_and_differs_in_one_choice(op: str, dtype: str) -> None:
    for shape in ((8192, 8192), (2048, 1024), (64, 131072), (1, 2**24), (9, 64), (70, 8193)):
        problem, table = rows_of(Case(op, shape, dtype), 16)
        found = neighbours(problem, table, **LIMITS)
        assert found and table not in found and len(set(found)) == len(found)
        # If a block holds its row, loads and blocks determine the threads, and sometimes the loads.
        free = NUMBERS if problem.op == "sum" else ("rows", "turns", "cluster", "split")
        for c in found:
            assert why_not(c, problem, *LIMITS.values()) is None, c
            assert c.kernel in KERNELS[problem.op]
            changed = [n for n in free if getattr(c, n) != getattr(table, n)]
            assert len(changed) + (c.kernel != table.kernel) <= 1, c
            for name in changed:
                n = getattr(table, name)
                assert getattr(c, name) in (n // 2, 2 * n), c
