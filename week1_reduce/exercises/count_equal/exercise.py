"""Puzzle week1/count_equal: counting is adding ones, and a warp can vote."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, m, n):
    """Numbers that float32 does not tell apart, and others that 16 bits do not; some below 0."""
    base = (0, 2**24, -(2**24))[(n > 4) * (1 + m % 2)]
    x = base + draw.integers(0, 4, m, n)
    x[:, 3::5] += 65_536
    return x, base + (m + n) % 4


EXERCISE = puzzle(
    title="count what is equal",
    task="""
How many elements of each row equal `v`? `x` and the result are int32, and `v` is a number: the host
function is `count_equal(mX, v: cutlass.Int32, mY)`. Rows of any
length, and any number of them.
""",
    hints=(
        "Counting is a sum of ones and zeros, over integers.",
        "With four rows a block the last block may have rows too many: which lanes may not read, and which "
        "may not store?",
        "Every lane of a warp takes part in the shuffles; so the predicate of the row guards the loop's "
        "bounds or the loads, and not the line of the reduction.",
    ),
    analysis="""
Integers add up to the same in every order: a count is deterministic whatever one does. A warp could
also vote, `vote_ballot_sync` and a count of the bits, once for 32 elements; for a whole row it is more
instructions than one addition a lane, and one reduction at the end.
""",
    asked={"work": "one warp per row"},
    entry="count_equal",
    inputs=_inputs,
    result=lambda x, v: (x == v).sum(1).int(),
    sizes=[(2, 4), (1, 1), (5, 31), (7, 33), (4, 1000), (9, 100), (3, 64)],
    count=[(5, 100), (203, 300)],
    dtypes=("int32",),
    exact=True,
    misconceptions=[
        looks_like(lambda x, v, y: (x != v).sum(1).int(), "what is counted is what is *not* equal to v."),
        looks_like(lambda x, v, y: (x == 0).sum(1).int(), "what is counted is the zeros, not v."),
        looks_like(lambda x, v, y: x.sum(1).int(), "the elements are added up, not counted."),
        looks_like(lambda x, v, y: (x == v)[:, :32].sum(1).int(), "only the first 32 elements of a row are counted."),
    ],
    given=picture(
        "v = 2",
        {"x": [[("2", 0), "1", ("2", 0), "0"], ["3", "1", ("2", 1), "1"]], "y": [[("2", 0)], [("1", 1)]]},
    ),
    praise="Counted, in any order.",
)  # fmt: skip
