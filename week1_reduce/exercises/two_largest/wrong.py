"""Wrong solutions to week1/two_largest."""

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
        "also in a row that contains it once",
    ),
    Wrong(
        "not in the loop",
        {"            second = cutlass.max(second, cutlass.min(first, value))\n": ""},
        "float32, the result is wrong",
    ),
    Wrong(
        "begins with -1e9",
        {
            "first, second = -Float32.inf, -Float32.inf": "first, second = Float32(-1e9), Float32(-1e9)"
        },
        "start it at −∞",
    ),
    Wrong(
        "the largest begins at 0",
        {"first, second = -Float32.inf": "first, second = Float32(0.0)"},
        "which exceeds the expected one",
    ),
    Wrong(
        "without the last in a thousand",
        {"range(lane, mX.shape[1], 32)": "range(lane, mX.shape[1] - mX.shape[1] // 1000, 32)"},
        "n = 1,001, float32, the result",
    ),
    Wrong(
        "at most 4,096 blocks",
        {
            "    blocks = cute.ceil_div(mX.shape[0], 4)": "    blocks = cutlass.min(cute.ceil_div(mX.shape[0], 4), 4096)"
        },
        "With m = 90,000",
    ),
    Wrong(
        "equal elements of a lane once",
        {
            "            second = cutlass.max(second, cutlass.min(first, value))\n            first = cutlass.max(first, value)": "            if value > first:\n                second = first\n                first = value\n            elif value < first and value > second:\n                second = value"
        },
        "pattern: a single element differs",
    ),
    Wrong(
        "31 columns per step",
        {
            "range(lane, mX.shape[1], 32)": "range(lane, mX.shape[1], 31)",
        },
        "With m = 12, n = 32, float32, the result is wrong",
    ),
    Wrong(
        "column 32 twice",
        {
            "        for n in range(lane, mX.shape[1], 32):\n            value": "        if lane == 0 and mX.shape[1] > 32:\n            first = mX[row, 32]\n        for n in range(lane, mX.shape[1], 32):\n            value",
        },
        "the result is wrong",
    ),
)
