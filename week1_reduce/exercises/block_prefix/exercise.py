"""Puzzle week1/block_prefix: an inclusive prefix sum of a block, warp by warp."""

import torch

from forgekit.lessons.gates import GateError, Group, Submission, looks_like
from forgekit.lessons.gates.asked import FACTS
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _in_warps(x):
    return x.double().reshape(len(x), 8, 32).cumsum(2).reshape(len(x), 256)


def _exclusive(x):
    return x.double().cumsum(1) - x


def _by_shuffles(make) -> Group:
    """Return a group that counts shuffles: a prefix sum of 32 lanes takes five."""

    def run(submission: Submission) -> str:
        case = make(2, dtype=torch.float32)
        shuffles = FACTS["shuffles"].measure(submission.counted(case)[0])
        if shuffles < 5:
            raise GateError(
                f"A warp executes {shuffles:g} shuffles with {case.label}; the prefix sum of its 32 "
                "elements needs five.",
                look_at="Let the lanes of a warp exchange their sums by shuffles, and pass only "
                "the warps' totals through shared memory.",
            )
        return f"{shuffles:g} per warp"

    return Group("Shuffles in a warp", run)


EXERCISE = puzzle(
    title="compute prefix sums of a block",
    task="""
Compute the *inclusive prefix sum* of each row of 256 float32 elements: `y[m, i] = x[m, 0] + … +
x[m, i]`. Each warp uses shuffles for its 32 elements; then the eight warps exchange their
totals through shared memory.

Signature: `block_prefix(x, y)`.
""",
    hints=(
        "`cute.arch.shuffle_sync_up(value, offset=d)` gives lane i the value of lane i − d. Five "
        "steps, with d = 1, 2, 4, 8, 16, compute the prefix sum of 32 lanes.",
        "For a lane i < d there is no lane i − d. Such a lane keeps its value, but it still has "
        "to execute the shuffle.",
        "The last lane of each warp holds the warp's total. On the lines after the barrier, each "
        "thread adds the totals of the warps before its own.",
    ),
    analysis="""
Five steps of 32 additions replace 31 steps of one addition each: that makes more additions,
but far fewer steps. With eight totals, every thread can add those of the warps before its own; with 32
totals, one warp would scan them with shuffles.
""",
    asked={"work": "one block per row", "block": 256, "shared_bytes": 128},
    entry="block_prefix",
    inputs=lambda draw, m: (draw.fractions(m, 256),),
    result=lambda x: x.cumsum(1),
    sizes=[(1,), (2,), (5,), (3,), (4,)],
    count=[(2,), (200,)],
    misconceptions=[
        looks_like(lambda x, y: _in_warps(x), "each warp restarts at 0: the totals of the earlier warps are missing."),
        looks_like(lambda x, y: _exclusive(x), "each sum lacks its own element: this is the *exclusive* prefix sum."),
        looks_like(lambda x, y: x.double().flip(1).cumsum(1).flip(1), "the kernel adds up the "
        "elements to the *right*."),
        looks_like(lambda x, y: _in_warps(x) + torch.nn.functional.pad(
            x.double().reshape(len(x), 8, 32).sum(2), (1, 0))[:, :8].repeat_interleave(32, 1),
            "only the total of *one* earlier warp is added; add the totals of all earlier warps."),
    ],
    more=lambda make: (_by_shuffles(make),),
    given=picture(
        "inclusive prefix sum",
        {"x": [["3", "1", "4", "1", "5", "9"]], "y": [[("3", 0), ("4", 1), ("8", 2), ("9", 3), ("14", 4), ("23", 5)]]},
    ),
)  # fmt: skip
