"""Puzzle week1/histogram: 256 counters in shared memory, with atomics."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _histogram(x):
    return (x.unsqueeze(2) == __import__("torch").arange(256)).sum(1).int()


EXERCISE = puzzle(
    title="count bytes",
    task="""
`h[m, b]` is how often the byte `b` stands in row m of `x` (uint8); `h` is int32, (M, 256).
The counters live in shared memory until the row is done, and then each is
stored once. `histogram(x, h)`.
""",
    hints=(
        "Three phases: the counters become 0, the row is counted, the counters are stored. What stands "
        "between two phases?",
        "Two threads may want the same counter at the same time: `cute.arch.atomic_add(sH.iterator + b, "
        "cutlass.Int32(1))`.",
        "An element of `uint8` is a number only after `.to(cutlass.Int32)`; that is the index in the line "
        "with the atomic.",
    ),
    analysis="""
Atomics on shared memory are fast as long as few lanes of a warp want the same counter; a row of one
byte only makes 32 of them take turns. A counter for each warp, added up at the end, is the usual cure.
""",
    asked={"work": "one block per row", "block": 256, "shared_bytes": 1024, "global_atomics": 0},
    entry="histogram",
    inputs=lambda draw, m, n: (draw.integers(0, 256, m, n),),
    result=_histogram,
    sizes=[(1, 4), (2, 1), (3, 255), (2, 257), (1, 1000), (3, 300), (2, 31)],
    count=[(2, 100), (20, 900)],
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
    praise="256 counters, and nobody lost a count.",
)  # fmt: skip
