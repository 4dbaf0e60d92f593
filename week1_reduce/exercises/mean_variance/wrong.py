"""Wrong solutions of week1/mean_variance."""

from forgekit.lessons.wrong import Wrong

WRONG = (
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
    Wrong("divided by n - 1", {"m2 / count": "m2 / (count - 1.0)"}, "mVar: 2 of 2"),
    Wrong(
        "sum for mean", {"mMean[row] = mean": "mMean[row] = mean * count"}, "it is not divided by n"
    ),
    Wrong("by n - 1", {"m2 / count": "m2 / (count - 1.0)"}, "is divided by n − 1"),
)
