"""Test `RowTile` and its exchange with row sums: every element of a row counts once."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest
import torch

from forgekit.kernels.rows import RowTile, group_of
from forgekit.ops.launching import clusters_of
from forgekit.ops.row_launch import compile_rows, shared
from forgekit.ops.tile_choice import RowChoice
from tests.kernels.rowwise import WHERE, Output, integers, need_clusters, placed
from tests.ops.row_limits import capacity as capacity_of

TILES = {
    "one thread per row": RowChoice("sum", 1, 8, 1, 1),
    "two lanes, any number of rows": RowChoice("sum", 2, 5, 3, 1),
    "part of a warp": RowChoice("sum", 8, 16, 2, 4),
    "a warp": RowChoice("sum", 32, 4, 2, 1),
    "three warps, two rows": RowChoice("sum", 96, 2, 2, 4),
    "all threads of a block": RowChoice("sum", 1024, 1, 1, 4),
    "cluster of 2": RowChoice("sum", 96, 1, 2, 4, cluster=2),
    "cluster of 4": RowChoice("sum", 64, 1, 1, 4, cluster=4),
    "cluster of 8": RowChoice("sum", 32, 1, 2, 4, cluster=8),
    "cluster of 16, a warp each": RowChoice("sum", 32, 1, 1, 1, cluster=16),
    "cluster of 16, 128 warps": RowChoice("sum", 256, 1, 1, 4, cluster=16),
    "split": RowChoice("split", 64, 1, 1, 4, split=3),
}
EDGES = {
    "8 lanes": RowChoice("sum", 8, 4, 1, 4, unaligned=True),
    "two warps, two rows": RowChoice("sum", 64, 2, 2, 4, unaligned=True),
    "cluster of 2": RowChoice("sum", 32, 1, 1, 4, cluster=2, unaligned=True),
    "split": RowChoice("split", 32, 1, 1, 4, split=2, unaligned=True),
}


def check(choice: RowChoice, x: torch.Tensor, arch: str | None) -> None:
    """Check sums of integers, which must be exact."""
    y = Output((x.shape[0],), torch.float32, arch)
    run = compile_rows("sum", choice, torch.float32, arch)
    if choice.kernel == "split":
        run = shared("sum", run, choice)
    run(x, y.tensor)
    assert torch.equal(y.read().double(), x.cpu().double().sum(1))


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("name", TILES)
def test_every_element_counts_once(name: str, arch: str | None) -> None:
    choice, capacity = TILES[name], capacity_of(TILES[name])
    need_clusters(choice.cluster, arch)
    V = choice.vector
    sizes = {V, capacity - V, capacity, capacity + V, 2 * capacity + 3 * V} - {0}
    for N, M in itertools.product(sorted(sizes), (1, 2 * choice.rows + 1)):
        check(choice, integers(M, N, arch=arch), arch)


@pytest.mark.parametrize("arch", WHERE)
@pytest.mark.parametrize("name", EDGES)
def test_rows_that_begin_anywhere(name: str, arch: str | None) -> None:
    choice, capacity = EDGES[name], capacity_of(EDGES[name])
    need_clusters(choice.cluster, arch)
    for N, offset in itertools.product((1, 3, 16, 21, capacity + 1), range(4)):
        apart = N + (N + offset) % 5
        check(choice, placed(integers(5, N, arch=arch), offset, apart), arch)


@pytest.mark.parametrize("arch", WHERE)
def test_exact(arch: str | None) -> None:
    for choice in (RowChoice("sum", 64, 2, 2, 4), RowChoice("sum", 32, 1, 1, 4, cluster=2)):
        choice = replace(choice, whole=choice.loads)
        if choice.cluster <= clusters_of(arch):
            capacity = capacity_of(choice)
            check(choice, integers(3, capacity, arch=arch), arch)
            check(choice, integers(1, 3 * capacity, arch=arch), arch)


def test_the_order_in_which_blocks_of_a_cluster_meet() -> None:
    """The PTX must contain the ordering instructions. A run on the virtual GPU cannot show this,
    because its memory is always ordered."""
    ptx = compile_rows("sum", TILES["cluster of 4"], torch.float32, "sm_90a").ptx
    steps = re.findall(
        r"mbarrier\.init|expect_tx|fence\.mbarrier_init\.release\.cluster"
        r"|barrier\.cluster\.\S+|st\.async|mbarrier\.try_wait",
        ptx,
    )
    assert [re.sub(r"(\.aligned)?;?$", "", step) for step in steps] == [
        "mbarrier.init",
        "expect_tx",
        "fence.mbarrier_init.release.cluster",
        "barrier.cluster.arrive.relaxed",
        "barrier.cluster.wait",
        "st.async",
        "mbarrier.try_wait",
    ]


def test_no_more_lanes_combine_parts_than_have_some() -> None:
    sizes = [group_of(parts) for parts in (1, 2, 3, 5, 17, 32, 33, 512)]
    assert sizes == [1, 2, 4, 8, 32, 32, 32, 32]
    assert RowTile(8, 16).parts == 1  # part of a warp, so there is nothing to exchange
