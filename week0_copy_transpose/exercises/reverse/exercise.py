"""Exercise week0/reverse: an index computed backwards, and off by one if one is hasty."""

from forgekit.lessons.gates import Evidence, Misconception, looks_like
from forgekit.lessons.puzzle import puzzle


def _reads(shift: int) -> Misconception:
    """All threads that left x did so reading element n - 1 - i + shift."""
    says = {
        1: "off by one: thread i reads element n - i, and the last element is number n - 1.",
        -1: "off by one the other way: thread i reads element n - 2 - i, which for the last "
        "thread lies before the array.",
    }[shift]

    def when(e: Evidence) -> bool:
        o = e.error.overrun if e.error is not None else None
        return o is not None and bool((o.numbers == o.elements - 1 - o.threads + shift).all())

    return Misconception(says, when)


def _from_the_end(e: Evidence) -> bool:
    o = e.error.overrun if e.error is not None else None
    return o is not None and bool((o.numbers == -1 - o.threads).all())


EXERCISE = puzzle(
    title="reverse a vector",
    task="""
Write a kernel with `y[0] = x[n-1]`, `y[1] = x[n-2]`, … for any length. The cell below the
solution draws it for eight elements and asks for your prediction.
""",
    hints=(
        "Which element does thread `i` read, if it writes `y[i]`?",
        "For `n = 8`, thread 0 reads element 7 and thread 7 reads element 0.",
        "The two indexes of a thread always have the same sum. Which one, for n elements?",
    ),
    analysis="""
The predicate stays as it is: if `i` runs over 0 … n−1, so does `n − 1 − i`. With `mX[n - i]`, off
by one, thread 0 reads `mX[n]`: try it and read what the virtual GPU says.
""",
    entry="reverse",
    inputs=lambda draw, n: (draw.places(n),),
    result=lambda x: x.flip(0),
    sizes=[(8,), (1,), (128,), (2500,), (129,), (257,)],
    count=[(8,), (100_003,)],
    exact=True,
    misconceptions=[
        looks_like(lambda x, y: x, "the kernel still copies."),
        _reads(1),
        Misconception(
            "there is no counting from the end here, as Python's lists have it: index -1 lies "
            "before the array.",
            _from_the_end,
        ),
        _reads(-1),
    ],
)
