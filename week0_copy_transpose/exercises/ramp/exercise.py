"""Puzzle week0/ramp: a whole kernel from an empty body, launch included."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _ramp(size: torch.Tensor) -> torch.Tensor:
    return 5 + 3 * torch.arange(len(size), dtype=size.dtype)


EXERCISE = puzzle(
    title="write a ramp",
    task="""
`y[i] = 5 + 3 * i` for any length, and this time the whole kernel is yours, host function and
launch included. It has no input: thread `i` knows its number, and that is enough. `y` already
holds something, which is to be overwritten. (`cutlass.Float32(i)` makes a `float32` of a whole
number; store that.)
""",
    hints=(
        "Three things in the kernel: which thread am I, have I an element, what do I store in it?",
        "The host function takes the length from `mY.shape[0]`, as `guarded_copy` took it from "
        "`mX`.",
        "The number is to be converted before it is stored, for `i` is an integer: the line with "
        "the store holds `cutlass.Float32(…)`.",
    ),
    analysis="""
Nothing is read, so this kernel moves half of what a copy moves. The index is all a thread knows of
itself, and often all it needs.
""",
    entry="ramp",
    inputs=lambda draw, n: (draw(n),),
    result=_ramp,
    sizes=[(8,), (1,), (128,), (2500,), (129,), (257,)],
    count=[(8,), (100_003,)],
    in_place=True,
    misconceptions=[
        looks_like(lambda y: y, "nothing is stored, or what was there is stored again."),
        looks_like(lambda y: _ramp(y) - 5, "5 is not added."),
        looks_like(lambda y: 5 + torch.arange(len(y), dtype=y.dtype), "the number of the element "
                   "is not multiplied by 3."),
        looks_like(lambda y: 5 + 3 * (torch.arange(len(y), dtype=y.dtype) % 128),
                   "every block begins again at 5: the number of a thread within its block is not "
                   "the number of its element."),
    ],
    praise="A whole kernel, from nothing.",
)  # fmt: skip
