"""Puzzle week1/fix_the_counter: a last block that fails silently in the second call."""

import torch

from forgekit.lessons.gates import FINITE_START, looks_like
from forgekit.lessons.puzzle import puzzle

from ..across_blocks import fenced


def _largest(x: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the maximum of each piece of 256 numbers, and of all numbers."""
    return torch.stack([piece.amax() for piece in x.split(256)]), x.amax(0, keepdim=True)


def _inputs(draw, n):
    """Return numbers, whose largest is in piece 32 if there is one, and a counter."""
    x = draw.extremes(1, n)[0]
    if n > 32 * 256:
        places = torch.tensor([int(x.argmax()), 32 * 256])
        x[places] = x[places.flip(0)]
    return x, torch.zeros(1, dtype=torch.int32)


EXERCISE = puzzle(
    title="fix the last block",
    task="""
This kernel finds the largest of `n` numbers, which may be infinite. Each block is one warp, which writes the maximum
of its 256 numbers into `part`; the last warp computes the maximum of all parts. `count[0]` is 0
before the first call, and the caller does not reset it between calls. Two things are missing
from the given lines: the sanitizer reports a race in the first call, and the second call would
store nothing. Add both.
""",
    hints=(
        "Which value does the counter have when the launch ends, and which value does the next "
        "launch expect?",
        "Without a fence, another block may see the atomic addition before it sees the store of "
        "the part.",
        "One thread of the last warp executes `mCount[0] = 0`. A fence, "
        "`cute.arch.fence_acq_rel_gpu()`, belongs both before and after the line that counts.",
    ),
    analysis="""
A block of one warp needs no shared memory, because `shuffle_sync(ticket, 0)` gives lane 0's
ticket to all lanes. A shuffle does not order memory accesses, but `sync_warp` makes everything
that lane 0 has seen visible to the other lanes. The fence before the counter ensures that a
block that sees the count also sees the part. The fence after the counter ensures that a block
reads parts only after it has counted. Without fences, a kernel may still pass every test on the
GPU where it was written.
""",
    entry="fix_the_counter",
    inputs=_inputs,
    result=_largest,
    sizes=[(256,), (1,), (1000,), (33,), (5000,), (257,), (1025,)],
    count=[(100,), (20_000,)],
    exact=True,
    misconceptions=[
        FINITE_START,
    ],
    more=lambda make: (fenced(make, (1000,)),),
    praise="The second call is right as well.",
)  # fmt: skip
