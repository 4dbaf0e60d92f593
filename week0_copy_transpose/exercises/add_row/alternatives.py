"""Other correct solutions to week0/add_row."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("blocks of (32, 4)", {
        "by * 8 + ty": "by * 4 + ty",
        "ceil_div(M, 8)": "ceil_div(M, 4)",
        "block=(32, 8, 1)": "block=(32, 4, 1)",
    }),
    Wrong("blocks of 256 in one line", {
        "tx, ty, _ = cute.arch.thread_idx()":
            "tidx, _, _ = cute.arch.thread_idx()\n    tx, ty = tidx % 32, tidx // 32",
        "block=(32, 8, 1)": "block=(256, 1, 1)",
    }),
    Wrong("eight rows per thread, r in a register", {
        "i, j = by * 8 + ty, bx * 32 + tx": "first, j = by * 64 + ty, bx * 32 + tx",
        "    if i < mZ.shape[0] and j < mZ.shape[1]:\n        mZ[i, j] = mX[i, j] + mR[j]":
            "    if j < mZ.shape[1]:\n        r = mR[j]\n        for i in range(first, min(by * 64 + 64, mZ.shape[0]), 8):\n"
            "            mZ[i, j] = mX[i, j] + r",
        "ceil_div(M, 8)": "ceil_div(M, 64)",
    }),
)  # fmt: skip
