"""Wrong solutions to week1/mean_variance."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong(
        "old difference twice",
        {"m2 += d * (mX[row, n] - mean)": "m2 += d * d"},
        "got 490564.2*",
    ),
    Wrong(
        "merge forgets the distance",
        {"m2 += m2_b + d * d * count * share": "m2 += m2_b"},
        "With m = 2, n = 4, float32, the result is wrong",
    ),
    Wrong("divided by n - 1", {"m2 / count": "m2 / (count - 1.0)"}, "mVar: 2 of 2"),
    Wrong(
        "sum for mean",
        {"mMean[row] = mean": "mMean[row] = mean * count"},
        "the first result is the sum; divide it by n",
    ),
    Wrong(
        "squares of x - 1000",
        {
            "            d = mX[row, n] - mean\n            mean += d / count\n            m2 += d * (mX[row, n] - mean)\n": "            d = mX[row, n] - 1000.0\n            mean += d\n            m2 += d * d\n",
            "        both = count + count_b\n        share = Float32(0.0)\n        if both > 0.0:\n            share = count_b / both\n        d = mean_b - mean\n        mean += d * share\n        m2 += m2_b + d * d * count * share\n        count = both\n": "        mean += mean_b\n        m2 += m2_b\n        count += count_b\n",
            "mMean[row] = mean": "mMean[row] = mean / count + 1000.0",
            "mVar[row] = m2 / count": "mVar[row] = m2 / count - (mean / count) * (mean / count)",
        },
        "got 1.367188*",
    ),
    Wrong("by n - 1", {"m2 / count": "m2 / (count - 1.0)"}, "divides m2 by n − 1"),
    Wrong(
        "mean of squares less square of mean",
        {
            "            d = mX[row, n] - mean\n            mean += d / count\n            m2 += d * (mX[row, n] - mean)\n": "            mean += mX[row, n]\n            m2 += mX[row, n] * mX[row, n]\n",
            "        both = count + count_b\n        share = Float32(0.0)\n        if both > 0.0:\n            share = count_b / both\n        d = mean_b - mean\n        mean += d * share\n        m2 += m2_b + d * d * count * share\n        count = both\n": "        mean += mean_b\n        m2 += m2_b\n        count += count_b\n",
            "mMean[row] = mean\n        mVar[row] = m2 / count": "mean = mean / count\n        mMean[row] = mean\n        mVar[row] = m2 / count - mean * mean",
        },
        "a difference of two such numbers",
    ),
    Wrong(
        "mean of squares in float64",
        {
            "Float32(0.0), Float32(0.0), Float32(0.0)": "Float32(0.0), cutlass.Float64(0.0), cutlass.Float64(0.0)",
            "            d = mX[row, n] - mean\n            mean += d / count\n            m2 += d * (mX[row, n] - mean)\n": "            value = mX[row, n].to(cutlass.Float64)\n            mean += value\n            m2 += value * value\n",
            "        both = count + count_b\n        share = Float32(0.0)\n        if both > 0.0:\n            share = count_b / both\n        d = mean_b - mean\n        mean += d * share\n        m2 += m2_b + d * d * count * share\n        count = both\n": "        mean += mean_b\n        m2 += m2_b\n        count += count_b\n",
            "mMean[row] = mean\n        mVar[row] = m2 / count": "mean = mean / count.to(cutlass.Float64)\n        mMean[row] = mean.to(Float32)\n        mVar[row] = (m2 / count.to(cutlass.Float64) - mean * mean).to(Float32)",
        },
        "the task asks for no float64",
    ),
    Wrong("the lane's own share", {"share = count_b / both": "share = count / both"}, "got 0* 0*"),
    Wrong(
        "the mean through float16",
        {"mMean[row] = mean": "mMean[row] = mean.to(cutlass.Float16).to(Float32)"},
        "got 673.5, expected 673.6132",
    ),
    Wrong(
        "m2 through float16",
        {
            "            m2 += d * (mX[row, n] - mean)\n": "            m2 = (m2 + d * (mX[row, n] - mean)).to(cutlass.Float16).to(Float32)\n"
        },
        "Inf: 1 in actual, 0 in expected",
    ),
    Wrong(
        "counts in float16",
        {"count += 1.0": "count = (count + 1.0).to(cutlass.Float16).to(Float32)"},
        "got 1.065756, expected 0.9978383",
    ),
    Wrong(
        "divided by at least 4",
        {"m2 / count": "m2 / cute.arch.fmax(count, 4.0)"},
        "With m = 4, n = 2, float32, the result is wrong",
    ),
    Wrong(
        "shifted by the mean of the first 32, read again",
        {
            "    count, mean, m2 = Float32(0.0), Float32(0.0), Float32(0.0)\n": "    count, mean, m2 = Float32(0.0), Float32(0.0), Float32(0.0)\n    first = Float32(0.0)\n    if row < mX.shape[0] and lane < mX.shape[1]:\n        first = mX[row, lane]\n    first = cute.arch.warp_reduction_sum(first) / min(mX.shape[1], 32)\n",
            "d = mX[row, n] - mean": "d = mX[row, n] - first - mean",
            "m2 += d * (mX[row, n] - mean)": "m2 += d * (mX[row, n] - first - mean)",
            "mMean[row] = mean": "mMean[row] = mean + first",
        },
        "elements of mX more than once; the first is mX[0, 1]",
    ),
    Wrong(
        "first elements of long rows again",
        {
            "        for n in range(lane, mX.shape[1], 32):\n": "        if lane + 32 < mX.shape[1]:\n            m2 += 0.0 * mX[row, lane]\n        for n in range(lane, mX.shape[1], 32):\n",
        },
        "threads load 135 elements of mX more than once",
    ),
    Wrong(
        "two passes if a row has more than 1,024 elements",
        {
            "        for n in range(lane, mX.shape[1], 32):\n": "        once = mX.shape[1] if mX.shape[1] <= 1024 else 0\n        for n in range(lane, once, 32):\n",
            "    for k in cutlass.range_constexpr(5):\n": """    if row < mX.shape[0] and mX.shape[1] > 1024:
        total = Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            total += mX[row, n]
            count += 1.0
        mean = total / count
        for n in range(lane, mX.shape[1], 32):
            m2 += (mX[row, n] - mean) * (mX[row, n] - mean)
    for k in cutlass.range_constexpr(5):
""",
        },
        "threads load 9,998 elements of mX more than once",
    ),
)
