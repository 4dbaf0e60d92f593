"""Puzzle week1/fix_the_counter: a last block that is wrong at the second call, and in silence."""

import torch

from forgekit.lessons.gates import FINITE_START, looks_like
from forgekit.lessons.puzzle import puzzle

from ..across_blocks import fenced


def _largest(x: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each piece of 256, and of all."""
    return torch.stack([piece.amax() for piece in x.split(256)]), x.amax(0, keepdim=True)


EXERCISE = puzzle(
    title="fix the last block",
    task="""
The largest of `n` numbers: each warp writes the maximum of its 256 numbers into `part`, and the
last one takes the maximum of all parts. `count[0]` is 0 before the first call, and nobody sets it
to 0 between calls. Two things are missing in the lines given: a second call gives nothing, and on
a GPU the first may give too little. The sanitizer finds neither in a single call.
""",
    hints=(
        "What does the counter hold when the launch ends, and what does the next launch compare?",
        "Between a store and an atomic addition nothing says which of them other blocks see first.",
        "The line `mCount[0] = 0` is for one thread of the last warp. A fence, "
        "`cute.arch.fence_acq_rel_gpu()`, belongs on either side of the line that counts.",
    ),
    analysis="""
Blocks of one warp need no shared memory: `shuffle_sync` hands the number to all lanes, and as a
shuffle orders no memory, `sync_warp` makes what lane 0 has seen known to them. The fence before
the counter says: whoever sees me counted sees my part. The one behind it says: I look at parts
only after I have counted. Many kernels work for months without them, on the GPU they were written
on.
""",
    entry="fix_the_counter",
    inputs=lambda draw, n: (draw.extremes(1, n)[0], torch.zeros(1, dtype=torch.int32)),
    result=_largest,
    sizes=[(256,), (1,), (1000,), (33,), (5000,), (1025,)],
    count=[(100,), (20_000,)],
    exact=True,
    misconceptions=[
        FINITE_START,
    ],
    more=lambda make: (fenced(make, (1000,)),),
    praise="Right the second time, too.",
)  # fmt: skip
