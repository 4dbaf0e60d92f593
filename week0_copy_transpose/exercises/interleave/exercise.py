"""Puzzle week0/interleave: neighbours in memory that come from two arrays."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import numbers, picture

PICTURE = picture(
    "a and b take turns",
    {
        "a": numbers(1, 4, "a"),
        "b": numbers(1, 4, "b"),
        "z": [[f"{name}{i}" for i in range(4) for name in "ab"]],
    },
    lambda text: "ab".index(text[0]),
)


def _woven(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.stack((a, b), 1).reshape(-1)


EXERCISE = puzzle(
    title="interleave two arrays",
    task="""
`z[2i] = a[i]` and `z[2i + 1] = b[i]`, for `a` and `b` of n elements and `z` of 2n. No sector of
memory may be asked for twice. The host function is called as `interleave(a, b, z)`.
""",
    hints=(
        "If thread i writes `z[2 * i]`, how far apart do the 32 lanes of a warp store? How many "
        "sectors is that, and how much of each is used?",
        "`04_copy_fast` had a remedy for elements that lie side by side and belong to one thread.",
        "Put the two values into a small tensor in registers, and store it as *one* vector of two "
        "elements: `zipped_divide` cuts z into such pairs, and `autovec_copy` stores one.",
    ),
    analysis="""
Two scalar stores ask for 8 sectors each and fill half of each; the vector asks for the same 8 once.
The other way is a thread for each element of z, which reads from a or from b: its stores are
coalesced, and each load asks for half a warp's sectors. It passes too, with twice the threads.
""",
    entry="interleave",
    given=PICTURE,
    inputs=lambda draw, n: (draw(n), draw(n)),
    result=_woven,
    sizes=[(4,), (1,), (33,), (128,), (1000,), (2500,), (127,), (257,)],
    count=[(1000,), (50_001,)],
    dtypes=("float32", "float16"),
    waste={"instructions": 3.5},
    misconceptions=[
        looks_like(lambda a, b, z: _woven(b, a), "a and b have changed places."),
        looks_like(lambda a, b, z: torch.cat((a, b)), "b stands behind a, not between."),
        looks_like(lambda a, b, z: _woven(a, a), "b is never read."),
    ],
)
