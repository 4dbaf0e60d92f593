"""Puzzle week0/interleave: neighbours in memory that come from two arrays."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import numbers, picture

PICTURE = picture(
    "a and b alternate",
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
Store `z[2i] = a[i]` and `z[2i + 1] = b[i]`, where `a` and `b` have n elements and `z` has 2n.
Support float32 and float16, and request no sector of memory twice. Signature: `interleave(a, b, z)`.
""",
    hints=(
        "If thread i writes `z[2 * i]`, how far apart are the addresses of neighbouring lanes? "
        "How many sectors does such a store access, and how much of each does it use?",
        "`04_copy_fast` shows how a thread moves several adjacent elements with one access.",
        "Put the two values into a small tensor in registers, and store it as *one* vector of two "
        "elements. `zipped_divide` cuts z into such pairs, and `autovec_copy` stores one pair.",
    ),
    analysis="""
Each of two scalar stores would access 8 sectors and fill half of each, whereas one vector store
accesses the same 8 sectors only once. In another correct version, one thread per element of z reads
from a or from b. Its stores are coalesced, and each load fetches sectors for half of a warp. This
version also passes, with twice as many threads.
""",
    entry="interleave",
    given=PICTURE,
    inputs=lambda draw, n: (draw(n), draw(n)),
    result=_woven,
    sizes=[(4,), (1,), (33,), (128,), (1000,), (2500,), (127,), (257,)],
    count=[(1000,), (150_001,)],
    dtypes=("float32", "float16"),
    waste={"instructions": 3.5, "threads": 2},
    misconceptions=[
        looks_like(lambda a, b, z: _woven(b, a), "a and b are swapped."),
        looks_like(
            lambda a, b, z: torch.cat((a, b)), "b follows a instead of alternating with it."
        ),
        looks_like(lambda a, b, z: _woven(a, a), "z holds a[i] in place of b[i]."),
    ],
)
