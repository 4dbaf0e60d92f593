"""Puzzle week2/online_columns: softmax of columns in two passes, eight threads per column."""

import numpy as np
import torch

from forgekit.lessons.gates import GateError, Group, looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows
from ..unseen import NAN_FROM_NOTHING


def _exp(x):
    return (x.double() - x.double().amax(0)).exp()


def _shared_stores(make):
    """Each of the eight warps stores at least half of an eighth of a block's columns."""

    def run(submission):
        from forgekit.tracing.footprint import footprint

        case = submission.case(make, (150, 96), "float32")
        kernel = submission.compiled(case)
        name, args = kernel.parameters[1].name, submission.arguments(case).values()
        warps = footprint(kernel, *args, tensor=name, kind="store").touched[name]["warp"][:, :32]
        if (count := (np.bincount(warps.ravel()) >= warps.size / 16).sum()) < 8:
            raise GateError(
                f"Warps that store at least half of an eighth of columns 0 to 31 of {name}: {count} "
                f"with {case.label}; the task asks for eight that share the rows.",
                look_at=f"fk.footprint(*{{failed}}, tensor='{name}', by='warp', kind='store')",
            )
        return "among eight warps"

    return Group("Stores shared", run)


EXERCISE = puzzle(
    title="take the softmax of columns with eight threads per column",
    task="""
`y[:, n]` is the softmax of column n. Support any M and N ≥ 1 and the types float32, float16 and bfloat16;
compute in float32, in **two** passes. A warp reads 32 neighbouring elements of one row, and the eight warps
share the rows, as in `tile_columns` of week 1. The warps exchange the eight pairs (m, s) of a column through shared memory; choose the stride of its layout
with care. The tests use hard columns; a column of −∞ gives NaN. Signature: `online_columns(x, y)`.
""",
    hints=(
        "A thread handles column `tidx % 32` of the block, in row `tidx // 32` and every eighth row after it, and keeps one pair. Why is there nothing to shuffle?",
        "Allocate two shared tensors of (8, 32) words. After the barrier, each thread reads all eight pairs of its column, because each thread needs the result.",
        "A thread beyond the last column must also reach the barrier: the predicate surrounds the two loops over rows, but not the lines between them.",
    ),
    analysis="""
Merging the eight pairs in sequence keeps every thread busy: each thread merges the pairs of its own column, and
neighbouring threads read neighbouring words. The same operator works in a loop, across lanes, and through
shared memory.
""",
    asked={"work": "one block per 32 columns", "block": 256, "sharing": 8, "barriers": 1, "bank_conflicts": 0},
    entry="online_columns",
    inputs=lambda draw, m, n: (torch.empty(m, n, dtype=draw.dtype).copy_(
        hard_rows(draw, n, m, masked=True).T),),
    result=lambda x: x.softmax(0),
    sizes=[(4, 3), (31, 5), (1, 1), (200, 2), (7, 129), (65, 33), (9, 32), (33, 31)],
    count=[(24, 70), (150, 96)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda x, y: x.double().softmax(1), "the values are the softmax of rows."),
        looks_like(lambda x, y: _exp(x), "the exponentials are not divided by their sum."),
        looks_like(lambda x, y: x.double() - x.double().logsumexp(0), "the values are the logarithm "
                   "of the softmax."),
        looks_like(lambda x, y: torch.cat([x.double()[k::8].softmax(0) for k in range(8)])[
            torch.cat([torch.arange(len(x))[k::8] for k in range(8)]).argsort()], "the weights "
            "are those of each warp's own rows, as if the warps exchanged nothing: the weights of a column add up to 8, or less."),
        NAN_FROM_NOTHING,
    ],
    more=lambda make: (read_at_most(make, (24, 70), {0: 2}), _shared_stores(make)),
)  # fmt: skip
