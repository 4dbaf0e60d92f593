"""Puzzle week0/add_arrays: one element per thread, from three arrays."""

from typing import Any

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..practice import numbers, picture, special

PICTURE = picture(
    "cells of one colour belong to one thread",
    {
        "a": numbers(1, 8, "a"),
        "b": numbers(1, 8, "b"),
        "z": [[f"a{i} + b{i}" for i in range(8)]],
    },
    lambda text: int(text[-1]),
)


def _inputs(draw: Any, n: int) -> tuple[Any, Any]:
    """Return arrays with zeros, at different positions."""
    a, b = special(draw(n)), draw(n)
    a[2::11], b[5::11] = 0, 0
    return a, b


EXERCISE = puzzle(
    title="add two arrays",
    task="""
Compute `z[i] = a[i] + b[i]` for three arrays of any common length, in float32 and float16.
Signature: `add_arrays(a, b, z)`.
""",
    hints=(
        "You need a kernel for the threads and a host function for the launch, as in `scale`.",
        "How many blocks of 128 threads do n elements need? Which threads have no element?",
        "Launch `cute.ceil_div(n, 128)` blocks. Put the predicate before the first access to any "
        "of the three arrays.",
    ),
    analysis="""
The kernel moves twelve bytes per element in float32 but does only one addition, so on any GPU it
waits for memory. No version can take less time than reading `a` and `b` once and writing `z` once.
""",
    entry="add_arrays",
    given=PICTURE,
    inputs=_inputs,
    result=lambda a, b: a + b,
    sizes=[(8,), (1,), (128,), (1000,), (2500,), (129,), (257,)],
    count=[(100,), (100_003,)],
    dtypes=("float32", "float16"),
    misconceptions=[
        looks_like(lambda a, b, z: a, "z is equal to a, so b is not added."),
        looks_like(lambda a, b, z: a - b, "b is subtracted."),
        looks_like(lambda a, b, z: a * b, "the elements are multiplied."),
    ],
    praise="You have written a whole kernel from scratch.",
)
