"""Puzzle week1/two_largest: a reduction whose values are pairs."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, m, n):
    x = draw.extremes(m, n)
    if n > 31:  # the largest stands in every second row twice, for two lanes
        x[::2, 5] = x[::2, n - 7] = x[::2].max(1).values + 1
    return (x,)


EXERCISE = puzzle(
    title="find the two largest",
    task="""
The largest and the second largest element of each row, into `y[m, 0]` and `y[m, 1]`. If the largest stands
in the row twice, both are that number. Rows have two elements at least;
float32. `two_largest(x, y)`.
""",
    hints=(
        "What does a lane have to remember of the elements that it has seen, so that nothing is lost?",
        "Two pairs are merged: the larger of the two firsts is first. Which two numbers can be second?",
        "The second is the larger of the smaller first and the larger second: in the line after the "
        "shuffles you need both firsts as they were.",
    ),
    analysis="""
A pair with this merge is associative and commutative, with the identity (−∞, −∞): all that a tree needs.
Top-k for small k is the same with more numbers a lane.
""",
    asked={"work": "one warp per row"},
    entry="two_largest",
    inputs=_inputs,
    result=lambda x: x.topk(2, 1).values,
    sizes=[(3, 4), (1, 2), (5, 31), (3, 33), (2, 1001), (9, 65), (3, 100)],
    count=[(5, 100), (203, 300)],
    legal=lambda m, n: (m, max(2, n)),
    exact=True,
    misconceptions=[
        looks_like(lambda x, y: x.max(1, keepdim=True).values.expand(-1, 2), "the largest stands in both "
                   "places: it is merged with itself."),
    ],
    given=picture(
        "largest and second largest",
        {"x": [["4", ("9", 0), "1", ("7", 1)], [("5", 0), "2", ("5", 1), "3"]], "y": [[("9", 0), ("7", 1)], [("5", 0), ("5", 1)]]},
    ),
)  # fmt: skip
