"""Wrong solutions to week1/max_subarray."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("identity 0", {"least = -Float32.inf": "least = Float32(0.0)"}, "an empty piece counts"),
    Wrong("large steps first", {"offset=1 << k": "offset=16 >> k"}, "begin with the offset 16"),
    Wrong(
        "only singles",
        {
            "s, h, t, b = merged((s, h, t, b), right)": "s, h, t, b = (s, h, t, cutlass.max(b, right[3]))",
            "total, head, tail, best = merged((total, head, tail, best), (s, h, t, b))": "best = cutlass.max(best, b)",
        },
        "only single elements are compared",
    ),
    Wrong("the sum", {"mY[row] = best": "mY[row] = total"}, "the whole row is added up"),
    Wrong(
        "sides exchanged",
        {
            "merged((total, head, tail, best), (s, h, t, b))": "merged((s, h, t, b), (total, head, tail, best))"
        },
        "a merge swaps left and right",
    ),
    Wrong(
        "begins with -1e9",
        {"least = -Float32.inf": "least = Float32(-1e9)"},
        "start it at −∞",
    ),
    Wrong(
        "begins with -1e30",
        {"least = -Float32.inf": "least = Float32(-1e30)"},
        "which exceeds the expected one",
    ),
    Wrong(
        "begins at -3.3e38",
        {"least = -Float32.inf": "least = Float32(-3.3e38)"},
        "got -3.3e+38, expected",
    ),
    Wrong(
        "begins at the smallest float32",
        {"least = -Float32.inf": "least = Float32(-3.4028234663852886e38)"},
        "a number that is not an element",
    ),
    Wrong(
        "elements of at least -1e9",
        {"value = mX[row, n]": "value = cutlass.max(mX[row, n], -1e9)"},
        "Looks like: a maximum includes",
    ),
    Wrong(
        "elements of at least -3.4e38",
        {"value = mX[row, n]": "value = cutlass.max(mX[row, n], -3.4e38)"},
        "Inf: 0 in actual",
    ),
    Wrong(
        "at most 2,048 blocks",
        {
            "    blocks = cute.ceil_div(mX.shape[0], 4)": "    blocks = cutlass.min(cute.ceil_div(mX.shape[0], 4), 2048)"
        },
        "With m = 90,000",
    ),
)
