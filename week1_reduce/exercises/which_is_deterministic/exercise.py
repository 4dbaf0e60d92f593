"""Exercise week1/which_is_deterministic: which sums give the same bits every time."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

RIGHT = {
    "float32, one atomic_add of a block": "may differ",
    "int32, one atomic_add of a block": "same bits",
    "float32 maximum, atomic": "same bits",
    "parts in memory, added by a second launch": "same bits",
    "parts in memory, added by the last block": "same bits",
    "the last block adds the parts in the order in which they were counted": "may differ",
    "float32 sum of whole numbers below 1,000, atomic, a million of them": "may differ",
    "cluster, parts in an array by rank": "same bits",
}
MISCONCEPTIONS = {
    (
        "float32, one atomic_add of a block",
        "same bits",
    ): "each addition rounds, and which block adds first is decided again in every launch.",
    ("int32, one atomic_add of a block", "may differ"): "whole numbers are added without rounding "
    "(and an overflow wraps around in the same way): no order can be seen in the result.",
    (
        "float32 maximum, atomic",
        "may differ",
    ): "a maximum rounds nothing: it is one of the numbers.",
    (
        "parts in memory, added by a second launch",
        "may differ",
    ): "each part stands in its own place, "
    "and the second kernel reads the places in an order of its own, the same every time.",
    (
        "parts in memory, added by the last block",
        "may differ",
    ): "another block is the last each time, "
    "but whoever it is reads the same places in the same order.",
    ("the last block adds the parts in the order in which they were counted", "same bits"): "that "
    "order is the one in which blocks have ended.",
    ("float32 sum of whole numbers below 1,000, atomic, a million of them", "same bits"): "as long "
    "as every sum on the way is a float32, nothing is rounded. How far do whole numbers go in "
    "float32, and how large may this sum be?",
    (
        "cluster, parts in an array by rank",
        "may differ",
    ): "blocks write when they are ready, each to "
    "its own place; all are added after the barrier of the cluster.",
}

EXERCISE = Exercise(
    title="say which is deterministic",
    task="""
Which of these give the same bits in every launch with the same input, whatever the order of
blocks? Answer `"same bits"` or `"may differ"`.
""",
    hints=(
        "Two questions for each: can the order of the operations be another one, and can the order be "
        "seen in the result?",
        "Integers and maxima do not round. A place of its own for each part takes the order away.",
        "float32 has all whole numbers up to 2²⁴ = 16,777,216: that decides the line with the million.",
    ),
    analysis="""
Deterministic is a kernel in which every rounded operation has its operands fixed by the program.
An atomic addition of float32 has not: its left operand is what happens to be there.
""",
    entry="bits",
    groups=(
        choices(
            RIGHT,
            ("same bits", "may differ"),
            MISCONCEPTIONS,
            name="Same bits",
            look_at="Which operations round, and who decides about their order?",
        ),
    ),
)
