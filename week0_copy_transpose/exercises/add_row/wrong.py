"""Wrong solutions of week0/add_row."""

from forgekit.lessons.wrong import Wrong

INDEX = "i, j = by * 8 + ty, bx * 32 + tx"
GRID = "(cute.ceil_div(N, 32), cute.ceil_div(M, 8), 1)"
BODY = """    if i < mZ.shape[0] and j < mZ.shape[1]:
        mZ[i, j] = mX[i, j] + mR[j]"""
A_ROW_A_THREAD = """    i = bx * 32 + tx
    if i < mZ.shape[0] and ty == 0:
        for j in range(mZ.shape[1]):
            mZ[i, j] = mX[i, j] + mR[j]"""
EVERY_ROW_AGAIN = """    if j < mZ.shape[1]:
        for k in range(mZ.shape[0]):
            mZ[k, j] = mX[k, j] + mR[j]"""

FLAT = """    k = (by * cute.ceil_div(mZ.shape[1], 32) + bx) * 256 + ty * 32 + tx
    if k < mZ.shape[0] * mZ.shape[1]:
        mZ[k] = mX[k] + mR[k % mZ.shape[1]]"""

WRONG = (
    Wrong("one index for both", {BODY: FLAT}, "counts down the columns"),
    Wrong("the row chooses", {"mR[j]": "mR[i]"}, "the number of the *column* chooses"),
    Wrong("always the first of r", {"mR[j]": "mR[0]"}, "gets the first element of r"),
    Wrong("r forgotten", {"mX[i, j] + mR[j]": "mX[i, j]"}, "r is not added"),
    Wrong(
        "no predicate for columns", {" and j < mZ.shape[1]": ""}, "columns 4 to 31 are let through"
    ),
    Wrong("no predicate for rows", {"i < mZ.shape[0] and ": ""}, "rows 3 to 7 are let through"),
    Wrong(
        "one column too many", {"j < mZ.shape[1]": "j <= mZ.shape[1]"}, "column 4 is let through"
    ),
    Wrong("one row too many", {"i < mZ.shape[0]": "i <= mZ.shape[0]"}, "row 3 is let through"),
    Wrong(
        "edges exchanged",
        {"i < mZ.shape[0] and j < mZ.shape[1]": "i < mZ.shape[1] and j < mZ.shape[0]"},
        "mX has 3. The predicate has to compare the row",
    ),
    Wrong(
        "grid exchanged",
        {GRID: "(cute.ceil_div(M, 8), cute.ceil_div(N, 32), 1)"},
        "what is written is the first",
    ),
    Wrong("rounded down", {"cute.ceil_div(N, 32)": "N // 32"}, "use cute.ceil_div for the grid"),
    Wrong(
        "a fixed grid",
        {"grid = " + GRID: "grid = (64, 64, 1)"},
        "their number follows from the length",
    ),
    Wrong(
        "lanes go down",
        {
            INDEX: "i, j = bx * 32 + tx, by * 8 + ty",
            GRID: "(cute.ceil_div(M, 32), cute.ceil_div(N, 8), 1)",
        },
        "12.5 sectors on average",
    ),
    Wrong(
        "a row a thread",
        {BODY: A_ROW_A_THREAD, GRID: "(cute.ceil_div(M, 32), 1, 1)"},
        "line 14: mZ[i, j]",
    ),
    Wrong("every block goes down all rows", {BODY: EVERY_ROW_AGAIN}, "stored more than once"),
)
