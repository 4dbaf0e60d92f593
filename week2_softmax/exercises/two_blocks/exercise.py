"""Puzzle week2/two_blocks: two blocks share a row and exchange their statistics."""

import torch

from forgekit.lessons.gates import Misconception, found, looks_like
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows
from ..staged import announced


def _alone(x: torch.Tensor) -> torch.Tensor:
    """Return the result if each block's half forms a separate row."""
    return torch.cat([half.double().softmax(1) for half in x.split(256, 1)], 1)


EXERCISE = puzzle(
    title="share a row between two blocks",
    task="""
Compute the softmax of each row of x, in float32, for rows of up to 512 elements in whole vectors of four. Each
thread keeps one vector in registers: thread `t` of the block of rank `r` can take vector `64 r + t`. Each of the four
warps sends its pair (m, s) to *both* blocks with `store_async_dsmem`, and an mbarrier in each block counts the
bytes that arrive. Read each element once, write it once, and exchange the pairs once. The kernel requires
compute capability 9.0 or later. Signature: `two_blocks(x, y)`.
""",
    hints=(
        "Every thread needs the row's m and s in the end, so each block has its own mailbox and "
        "mbarrier. How many bytes arrive at each?",
        "After initialising the mbarrier, and before the first store to the other block, call the fence and `cluster_arrive_relaxed()`, do the work that a block can do alone, and call `cluster_wait()`.",
        "In the line that sends the pair, lane r of each warp sends to rank r. A warp without any elements has m = -inf, so subtract 0 there.",
    ),
    analysis="""
Each of the two blocks receives four pairs, or 32 bytes. The kernel has one wait, no barrier within a block, and
no second cluster barrier: a block exits when all of its pairs have arrived. Production kernels look the same,
with 8 or 16 blocks and more vectors per thread.
""",
    asked={
        "work": "one cluster per row",
        "cluster": 2,
        "block": 64,
        "barriers": 0,
        "cluster_barriers": 1,
        "load_bytes": 16,
    },
    entry="two_blocks",
    inputs=lambda draw, m, n: (hard_rows(draw, m, n),),
    result=lambda x: x.softmax(1),
    sizes=[(1, 512), (2, 500), (3, 4), (5, 132), (7, 256), (6, 388)],
    count=[(3, 256), (40, 500)],
    legal=lambda m, n: (m, min(512, max(4, n // 4 * 4))),
    promise={0: {1: 4}, 1: {1: 4}},
    misconceptions=[
        looks_like(lambda x, y: _alone(x), "each block computes a softmax of its own half: the other "
                   "block's pair is missing."),
        looks_like(lambda x, y: x.double().softmax(1) / 2, "the sum is twice as large as it should be."),
        looks_like(lambda x, y: (x.double() - x.double().amax(1, keepdim=True)).exp(), "nothing is "
                   "divided by the sum."),
        found("deadlock", "an mbarrier waits for bytes or arrivals that never come: each block receives four pairs of 8 "
              "bytes, and one of its threads arrives."),
        Misconception("a pair may be sent only after the other block has started and initialised its "
             "mbarrier: call cluster_arrive and cluster_wait first.",
             lambda e: e.kinds[0] == "block-lifetime"),
        Misconception("a pair is read before it has arrived: the mbarrier has to expect the bytes of all "
             "four pairs, and every reader has to wait for it.", lambda e: e.kinds[0] == "async-copy"),
        found("uninitialised-shared", "the kernel reads a slot that no warp "
              "has written: each of the four warps has its own slot, chosen by rank and warp."),
        Misconception("rows of 512 and 500 elements are correct. In this row, whole warps have no elements, their maximum is -inf, "
             "and -inf - (-inf) is NaN.",
             lambda e: not e.kinds and e.case.args[0].shape[1] <= 384 and e.got[1].isnan().all()),
    ],
    more=lambda make: (announced(make, (2, 512)),),
    arch="sm_90a",
)  # fmt: skip
