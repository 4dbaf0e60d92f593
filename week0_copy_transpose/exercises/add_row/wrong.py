"""Wrong solutions to week0/add_row."""

from forgekit.lessons.wrong import Wrong

GRID = "(cute.ceil_div(N, 32), cute.ceil_div(M, 8), 1)"
BODY = """    if i < mZ.shape[0] and j < mZ.shape[1]:
        mZ[i, j] = mX[i, j] + mR[j]"""

FLAT = """    k = (by * cute.ceil_div(mZ.shape[1], 32) + bx) * 256 + ty * 32 + tx
    if k < mZ.shape[0] * mZ.shape[1]:
        mZ[k] = mX[k] + mR[k % mZ.shape[1]]"""

WRONG = (
    Wrong(
        "no store where r is 0",
        {
            "        mZ[i, j] = mX[i, j] + mR[j]\n": "        if mR[j] != 0:\n            mZ[i, j] = mX[i, j] + mR[j]\n"
        },
        "the first of them is mZ[0, 4]",
    ),
    Wrong("one index for both", {BODY: FLAT}, "counts down the columns"),
    Wrong("the row chooses", {"mR[j]": "mR[i]"}, "the *column* index must select"),
    Wrong("always the first of r", {"mR[j]": "mR[0]"}, "is x[i, j] + r[0], whatever its column"),
    Wrong("r forgotten", {"mX[i, j] + mR[j]": "mX[i, j]"}, "r is not added"),
    Wrong(
        "one column too many",
        {"j < mZ.shape[1]": "j <= mZ.shape[1]"},
        "no predicate excludes column 4",
    ),
    Wrong(
        "a fixed grid",
        {"grid = " + GRID: "grid = (64, 64, 1)"},
        "elements of mZ, all in the last",
    ),
    Wrong(
        "four times the blocks",
        {"grid = " + GRID: "grid = (4 * cute.ceil_div(N, 32), cute.ceil_div(M, 8), 1)"},
        "launch fewer threads. Either some have nothing to do",
    ),
    Wrong(
        "a grid that grows with N alone",
        {
            BODY: "    for k in range(ty, mZ.shape[0], 8):\n        if j < mZ.shape[1]:\n            mZ[k, j] = mX[k, j] + mR[j]",
            GRID: "(cute.ceil_div(N, 32), 1, 1)",
        },
        "launch more threads, each of which does less",
    ),
    Wrong(
        "a warp per row",
        {
            BODY: "    for k in range(tx, mZ.shape[1], 32):\n        if i < mZ.shape[0]:\n            mZ[i, k] = mX[i, k] + mR[k]",
            GRID: "(1, cute.ceil_div(M, 8), 1)",
        },
        "With m = 64, n = 600, float32, the call launches 2,048 threads",
    ),
    Wrong("r repeated after 512", {"mR[j]": "mR[j & 511]"}, "m = 1, n = 513, float16"),
    Wrong(
        "rows repeated after 2,048",
        {"mX[i, j] +": "mX[i & 2047, j] +"},
        "m = 2,049, n = 1, float32",
    ),
    Wrong(
        "a block in y per row",
        {
            "i, j = by * 8 + ty": "i, j = by",
            "cute.ceil_div(M, 8), 1)": "M, 1)",
            "block=(32, 8, 1)": "block=(32, 1, 1)",
        },
        "put the longest dimension in x",
    ),
)
