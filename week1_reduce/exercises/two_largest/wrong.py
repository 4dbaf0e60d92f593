"""Wrong solutions of week1/two_largest."""

from forgekit.lessons.wrong import Wrong

MERGE = "cutlass.max(cutlass.min(first, first_b), cutlass.max(second, second_b))"

WRONG = (
    Wrong(
        "identity 0",
        {"-Float32.inf, -Float32.inf": "Float32(0.0), Float32(0.0)"},
        "got 0, expected",
    ),
    Wrong(
        "seconds only",
        {MERGE: "cutlass.max(second, second_b)"},
        "With m = 2, n = 4, float32 the result is wrong",
    ),
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
        "mismatches",
    ),
    Wrong("one step short", {"range_constexpr(5)": "range_constexpr(4)"}, "With m = 5, n = 31"),
    Wrong("stored twice", {" and lane == 0:": ":"}, "elements are stored more than once"),
    Wrong("no predicate", {"if row < mX.shape[0] and lane == 0:": "if lane == 0:"}, "writes mY"),
)
