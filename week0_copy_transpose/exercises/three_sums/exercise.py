"""Puzzle week0/three_sums: neighbours through shared memory, with a barrier and two edges."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle


def _shifted(x, by):
    out = x.roll(by, 1)
    out[:, :by] = 0
    return out


def _sums(x):
    right = x.roll(-1, 1)
    right[:, -1] = 0
    return _shifted(x, 1) + x + right


EXERCISE = puzzle(
    title="add three neighbours",
    task="""
Rows of 128 elements; `y[row, i] = x[row, i-1] + x[row, i] + x[row, i+1]`, where what lies outside of
the row counts as 0. Each element of `x` is loaded from global memory
once, and the neighbours come from shared memory. Write all of it:
`three_sums(x, y)`.
""",
    hints=(
        "As in `mirror`: store, wait, read. What does a thread read here that others have stored?",
        "The first and the last thread of a row have one neighbour less: begin with the thread's "
        "own element, and add each neighbour behind a predicate of its own.",
        "All threads have to come to the barrier: it stands before the first `if`.",
    ),
    analysis="""
Without shared memory each element would be loaded three times. A cache would answer two of them,
but each is an instruction and a request; the profile counts them.
""",
    asked={"work": "one block per row", "block": 128, "barriers": 1, "shared_bytes": 512},
    entry="three_sums",
    inputs=lambda draw, rows: (draw(rows, 128),),
    result=_sums,
    sizes=[(1,), (2,), (7,), (5,), (3,)],
    count=[(2,), (300,)],
    misconceptions=[
        looks_like(lambda x, y: x, "only the element itself is stored."),
        looks_like(lambda x, y: _shifted(x, 1) + x, "the right neighbour is missing."),
        looks_like(lambda x, y: _sums(x) - _shifted(x, 1), "the left neighbour is missing."),
        looks_like(lambda x, y: x.roll(1, 1) + x + x.roll(-1, 1), "the row is taken for a ring: "
                   "its two ends are no neighbours."),
    ],
    praise="Each element loaded once, and used three times.",
)  # fmt: skip
