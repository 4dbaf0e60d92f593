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
Each row has 128 elements. Compute `y[row, i] = x[row, i-1] + x[row, i] + x[row, i+1]`, where
elements outside the row count as 0. Load each element of `x` from global memory once, and read its
neighbours from shared memory. Write the whole kernel. Signature: `three_sums(x, y)`.
""",
    hints=(
        "As in `mirror`, each thread stores, waits and reads. Which elements that other threads "
        "stored does each thread read here?",
        "The first and the last thread of a row have only one neighbour. Begin with the thread's "
        "own element, and add each neighbour under its own predicate.",
        "All threads must reach the barrier, so put it before the first `if`.",
    ),
    analysis="""
Without shared memory, the kernel would load each element three times. A cache would serve two of
these loads, but each of them is still an instruction and a request, and the profile counts both.
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
        looks_like(lambda x, y: x.roll(1, 1) + x + x.roll(-1, 1), "the kernel treats the row as a ring, but the two ends of a row are not neighbours."),
    ],
    praise="Each element is loaded once and used three times.",
)  # fmt: skip
