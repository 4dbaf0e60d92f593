"""Other correct solutions to week1/mean_variance."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("relative to the first element", {
        "            count += 1.0\n            d = mX[row, n] - mean\n"
        "            mean += d / count\n            m2 += d * (mX[row, n] - mean)\n":
            "            d = mX[row, n] - first\n            mean += d\n            m2 += d * d\n",
        "    if row < mX.shape[0]:\n        for n":
            "    first = Float32(0.0)\n    if row < mX.shape[0]:\n        first = mX[row, 0]\n"
            "        for n",
        "        count_b = cute.arch.shuffle_sync_bfly(count, offset=1 << k)\n": "",
        "        both = count + count_b\n        share = Float32(0.0)\n        if both > 0.0:\n"
        "            share = count_b / both\n        d = mean_b - mean\n"
        "        mean += d * share\n        m2 += m2_b + d * d * count * share\n"
        "        count = both\n":
            "        mean += mean_b\n        m2 += m2_b\n",
        "        mMean[row] = mean\n        mVar[row] = m2 / count\n":
            "        count = Float32(mX.shape[1])\n        d = mean / count\n"
            "        mMean[row] = first + d\n        mVar[row] = m2 / count - d * d\n",
    }),
)  # fmt: skip
