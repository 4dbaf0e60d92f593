"""Other correct solutions to week1/row_prefix."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
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
