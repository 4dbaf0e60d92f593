"""Wrong solutions of week1/mean_variance."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong(
        "merge divides by zero",
        {
            "        if both > 0.0:\n            share = count_b / both": "        share = count_b / both"
        },
        "actual is all NaN",
    ),
    Wrong(
        "sum of squares",
        {"m2 += d * (mX[row, n] - mean)": "m2 += mX[row, n] * mX[row, n]"},
        "mVar: 2 of 2 elements",
    ),
    Wrong(
        "old difference twice",
        {"m2 += d * (mX[row, n] - mean)": "m2 += d * d"},
        "got 1000806",
    ),
    Wrong(
        "merge forgets the distance",
        {"m2 += m2_b + d * d * count * share": "m2 += m2_b"},
        "With m = 2, n = 4, float32 the result is wrong",
    ),
    Wrong(
        "mean changed too early",
        {
            "        m2_b = cute.arch.shuffle_sync_bfly(m2, offset=1 << k)\n": "",
            "        d = mean_b - mean\n        mean += d * share\n": "        d = mean_b - mean\n        mean += d * share\n        m2_b = cute.arch.shuffle_sync_bfly(m2 + mean * 0.001, offset=1 << k)\n",
        },
        "worst difference",
    ),
    Wrong("divided by n - 1", {"m2 / count": "m2 / (count - 1.0)"}, "mVar: 2 of 2"),
    Wrong(
        "not divided",
        {"mVar[row] = m2 / count": "mVar[row] = m2"},
        "got 1.922754, expected 0.4806846",
    ),
    Wrong(
        "sum for mean", {"mMean[row] = mean": "mMean[row] = mean * count"}, "it is not divided by n"
    ),
    Wrong("no predicate", {"if row < mX.shape[0] and lane == 0:": "if lane == 0:"}, "writes mMean"),
)
