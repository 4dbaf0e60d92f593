"""Wrong solutions to week1/segmented_sums."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong(
        "the first begins at 0",
        {
            "        for n in range(mStarts[segment] + lane": "        begin = mStarts[segment] if segment > 0 else cutlass.Int32(0)\n        for n in range(begin + lane"
        },
        "1 of 2 elements differs",
    ),
    Wrong(
        "the end belongs to it",
        {"mStarts[segment + 1], 32)": "mStarts[segment + 1] + 1, 32)"},
        "worst difference: 1.192 at [0]",
    ),
    Wrong(
        "the last ends with x",
        {
            "mStarts[segment + 1], 32)": "mStarts[segment + 1] if segment + 1 < mY.shape[0] else mX.shape[0], 32)"
        },
        "a single element differs",
    ),
    Wrong(
        "one step of 32",
        {"mStarts[segment + 1], 32)": "mStarts[segment + 1], 1 << 20)"},
        "worst difference",
    ),
    Wrong(
        "a thread a segment",
        {
            "for n in range(mStarts[segment] + lane, mStarts[segment + 1], 32):": "for n in range(mStarts[segment], mStarts[segment + 1] if lane == 0 else mStarts[segment]):"
        },
        "Nothing wasted",
    ),
    Wrong(
        "half of the lanes",
        {
            "range(mStarts[segment] + lane, mStarts[segment + 1], 32)": "range(mStarts[segment] + lane, mStarts[segment + 1] if lane < 16 else 0, 16)"
        },
        "with segments = 192, longest = 1,500, float32; the limit",
    ),
    Wrong(
        "adds in float16",
        {"total += mX[n]": "total = (total + mX[n]).to(cutlass.Float16).to(Float32)"},
        "float32, the result is wrong",
    ),
    Wrong(
        "one segment more",
        {"if segment < mY.shape[0]:\n        for": "if segment <= mY.shape[0]:\n        for"},
        "the index on this line is 3",
    ),
    Wrong(
        "at most 1,024 elements of a segment",
        {"mStarts[segment + 1], 32)": "min(mStarts[segment + 1], mStarts[segment] + 1024), 32)"},
        "With segments = 8, longest = ",
    ),
    Wrong(
        "never the last element of x",
        {"mStarts[segment + 1], 32)": "cutlass.min(mStarts[segment + 1], mX.shape[0] - 1), 32)"},
        "With segments = 5, longest = 31",
    ),
    Wrong(
        "no infinities",
        {
            "            total += mX[n]": "            if mX[n] < Float32.inf:\n                total += mX[n]"
        },
        "the result is wrong",
    ),
    Wrong(
        "the first element of an empty segment",
        {
            "        for n in range(mStarts[segment] + lane": "        if lane == 0 and mX[mStarts[segment]] == 12345.0:\n            total = Float32(1.0)\n        for n in range(mStarts[segment] + lane"
        },
        "past the tensor's end",
    ),
    Wrong(
        "1 for an empty first segment",
        {
            "mY[segment] = total": "mY[segment] = total if mStarts[0] < mStarts[1] or segment > 0 else Float32(1.0)"
        },
        "got 1* 0 expected 0 0",
    ),
    Wrong(
        "at most 8,192 blocks",
        {
            "blocks = cute.ceil_div(mY.shape[0], 4)": "blocks = cutlass.min(cute.ceil_div(mY.shape[0], 4), 8192)"
        },
        "With segments = 90,000",
    ),
    Wrong(
        "−∞ as the smallest number",
        {
            "total += mX[n]": "total += cute.arch.fmax(mX[n], -3.4028235e38)",
        },
        "Inf: 0 in actual, 1 in expected",
    ),
)
