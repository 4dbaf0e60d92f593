"""Test that the configurations for columns can run and respect the limits of the rules."""

from __future__ import annotations

import itertools

import pytest

from forgekit.ops.columns import choose_columns
from forgekit.ops.tile_choice import Op

CLUSTERS = (1, 16)
OPS: tuple[Op, ...] = ("sum", "softmax", "softmax_backward")
SHAPES = list(itertools.product((1, 3, 40, 1200), (1, 2, 8, 9, 100, 128, 129, 1024, 1500, 40000),
                                (1, 8, 40, 64, 1000, 4096, 100000)))  # fmt: skip


@pytest.mark.parametrize("clusters", CLUSTERS)
@pytest.mark.parametrize("op", OPS)
def test_columns_fit(op: Op, clusters: int) -> None:
    for (outer, size, inner), vector in itertools.product(SHAPES, (1, 2, 4, 8)):
        if inner % vector:
            continue
        c = choose_columns(op, outer, size, inner, vector, clusters)
        told = f"{outer} x {size} x {inner}: {c}"
        assert 1 <= c.lanes * c.rows <= 1024 and c.vector == vector, told
        assert c.rows & (c.rows - 1) == 0 and c.lanes & (c.lanes - 1) == 0, told
        assert c.loads * c.vector <= 64, told
        assert c.cluster in (1, 2, 4, 8) and c.cluster <= clusters, told
        assert c.cluster == 1 or c.split == 1, told
        assert op == "sum" or c.cluster * c.split == 1, told
        assert not c.once or c.rows * c.loads >= size, told
        assert c.split <= max(1, size // c.rows), told
        scratch = 4 * c.lanes * c.vector * (c.rows * (2 if op == "softmax" else 1) + c.cluster)
        assert scratch <= 48 * 1024, told


def test_what_serves_which_columns() -> None:
    def kind(outer: int, size: int, inner: int, clusters: int = 16) -> str:
        c = choose_columns("sum", outer, size, inner, 4, clusters)
        shared = f"cluster {c.cluster}" if c.cluster > 1 else "split" if c.split > 1 else "one step"
        return shared + ", once" * c.once + f", {min(c.rows, 2)} rows"

    assert kind(1, 8, 64) == "one step, once, 1 rows"
    assert kind(1, 100, 64) == "one step, 2 rows"
    assert kind(1200, 2000, 64) == "one step, 2 rows"
    assert kind(1, 5000, 4) == "cluster 2, 2 rows"
    assert kind(1, 1024, 64) == "one step, 2 rows"
    assert kind(1, 1025, 64) == "cluster 8, 2 rows"
    assert kind(1, 1200, 64) == "cluster 8, 2 rows"
    assert kind(1, 40000, 8) == kind(1, 2100, 64, clusters=1) == "split, 2 rows"
    assert kind(1, 40000, 64 * 40) == "cluster 8, 2 rows"


def test_threads_side_by_side_and_below_each_other() -> None:
    """More columns leave fewer threads in each column; the test has three and six times 128 columns
    per SM."""

    def block(blocks: int, size: int = 200) -> tuple[int, int]:
        c = choose_columns("sum", 1, size, blocks * 128, 4, 16)
        return c.lanes, c.rows

    assert [block(132 * n) for n in (2, 3, 5, 6)] == [(16, 16), (32, 16), (32, 16), (32, 8)]
    assert [block(132 * 2, size) for size in (128, 129)] == [(4, 32), (16, 16)]


def test_softmax_of_columns_is_kept_where_it_fits() -> None:
    for op in ("softmax", "softmax_backward"):
        once = [choose_columns(op, 4, size, 64, 4, 16).once for size in (3, 8, 60, 5000)]
        assert once == [True, True, True, False]
