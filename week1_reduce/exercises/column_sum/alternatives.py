"""Other correct solutions to week1/column_sum."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of 256", {"bidx * 128": "bidx * 256", "mX.shape[1], 128)": "mX.shape[1], 256)", "(128, 1, 1)": "(256, 1, 1)"}),
    Wrong("two sums per thread", {
        "        for m in range(mX.shape[0]):\n            total += mX[m, col].to(Float32)\n"
        "        mY[col] = total":
            "        other = Float32(0.0)\n        for m in range(0, mX.shape[0], 2):\n"
            "            total += mX[m, col].to(Float32)\n            if m + 1 < mX.shape[0]:\n"
            "                other += mX[m + 1, col].to(Float32)\n        total += other\n"
            "        mY[col] = total",
    }),
)  # fmt: skip
