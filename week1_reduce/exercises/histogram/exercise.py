"""Puzzle week1/histogram: 256 counters in shared memory, with atomics."""

import torch

from forgekit.lessons.gates import looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _histogram(x):
    counts = torch.zeros(len(x), 256, dtype=torch.int32)
    return counts.scatter_add_(1, x.long(), torch.ones(x.shape, dtype=torch.int32))


def _inputs(draw, m, n):
    """Return bytes, most of which are equal in every second longer row."""
    x = draw.integers(0, 256, m, n)
    x[::2, 256:] = 200  # more often than 8 or 16 bits count
    return (x,)


EXERCISE = puzzle(
    title="count bytes",
    task="""
`h[m, b]` is the number of times that the byte `b` occurs in row m of `x` (uint8), for any number of rows. `h` has shape
(M, 256) and type int32. Keep the counters in shared memory until the row is finished, then
store each counter once.

Signature: `histogram(x, h)`.
""",
    hints=(
        "There are three phases: clear the counters, count the bytes of the row, and store the "
        "counters. What belongs between two phases?",
        "Two threads may increment the same counter at the same time, so use "
        "`cute.arch.atomic_add(sH.iterator + b, cutlass.Int32(1))`.",
        "Convert a `uint8` element with `.to(cutlass.Int32)` before you use it as an index, on "
        "the line with the atomic addition.",
    ),
    analysis="""
Atomics on shared memory are fast as long as few lanes of a warp increment the same counter. If
a row repeats a single byte, all 32 lanes have to take turns. The usual fix is one set of
counters per warp, which the block adds up at the end.
""",
    asked={"work": "one block per row", "block": 256, "shared_bytes": 1024, "global_atomics": 0},
    entry="histogram",
    inputs=_inputs,
    result=_histogram,
    sizes=[(1, 4), (2, 1), (3, 255), (1, 70_016), (1, 1000), (2, 257), (3, 300), (2, 31)],
    count=[(2, 100), (20, 900), (1, 70_016), (1500, 7)],
    legal=lambda m, n: (m, min(n, max(1, 80_000 // m))),  # atomics take long
    dtypes=("uint8",),
    exact=True,
    misconceptions=[
        looks_like(lambda x, h: 2 * _histogram(x), "every byte is counted twice."),
        looks_like(lambda x, h: _histogram(x[:, :256]), "only the first 256 elements of a row are counted."),
    ],
    given=picture(
        "bytes 0 to 4 of 256",
        {"x": [[("3", 3), ("1", 1), ("3", 3), ("0", 0), ("3", 3)]], "h": [[("1", 0), ("1", 1), "0", ("3", 3), "0"]]},
    ),
    praise="256 counters, and no count lost.",
)  # fmt: skip
