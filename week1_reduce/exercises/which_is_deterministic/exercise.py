"""Exercise week1/which_is_deterministic: the sums that have the same bits in every run."""

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates import choices

RIGHT = {
    "float32, one atomic_add per block": "may differ",
    "int32, one atomic_add per block": "same bits",
    "float32 maximum, atomic": "same bits",
    "parts in memory, added by a second launch": "same bits",
    "parts in memory, added by the last block": "same bits",
    "the last block adds the parts in the order in which they were counted": "may differ",
    "float32 sum of a million integers below 1,000, atomic": "may differ",
    "cluster, parts in an array by rank": "same bits",
}
MISCONCEPTIONS = {
    (
        "float32, one atomic_add per block",
        "same bits",
    ): "each addition rounds, and every launch may run the blocks in a different order.",
    ("int32, one atomic_add per block", "may differ"): "integer additions do not "
    "round (and an overflow wraps around in the same way), so the order does not matter.",
    (
        "float32 maximum, atomic",
        "may differ",
    ): "a maximum does not round: it is one of the inputs.",
    (
        "parts in memory, added by a second launch",
        "may differ",
    ): "each part has its own slot, and the "
    "second kernel always reads the slots in the same order.",
    (
        "parts in memory, added by the last block",
        "may differ",
    ): "a different block may be last each time, but it always reads the same slots in the same order.",
    ("the last block adds the parts in the order in which they were counted", "same bits"): "that "
    "is the order in which the blocks finish, which may change.",
    ("float32 sum of a million integers below 1,000, atomic", "same bits"): "nothing is "
    "rounded as long as float32 can represent every partial sum. Up to which integer can it, and "
    "how large may this sum become?",
    (
        "cluster, parts in an array by rank",
        "may differ",
    ): "each block writes to its own slot, whenever it is ready, and block 0 adds the parts "
    "after the cluster's barrier.",
}

EXERCISE = Exercise(
    title="identify the deterministic sums",
    task="""
Which of these produce the same bits in every launch with the same input, whatever the order of
the blocks? Answer `"same bits"` or `"may differ"`.
""",
    hints=(
        "Ask two questions about each: can the order of the operations change, and does the "
        "result depend on the order?",
        "Integer sums and maxima do not round. If each part has its own slot, the order no "
        "longer matters.",
        "float32 represents all integers up to 2²⁴ = 16,777,216, which settles the case of a "
        "million integers.",
    ),
    analysis="""
A kernel is deterministic if the program fixes the operands of every operation that rounds. For
an atomic float32 addition the program does not, because one operand is the value that memory
holds at that moment.
""",
    entry="bits",
    groups=(
        choices(
            RIGHT,
            ("same bits", "may differ"),
            MISCONCEPTIONS,
            name="Same bits",
            look_at="Which operations round, and what determines their order?",
        ),
    ),
)
