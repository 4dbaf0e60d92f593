"""Exercise week1/what_lanes_get: the value that a lane has after a shuffle."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import answers

DOWN, TOP = "down by 8, lane 20", "down by 8, lane 30"
FLY, UP = "butterfly by 8, lane 13", "up by 2, lane 1"
LAST = "sum by down 16, 8, 4, 2, 1: lane 31"
ALL = "sum by butterfly 16, 8, 4, 2, 1: lane 31"
MASK = "member mask of lanes 0 to 5"

MISCONCEPTIONS = {
    (DOWN, 12): "down moves values down: lane i receives the value of lane i + 8.",
    (TOP, 38): "there is no lane 38.",
    (TOP, 6): "lane numbers do not wrap around, and there is no lane 38. Which value does lane 30 receive?",
    (TOP, 0): "the shuffle inserts no zeros. Which value does a lane without a source get?",
    (FLY, 21): "a butterfly does not add: lane i receives the value of lane i ^ 8. This flips one "
    "bit, which is set in 13.",
    (UP, -1): "there is no lane -1.",
    (UP, 31): "lane numbers do not wrap around.",
    (UP, 3): "up moves values up: lane i receives the value of lane i - 2.",
    (UP, 0): "the shuffle inserts no zeros. Which value does a lane without a source get?",
    (LAST, 496): "that is the sum, which only lane 0 holds. Which lanes does lane 31 read from?",
    (LAST, 31): "lane 31 has no source in any of the five shuffles, so it receives its own value each "
    "time and adds it.",
    (ALL, 992): "that is the result of down. In a butterfly, lane 31 has a partner in each step.",
    (MASK, 5): "a mask has one bit per lane; it is not a number of lanes.",
    (MASK, 6): "a mask has one bit per lane; it is not a number of lanes.",
    (MASK, 31): "lanes 0 to 5 are six lanes.",
    (MASK, 64): "that is only the bit of lane 6.",
}  # fmt: skip

EXERCISE = Exercise(
    title="predict the result of a shuffle",
    task="""
Lane k holds the number k. Which number does the named lane receive from the shuffle? For the
two sums, every lane adds the value that it receives in each of five steps. Which number does
the named lane hold at the end? In a member mask, bit k represents lane k.
""",
    hints=(
        "Lane i reads from lane i + offset (down), i - offset (up) or i ^ offset (butterfly).",
        "A lane whose source does not exist receives its own value.",
        "In each of the five shuffles down, lane 31 receives its own value and adds it. How many "
        "times does that double 31?",
    ),
    analysis="""
After the five shuffles *down*, only lane 0 holds the sum; the upper lanes hold meaningless
numbers, not zeros. After a butterfly, every lane holds the sum, at the same cost.
""",
    entry="gets",
    groups=(
        answers(
            {DOWN: 28, TOP: 30, FLY: 5, UP: 1, LAST: 992, ALL: 496, MASK: 63},
            MISCONCEPTIONS,
            name="Lanes",
            look_at="Which lane does the value come from, and does that lane exist?",
        ),
    ),
)
