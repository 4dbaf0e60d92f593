"""Exercise week1/what_lanes_get: what a lane has after a shuffle."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import answers

DOWN, TOP = "down by 8, lane 20", "down by 8, lane 30"
FLY, UP = "butterfly by 8, lane 13", "up by 2, lane 1"
LAST = "sum by down 16, 8, 4, 2, 1: lane 31"
ALL = "sum by butterfly 16, 8, 4, 2, 1: lane 31"
MASK = "member mask of lanes 0 to 5"

MISCONCEPTIONS = {
    (DOWN, 12): "down brings values down: lane i gets that of lane i + 8.",
    (TOP, 38): "there is no lane 38.",
    (TOP, 6): "lanes are not counted in a circle: there is no lane 38, and what then?",
    (TOP, 0): "nothing is put in: a lane without a source keeps something. What?",
    (FLY, 21): "a butterfly is no addition: lane i gets the value of lane i ^ 8, one bit turned over, "
    "and 13 has that bit.",
    (UP, -1): "there is no lane -1.",
    (UP, 31): "lanes are not counted in a circle.",
    (UP, 3): "up brings values up: lane i gets that of lane i - 2.",
    (UP, 0): "nothing is put in: a lane without a source keeps something. What?",
    (LAST, 496): "that is the sum, and lane 0 has it. Which lanes does lane 31 get anything from?",
    (LAST, 31): "lane 31 has no source in any of the five shuffles, so each gives it its own value, "
    "and that is added.",
    (ALL, 992): "that is what down gives. Lane 31 has a partner in each step of a butterfly.",
    (MASK, 5): "a mask is a bit for each lane, not a number of lanes.",
    (MASK, 6): "a mask is a bit for each lane, not a number of lanes.",
    (MASK, 31): "lanes 0 to 5 are six lanes.",
    (MASK, 64): "that is the bit of lane 6 alone.",
}  # fmt: skip

EXERCISE = Exercise(
    title="say what a lane gets",
    task="""
Lane k holds the number k. Which number does the shuffle give to the lane? For the two sums, a warp
adds what it gets to what it has, five times, and asked for is what the lane holds at the end. The
mask is a number with a bit for each lane.
""",
    hints=(
        "down: from lane i + offset; up: from lane i - offset; butterfly: from lane i ^ offset.",
        "A lane whose source does not exist gets its own value.",
        "Lane 31 gets its own value in each of the five shuffles down, and adds it: 31 is doubled "
        "how many times?",
    ),
    analysis="""
After a sum by *down* lane 0 alone has the sum; what the upper lanes hold is of no use, and it is not
zero. After a butterfly every lane has it, at the same price.
""",
    entry="gets",
    groups=(
        answers(
            {DOWN: 28, TOP: 30, FLY: 5, UP: 1, LAST: 992, ALL: 496, MASK: 63},
            MISCONCEPTIONS,
            name="Lanes",
            look_at="Which lane does the value come from, and is there such a lane?",
        ),
    ),
)
