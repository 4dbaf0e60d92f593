"""Wrong solutions of week1/two_largest."""

from forgekit.lessons.wrong import Wrong

MERGE = "cutlass.max(cutlass.min(first, first_b), cutlass.max(second, second_b))"

WRONG = (
    Wrong(
        "firsts only",
        {MERGE: "cutlass.min(first, first_b)"},
        "every wrong element is -inf",
    ),
    Wrong(
        "first merged before the second",
        {
            f"        second = {MERGE}\n        first = cutlass.max(first, first_b)": f"        first = cutlass.max(first, first_b)\n        second = {MERGE}"
        },
        "got 0.3816839",
    ),
    Wrong(
        "in the loop, too",
        {"            second = cutlass.max(second, cutlass.min(first, value))\n": ""},
        "Values has not run m =",
    ),
)
