"""Puzzle week1/count_equal: count by adding ones."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _zeros(x, v, y):
    """Return the zeros of each row, if there are any, because all counts may be 0 for other
    reasons."""
    if not (x == 0).any():
        raise ValueError("not this case")
    return (x == 0).sum(1).int()


def _inputs(draw, m, n):
    """Return integers, some of them negative, that float32 or 16-bit types cannot tell apart."""
    base = (0, 2**24, -(2**24))[(n > 4) * (1 + m % 2)]
    x = base + draw.integers(0, 4, m, n)
    x[:, 3::5] += 65_536
    x[:, 2::7] *= -1
    past = {2: -(2**31), 3: 0, 31: 2**31 - 1, 33: -1}  # likely values past a row's end
    v = past.get(n, base + (m + n) % 4)
    if n in past and n > 3:
        x[:, ::4] = v
    x[:, 5::13], x[:, 6::13] = v ^ 1 << 30, v - 2**31 if v >= 0 else v + 2**31  # one bit differs
    if n > 65_536:  # more equal elements than 16 bits can count
        x[:, 4:] = v
    return x, v


EXERCISE = puzzle(
    title="count equal elements",
    task="""
Count the elements of each row that equal `v`. `x` and the counts are int32, and `v` is a single
number. There may be any number of rows, of any length.

Signature: `count_equal(x, v, y)`; the host function is `count_equal(mX, v: cutlass.Int32, mY)`.
""",
    hints=(
        "Counting is an integer sum of ones and zeros.",
        "With four rows per block, the last block may have warps without a row. Which lanes must "
        "not read, and which must not store?",
        "All lanes of a warp share a row, so a whole warp without a row may skip its loads. The "
        "lanes of one warp take different branches only at the end of a row, and even there "
        "every lane has to reach the line with the reduction.",
    ),
    analysis="""
Integer sums are the same in every order, so a count is always deterministic. A float32 count
would stop growing at 2²⁴. A warp could also vote once per 32 elements, with `vote_ballot_sync`
and a count of the bits. But for a whole row it takes fewer instructions if each lane adds once
per element and the warp reduces once, at the end.
""",
    asked={"work": "one warp per row", "floats": 0},
    entry="count_equal",
    inputs=_inputs,
    result=lambda x, v: (x == v).sum(1).int(),
    sizes=[(5, 4), (1, 1), (5, 31), (4, 1000), (7, 33), (1, 70_000), (9, 100), (3, 64), (2, 2), (3, 3)],
    count=[(5, 100), (192, 300)],
    dtypes=("int32",),
    exact=True,
    misconceptions=[
        looks_like(lambda x, v, y: (x != v).sum(1).int(), "the kernel counts the elements that "
        "are *not* equal to v."),
        looks_like(_zeros, "the kernel counts zeros instead of v."),
        looks_like(lambda x, v, y: x.sum(1).int(), "the elements are added up, not counted."),
        looks_like(lambda x, v, y: (x == v)[:, :32].sum(1).int(), "only the first 32 elements of a row are counted."),
    ],
    given=picture(
        "v = 2",
        {"x": [[("2", 0), "1", ("2", 0), "0"], ["3", "1", ("2", 1), "1"]], "y": [[("2", 0)], [("1", 1)]]},
    ),
    praise="Counted, in any order.",
)  # fmt: skip
