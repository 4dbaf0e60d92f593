"""Puzzle week0/ramp: a whole kernel from an empty body, launch included."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _ramp(size: torch.Tensor) -> torch.Tensor:
    return 5 + 3 * torch.arange(len(size), dtype=size.dtype)


EXERCISE = puzzle(
    title="write a ramp",
    task="""
Store `y[i] = 5 + 3 * i` for any length. Write the whole kernel, with its host function and launch.
It has no input, because thread `i` needs only its own number. Overwrite the values that `y` holds
before the call. (`cutlass.Float32(i)` converts an integer to `float32`; store the converted value.)
Signature: `ramp(y)`.
""",
    hints=(
        "The kernel answers three questions: which thread am I, does my element exist, and what "
        "do I store in it?",
        "The host function reads the length from `mY.shape[0]`, just as `guarded_copy` reads it "
        "from `mX`.",
        "The result is an integer, so convert it with `cutlass.Float32(…)` in the line that "
        "stores it.",
    ),
    analysis="""
The kernel reads no array, so it moves half as many bytes as a copy. A thread knows only its own
index, but often that is all it needs.
""",
    entry="ramp",
    inputs=lambda draw, n: (draw(n),),
    result=_ramp,
    sizes=[(8,), (1,), (128,), (2500,), (129,), (257,)],
    count=[(8,), (100_003,)],
    exact=True,
    in_place=True,
    misconceptions=[
        looks_like(lambda y: y, "in this call, y keeps its old values: the kernel stores nothing, or stores them again."),
        looks_like(lambda y: _ramp(y) - 5, "the kernel does not add 5."),
        looks_like(lambda y: 5 + torch.arange(len(y), dtype=y.dtype), "the kernel does not multiply the index of the element by 3."),
        looks_like(lambda y: 5 + 3 * (torch.arange(len(y), dtype=y.dtype) % 128),
                   "after every 128 elements, the values start again at 5: the index of a thread in "
                   "its block is not the index of its element."),
    ],
    praise="You have written a whole kernel from scratch.",
)  # fmt: skip
