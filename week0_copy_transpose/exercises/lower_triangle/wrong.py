"""Wrong solutions to week0/lower_triangle."""

from forgekit.lessons.wrong import Wrong

ROWS = "row, col = bidy * 8 + tidy, bidx * 32 + tidx"
GRID = "(cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 8), 1)"

VALUE = "        value = mX.element_type(0)\n"
STORE = "            value = mX[row, col]\n        mY[row, col] = value"

WRONG = (
    Wrong("copies all", {"if col <= row:": "if col >= 0:"}, "including the elements above the diagonal"),
    Wrong("no diagonal", {"if col <= row:": "if col < row:"}, "y lacks the diagonal itself"),
    Wrong("upper", {"if col <= row:": "if col >= row:"}, "y holds the upper triangle"),
    Wrong("stores what is kept only", {"        mY[row, col] = value": "            mY[row, col] = value"},
          "every wrong element is NaN"),
    Wrong("times 0", {VALUE: "        value = mX[row, min(col, row)]\n", STORE: "            value = value * mX.element_type(1)\n        else:\n            value = value * mX.element_type(0)\n        mY[row, col] = value"}, "NaN: 21 in actual, 0 in expected"),
    Wrong("no predicate for rows", {"row < mX.shape[0] and ": ""}, "reads mX[4, 0]"),
    Wrong("no predicate for columns", {" and col < mX.shape[1]": ""}, "writes mY[4, 0]"),
    Wrong("by columns", {ROWS: "row, col = bidx * 32 + tidx, bidy * 8 + tidy",
                         GRID: "(cute.ceil_div(mX.shape[0], 32), cute.ceil_div(mX.shape[1], 8), 1)"},
          "neighbouring threads are 132 bytes apart"),
    Wrong("loads all", {"            value = mX[row, col]": "            value = kept",
                        "        value = mX.element_type(0)":
                        "        kept = mX[row, col]\n        value = mX.element_type(0)"},
          "Sectors loaded"),
    Wrong("one row of blocks", {GRID: "(cute.ceil_div(mX.shape[1], 32), 1, 1)"},
          "the last 25 rows (8 to 32)"),
    Wrong("stores zeros apart", {VALUE: "", STORE: "            mY[row, col] = mX[row, col]\n        else:\n"
          "            mY[row, col] = mX.element_type(0)"}, "Sectors stored"),
    Wrong("a warp per row", {"    row, col = bidy * 8 + tidy, bidx * 32 + tidx\n    if row < mX.shape[0] and col < mX.shape[1]:\n" + VALUE + "        if col <= row:\n" + STORE:
                             "    row = bidy * 8 + tidy\n    for col in range(tidx, mX.shape[1], 32):\n        if row < mX.shape[0]:\n            value = mX.element_type(0)\n"
                             "            if col <= row:\n                value = mX[row, col]\n            mY[row, col] = value",
                             GRID: "(1, cute.ceil_div(mX.shape[0], 8), 1)"}, "the call launches 2,048 threads; the solution launches 38,912"),
    Wrong("a block in y per row", {"row, col = bidy * 8 + tidy": "row, col = bidy", "cute.ceil_div(mX.shape[0], 8), 1)": "mX.shape[0], 1)",
                                   "block=(32, 8, 1)": "block=(32, 1, 1)"}, "put the longest dimension in x"),
)  # fmt: skip
