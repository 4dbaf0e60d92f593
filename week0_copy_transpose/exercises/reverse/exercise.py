"""Exercise week0/reverse: an index that runs backwards, easily off by one."""

from forgekit.lessons.gates import Evidence, Misconception, looks_like
from forgekit.lessons.puzzle import puzzle


def _off_by(shift: int, verb: str) -> Misconception:
    """Return the misconception in which each out-of-bounds access is of element n - 1 - i + shift.

    verb: "reads" for accesses of mX, "writes" for those of mY."""
    says = {
        1: f"the index is off by one. Thread i {verb} element n - i, but the last element is n - 1.",
        -1: f"the index is off by one in the other direction. Thread i {verb} element n - 2 - i, which is before the array for the last thread.",
    }[shift]
    tensor = {"reads": "mX", "writes": "mY"}[verb]

    def when(e: Evidence) -> bool:
        o = e.error.overrun if e.error is not None else None
        if o is None or o.tensor != tensor:
            return False
        return bool((o.numbers == o.elements - 1 - o.threads + shift).all())

    return Misconception(says, when)


def _from_the_end(e: Evidence) -> bool:
    o = e.error.overrun if e.error is not None else None
    return o is not None and bool((o.numbers == -1 - o.threads).all())


EXERCISE = puzzle(
    title="reverse a vector",
    task="""
Write a kernel that stores `y[0] = x[n-1]`, `y[1] = x[n-2]`, and so on, for any length. A cell after
the grading cell draws what your kernel does with eight elements.
""",
    hints=(
        "If thread `i` writes `y[i]`, which element does it read?",
        "For `n = 8`, thread 0 reads element 7 and thread 7 reads element 0.",
        "The index that a thread reads and the index that it writes always have the same sum. "
        "What is that sum for n elements?",
    ),
    analysis="""
The predicate does not change, because `n − 1 − i` runs through the same numbers 0 to n − 1 as `i`.
The index `n - i` is off by one: with it, thread 0 reads `mX[n]`. Try it and read the virtual GPU's
message.
""",
    entry="reverse",
    inputs=lambda draw, n: (draw.places(n) if n < 9 else draw(n),),
    result=lambda x: x.flip(0),
    sizes=[(8,), (1,), (128,), (2500,), (129,), (257,)],
    count=[(8,), (150_003,)],
    exact=True,
    waste={"stored": 1.001},  # both halves of a pair may store the middle element
    misconceptions=[
        looks_like(lambda x, y: x, "y is equal to x, as after a copy."),
        _off_by(1, "reads"),
        _off_by(1, "writes"),
        Misconception(
            "a negative index does not count from the end, as it does in a Python list. Index -1 "
            "is before the array.",
            _from_the_end,
        ),
        _off_by(-1, "reads"),
        _off_by(-1, "writes"),
    ],
)
