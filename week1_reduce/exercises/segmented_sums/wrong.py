"""Wrong solutions of week1/segmented_sums."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong(
        "the end belongs to it",
        {"mStarts[segment + 1], 32)": "mStarts[segment + 1] + 1, 32)"},
        "reads mX[",
    ),
    Wrong("begins at 0", {"mStarts[segment] + lane,": "lane,"}, "the result is wrong"),
    Wrong(
        "one step of 32",
        {"mStarts[segment + 1], 32)": "mStarts[segment + 1], 1 << 20)"},
        "worst difference",
    ),
    Wrong("sum starts at 1", {"total = Float32(0.0)": "total = Float32(1.0)"}, "(all, float32)"),
    Wrong(
        "no predicate",
        {"    if segment < mY.shape[0]:\n        for": "    if segment >= 0:\n        for"},
        "reads mStarts",
    ),
    Wrong(
        "no predicate at the store",
        {"if segment < mY.shape[0] and lane == 0:": "if lane == 0:"},
        "writes mY",
    ),
    Wrong(
        "a thread a segment",
        {
            "for n in range(mStarts[segment] + lane, mStarts[segment + 1], 32):": "for n in range(mStarts[segment], mStarts[segment + 1] if lane == 0 else mStarts[segment]):"
        },
        "Nothing wasted",
    ),
    Wrong("four steps", {"range_constexpr(5)": "range_constexpr(4)"}, "With segments = 5"),
)
