"""Puzzle week2/two_blocks: two blocks share a row and exchange their statistics."""

import torch

from forgekit.lessons.gates import GateError, Group, Misconception, found, looks_like
from forgekit.lessons.puzzle import puzzle

from ..rows import hard_rows
from ..staged import UNPUBLISHED


def _alone(x: torch.Tensor) -> torch.Tensor:
    """Return the result if each block's half forms a separate row."""
    return torch.cat([half.double().softmax(1) for half in x.split(256, 1)], 1)


def _inputs(draw, m, n):
    """Return hard rows, of which the third begins with -inf, for all lanes of a warp, and every fifth
    ends with an element far above the others."""
    x = hard_rows(draw, m, n, spread=False)
    x[4::5, -1] += 200
    if n > 128:
        x[2:3, :128] = -torch.inf
    return (x,)


def _sent(make, size):
    """Check that eight stores per row exchange the pairs, or 16 if m and s travel separately."""

    def run(submission):
        case = submission.case(make, size, "float32")
        profile, _ = submission.counted(case)
        sent = sum(
            i["thread_instructions"] for line in profile.all_lines for i in line.instructions
            if i.text.startswith("st.async")
        ) / size[0]  # fmt: skip
        waits = submission.compiled(case).ptx.count("mbarrier.try_wait")
        if not sent <= (16 if waits == 1 else 8):
            raise GateError(
                f"With {case.label}, `store_async_dsmem` stores {sent:,.0f} times per row, and the PTX "
                f"waits for an mbarrier in {waits} place{'s' * (waits > 1)}; the task asks for one "
                "exchange of four pairs, each sent to two blocks, which means 8 stores."
            )
        return f"{sent:,.0f} stores per row"

    return Group("Exchanged once", run)


EXERCISE = puzzle(
    title="share a row between two blocks",
    task="""
Compute the softmax of each row of x, in float32, for rows of up to 512 elements in whole vectors of four. Some
elements are −∞, but not all elements of a row. Each
thread keeps one vector in registers: thread `t` of the block of rank `r` can take vector `64 r + t`. Each of the four
warps sends its pair (m, s) to *both* blocks with `store_async_dsmem`, and an mbarrier in each block counts the
bytes that arrive. Read each element once, write it once, and exchange the pairs once. The kernel requires
compute capability 9.0 or later. Signature: `two_blocks(x, y)`.
""",
    hints=(
        "Every thread needs the row's m and s in the end, so each block has its own mailbox and "
        "mbarrier. How many bytes arrive at each?",
        "After initialising the mbarrier, and before the first store to the other block, call the fence and `cluster_arrive_relaxed()`, do the work that a block can do alone, and call `cluster_wait()`.",
        "In the line that sends the pair, lane r of each warp sends to rank r. A warp without elements, or with -inf only, has m = -inf, so subtract 0 there.",
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
        "block_barriers": 0,
        "cluster_barriers": 1,
        "load_bytes": 16,
    },
    entry="two_blocks",
    inputs=_inputs,
    result=lambda x: x.softmax(1),
    sizes=[(1, 512), (2, 500), (3, 4), (5, 132), (7, 256), (6, 388), (3, 500)],
    count=[(3, 256), (40, 500)],
    legal=lambda m, n: (m, min(512, max(4, n // 4 * 4))),
    promise={0: {1: 4}, 1: {1: 4}},
    misconceptions=[
        UNPUBLISHED,
        looks_like(lambda x, y: _alone(x), "each block computes a softmax of its own half: the other "
                   "block's pair is missing."),
        looks_like(lambda x, y: x.double().softmax(1) / 2, "the sum is twice as large as it should be."),
        looks_like(lambda x, y: (x.double() - x.double().amax(1, keepdim=True)).exp(), "nothing is "
                   "divided by the sum."),
        found("deadlock", "an mbarrier waits for bytes or arrivals that never come, or receives more than it expects: each block must receive four pairs of 8 "
              "bytes, and one of its threads arrives."),
        Misconception("a pair may be sent only after the other block has started and initialised its "
             "mbarrier: call cluster_arrive and cluster_wait first.",
             lambda e: e.kinds[0] == "block-lifetime"),
        Misconception("a pair is read before it has arrived, or two are sent to one slot. Each pair needs its own slot, the mbarrier "
             "has to expect the bytes of all four pairs, and every reader has to wait for it.", lambda e: e.kinds[0] == "async-copy"),
        found("uninitialised-shared", "the kernel reads a slot before a pair is in it. Each of the four warps needs "
              "its own slot, chosen by rank and warp, and must send its pair to both blocks."),
        Misconception("whole warps have no elements of this row, their maximum is -inf, and -inf - (-inf) is NaN.",
             lambda e: not e.kinds and e.case.args[0].shape[1] <= 384 and e.got[1].isnan().all()),
    ],
    more=lambda make: (_sent(make, (2, 512)),),
    arch="sm_90a",
)  # fmt: skip
