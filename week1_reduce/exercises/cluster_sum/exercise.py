"""Puzzle week1/cluster_sum: four blocks add up a row in the shared memory of one of them."""

import re

import numpy as np
import torch

from forgekit.lessons.gates import GateError, Group, found, looks_like
from forgekit.lessons.puzzle import puzzle

from ..shares import shared


def _of_rank_0(x: torch.Tensor) -> torch.Tensor:
    """Return the sum of a block that takes 128 elements of every 512."""
    n = torch.arange(x.shape[1])
    return (x.double() * (n // 128 % 4 == 0)).sum(1)


def _four_blocks(block, thread):
    """Return what is wrong if one of the four blocks loads less than half a quarter of row 0, or
    more than three halves of one."""
    ranks, loaded = np.unique(block[0], return_counts=True)
    if len(ranks) != 4:
        return f"{len(ranks)} of 4 blocks load elements of row 0; in the task, all four share the columns."
    quarter = block.shape[1] / 4
    if min(loaded) < quarter / 2 or max(loaded) > quarter * 3 / 2:
        return (
            f"the four blocks load {', '.join(f'{of:,}' for of in loaded)} elements of row 0; in the "
            "task, they share the columns evenly."
        )
    return ""


def _shared_evenly(make):
    groups = [shared(make, (2, n), "block", _four_blocks) for n in (5000, 1000, 505)]
    return Group(groups[0].name, lambda submission: max(g.run(submission) for g in groups))


EXERCISE = puzzle(
    title="add up a row in a cluster",
    task="""
Add up float32 rows of any length with clusters. The four blocks of a cluster share the columns of
a row evenly and exchange their sums through shared memory. One of them stores the sum of the row. Clusters
need a GPU of compute capability 9.0 or later.

Signature: `cluster_sum(x, y)`.
""",
    hints=(
        "The grid is `(4, rows, 1)` with `cluster=(4, 1, 1)`, so the x index of a block is its "
        "rank in the cluster, and thread `tidx` can start at column `rank * 128 + tidx`.",
        "`cute.arch.map_dsmem_ptr(pointer, 0).store(value)` writes to the same offset in the "
        "shared memory of block 0. Give each block its own element there.",
        "You need `cluster_arrive()` and `cluster_wait()` twice: before the line with the first "
        "store to another block, which may not have started yet, and before the line on which "
        "block 0 reads the sums.",
    ),
    analysis="""
The first `cluster_arrive` and its `cluster_wait` can be far apart: a block arrives when it
starts and waits after it has added up its share, so the other blocks have usually arrived by
then. The second pair completes the exchange. No block writes to a block that has ended, because
all stores go to block 0 and precede the second barrier.
""",
    asked={"work": "one cluster per row", "cluster": 4, "block": 128, "block_barriers": 1, "cluster_barriers": 2,
           "global_atomics": 0},
    entry="cluster_sum",
    inputs=lambda draw, m, n: (draw.fractions(m, n),),
    result=lambda x: x.sum(1),
    sizes=[(1, 512), (1, 1), (3, 33), (2, 1000), (7, 129), (1, 5000), (3, 1025)],
    count=[(1, 600), (4, 5_000)],
    misconceptions=[
        looks_like(lambda x, y: _of_rank_0(x), "the sum contains only columns 0 to "
                   "127 of every 512, as if one block's share were the whole row."),
        looks_like(lambda x, y: 4 * x.double().sum(1), "every result is four times the sum, as if "
                   "each of the four blocks added up the whole row."),
        found("block-lifetime", "a block may access another's shared memory only after both have "
              "started, and no block may end while another still accesses its shared memory: "
              "`cluster_arrive` and `cluster_wait` ensure both."),
    ],
    more=lambda make: (_shared_evenly(make),),
    arch="sm_90a",
)  # fmt: skip
