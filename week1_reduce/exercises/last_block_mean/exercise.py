"""Puzzle week1/last_block_mean: parts and their mean in one launch, computed by the last block."""

import re

import numpy as np
import torch

from forgekit.lessons.gates import GateError, Group, Submission, looks_like
from forgekit.lessons.puzzle import puzzle

from ..across_blocks import fenced
from ..shares import shared


def _means(x: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sums of pieces of 1,024 columns, and the mean of each row."""
    parts = torch.stack([piece.sum(1) for piece in x.split(1024, dim=1)], dim=1)
    return parts, x.mean(1)


def _no_idle_threads(block: np.ndarray, thread: np.ndarray) -> str:
    loading = len(np.unique(thread))
    return f"only {loading} of a block's 256 threads load elements." if loading < 256 else ""


def _always_the_same(make) -> Group:
    """Return a group in which a different block is last in each run, and no bit may differ."""

    def run(submission: Submission) -> str:
        from forgekit.checking.sanitize import in_another_order

        case = make(1, 100_000, dtype=torch.float32)  # the parts occupy several warps
        kernel, args = submission.compiled(case), tuple(submission.arguments(case).values())
        for k in range(0, 96 * 1024, 32 * 1024):  # large parts absorb digits of others
            args[0][:, k : k + 1024] *= 4096.0 * 64 ** (k // (32 * 1024))
            args[0][:, k + 1024 : k + 2048] = -args[0][:, k : k + 1024]
        (first, _), *others = (in_another_order(kernel, args, [], seed) for seed in range(4))
        for after, _ in others:
            if torch.equal(after[2], first[2]) and not torch.equal(after[3], first[3]):
                row = int((after[3] != first[3]).nonzero()[0])
                atomic = re.search(r"(atom|red)\.\S*add\.\S*f32", kernel.ptx)
                raise GateError(
                    f"With {case.label}, y[{row}] is {first[3][row]:.9g} in one order of the blocks "
                    f"and threads, and {after[3][row]:.9g} in another; all parts are the same.",
                    "atomic additions of floats happen in any order, and the sum depends on it."
                    if atomic
                    else "the order in which the parts are added depends on the order of the blocks.",
                )
        return "equal in 4 orders of the blocks"

    return Group("Always the same", run)


EXERCISE = puzzle(
    title="let the last block compute the mean",
    task="""
Compute the mean of each row, for a few float32 rows of any length. Each block writes the sum of
1,024 columns into `part[row, piece]` and adds 1 to `count[row]`, which is 0 before the launch
and must be 0 after it. The last block of a row adds up the parts in parallel, in an order that
does not depend on which block is last. `part` has one column per piece.

Signature: `last_block_mean(x, count, part, y)`.
""",
    hints=(
        "Store the part, then count: `cute.arch.atomic_add(pointer, Int32(1))` returns the "
        "previous value. Which number does the last block receive?",
        "One thread counts, but all 256 threads need the result, so this thread writes its "
        "ticket to shared memory before a barrier.",
        "`cute.arch.fence_acq_rel_gpu()` belongs in two places: between the store of the part and "
        "the counter, and between the counter and the loads of the parts. The last block resets "
        "the counter on the line after its store.",
    ),
    analysis="""
The order of the parts is fixed, so the result is deterministic even though a different block may
be last each time. No block ever waits for another, so the number of blocks that run at the same
time does not matter.
""",
    asked={
        "blocks": ("one block per 1,024 columns of a row", lambda m, n: m * -(-n // 1024)),
        "block": 256,
        "sharing": 8,
        "launches": 1,
    },
    entry="last_block_mean",
    inputs=lambda draw, m, n: (
        draw.fractions(m, n),
        torch.zeros(m, dtype=torch.int32),
    ),
    result=_means,
    sizes=[(1, 1024), (1, 1025), (3, 1), (2, 1000), (7, 33), (1, 5000), (3, 2049)],
    count=[(1, 1025), (1, 264_000), (4, 9_000)],
    misconceptions=[
        looks_like(lambda x, count, part, y: torch.stack([p[:, :256].double().sum(1) for p in
                                                          x.split(1024, dim=1)], 1),
                   "the sum of a piece covers only its first 256 columns."),
        looks_like(lambda x, count, part, y: (None, x.double().sum(1)),
                   "y holds the sum of the row; divide it by the number of columns."),
        looks_like(lambda x, count, part, y: (None, x[:, : 256 * 1024].double().sum(1) / x.shape[1]),
                   "y includes only the first 256 pieces."),
    ],
    more=lambda make: (
        fenced(make, (1, 2048)), _always_the_same(make),
        shared(make, (1, 1024), "thread", _no_idle_threads),
    ),
)  # fmt: skip
