"""Other correct solutions to week1/row_prefix."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("two elements per lane", {
        "cute.ceil_div(mX.shape[1], 32)": "cute.ceil_div(mX.shape[1], 64)",
        "n = piece * 32 + lane\n        value = Float32(0.0)\n":
            "n = piece * 64 + lane * 2\n        value, second = Float32(0.0), Float32(0.0)\n",
        "            value = mX[row, n]\n":
            "            value = mX[row, n]\n        if row < mX.shape[0] and n + 1 < mX.shape[1]:\n"
            "            second = mX[row, n + 1]\n        value += second\n",
        "            mY[row, n] = value\n":
            "            mY[row, n] = value - second\n        if row < mX.shape[0] and n + 1 < mX.shape[1]:\n"
            "            mY[row, n + 1] = value\n",
    }),
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("lane 0 adds the carry before the scan", {
        "            value = mX[row, n]\n":
            "            value = mX[row, n]\n        if lane == 0:\n            value += carry\n",
        "        value += carry\n        if row": "        if row",
    }),
    Wrong("warps without a row load the last one", {
        "row, lane = bidx * 4 + tidx // 32, tidx % 32":
            "mine, lane = bidx * 4 + tidx // 32, tidx % 32\n    row = min(mine, mX.shape[0] - 1)",
        "        if row < mX.shape[0] and n < mX.shape[1]:\n            value = mX[row, n]":
            "        if n < mX.shape[1]:\n            value = mX[row, n]",
        "        if row < mX.shape[0] and n < mX.shape[1]:\n            mY":
            "        if mine < mX.shape[0] and n < mX.shape[1]:\n            mY",
    }),
    Wrong("a lane without an element loads the last one", {
        "        if row < mX.shape[0] and n < mX.shape[1]:\n            value = mX":
            "        if row < mX.shape[0]:\n            value = mX",
        "value = mX[row, n]": "value = mX[row, min(n, mX.shape[1] - 1)]",
    }),
)  # fmt: skip
