"""Puzzle week1/cluster_sum: four blocks add up a row in the shared memory of one of them."""

import torch

from forgekit.lessons.gates import found, looks_like
from forgekit.lessons.puzzle import puzzle


def _of_rank_0(x: torch.Tensor) -> torch.Tensor:
    """What a block finds that takes 128 elements of every 512."""
    n = torch.arange(x.shape[1])
    return (x.double() * (n // 128 % 4 == 0)).sum(1)


EXERCISE = puzzle(
    title="add up a row in a cluster",
    task="""
Sums of rows, float32, any size, by clusters. Block `r` of the
cluster takes the columns whose number divided by 128 leaves `r` when divided by 4; each block
brings its own sum to the first one, into its shared memory, and that adds the four in the order
of their ranks. `cluster_sum(x, y)`, for GPUs of compute capability 9.0 and later.
""",
    hints=(
        "The grid is `(4, rows, 1)` with `cluster=(4, 1, 1)`; so the x of a block is its rank in the "
        "cluster, and its thread `tidx` begins at column `rank * 128 + tidx`.",
        "`cute.arch.map_dsmem_ptr(pointer, 0).store(value)` writes to the same place in the shared "
        "memory of block 0. Each block has its own element there.",
        "`cluster_arrive()` and `cluster_wait()` are needed twice: before the line with the first "
        "store to another block, which may not have started, and before block 0 reads.",
    ),
    analysis="""
The first pair of arrive and wait can lie far apart: a block arrives when it starts and waits when
it has added up its share, so the wait costs next to nothing. The second pair is the exchange
itself. No block but the first touches memory of another that may have ended, since the last of
them to leave is the first.
""",
    asked={"work": "one cluster per row", "cluster": 4, "block": 128, "barriers": 1, "cluster_barriers": 2},
    entry="cluster_sum",
    inputs=lambda draw, m, n: (draw.fractions(m, n),),
    result=lambda x: x.sum(1),
    sizes=[(1, 512), (1, 1), (3, 33), (2, 1000), (7, 129), (1, 5000), (3, 1025)],
    count=[(1, 600), (4, 5_000)],
    misconceptions=[
        looks_like(lambda x, y: _of_rank_0(x), "only the share of the first block is in the sum."),
        looks_like(lambda x, y: 4 * x.double().sum(1), "each of the four blocks has added up the "
                   "whole row."),
        found("block-lifetime", "a block may write to another only after both have started, and "
              "nobody may leave while another still writes to it: that is what arrive and wait are "
              "for."),
    ],
    arch="sm_90a",
)  # fmt: skip
