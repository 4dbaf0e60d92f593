"""Wrong solutions to week0/window."""

from forgekit.lessons.wrong import Wrong

INSIDE = "if row >= 0 and row < mX.shape[0] and column >= 0 and column < mX.shape[1]:"
READ = f"""        {INSIDE}
            value = mX[row, column]
        mY[i, j] = value"""
GRID = "(cute.ceil_div(mY.shape[1], 32), cute.ceil_div(mY.shape[0], 8), 1)"
GRID_DOWN = "(cute.ceil_div(mY.shape[0], 32), cute.ceil_div(mY.shape[1], 8), 1)"
AND_STORE = f"""        {INSIDE}
            mY[i, j] = mX[row, column]"""

WRONG = (
    Wrong("not shifted", {"top + i, left + j": "i, j"}, "instead of row `top` and column `left`"),
    Wrong("exchanged", {"top + i, left + j": "left + i, top + j"}, "top and left are swapped"),
    Wrong(
        "subtracted", {"top + i, left + j": "i - top, j - left"}, "y[i, j] is x[i - top, j - left]"
    ),
    Wrong("x's predicate alone", {READ: AND_STORE}, "must not prevent the thread from storing"),
    Wrong(
        "no predicate for x",
        {INSIDE: "if row >= 0 or row < 0:"},
        "has to check all four",
    ),
    Wrong("negative rows", {"row >= 0 and ": ""}, "`top` may be negative"),
    Wrong("negative columns", {"column >= 0 and ": ""}, "`left` may be negative"),
    Wrong(
        "no right edge",
        {" and column < mX.shape[1]": ""},
        "columns to the right of the last column",
    ),
    Wrong("no lower edge", {"row < mX.shape[0] and ": ""}, "rows below the last row"),
    Wrong(
        "edges of y",
        {"row < mX.shape[0]": "row < mY.shape[0]", "column < mX.shape[1]": "column < mY.shape[1]"},
        "with the size of y instead",
    ),
    Wrong(
        "no predicate for y",
        {"if i < mY.shape[0] and j < mY.shape[1]:": "if i >= 0:"},
        "A matrix has two edges",
    ),
    Wrong(
        "lanes go down",
        {"i, j = by * 8 + ty, bx * 32 + tx": "i, j = bx * 32 + tx, by * 8 + ty", GRID: GRID_DOWN},
        "neighbouring threads are 1,920 bytes apart",
    ),
    Wrong(
        "a factor of 0 or 1",
        {
            "        value = mY.element_type(0)\n": "",
            f"        {INSIDE}\n            value = mX[row, column]\n": f"""        value = mY.element_type(0)
        {INSIDE}
            value = mY.element_type(1)
        near = min(max(row, 0), mX.shape[0] - 1), min(max(column, 0), mX.shape[1] - 1)
        value = mX[near] * value
""",
        },
        "NaN: 1 in actual",
    ),
    Wrong(
        "no first row or column",
        {INSIDE: "if row < mX.shape[0] and column < mX.shape[1]:"},
        "x has its own edges: the predicate of the load",
    ),
    Wrong(
        "top in 16 bits",
        {"top + i, left + j": "top.to(cutlass.Int16).to(cutlass.Int32) + i, left + j"},
        "top = 65,537",
    ),
    Wrong(
        "far above is far below",
        {"top + i, left + j": "(top if top > -100 else -top) + i, left + j"},
        "top = -130",
    ),
    Wrong(
        "at most 1,024 rows",
        {"if i < mY.shape[0]": "if i < min(mY.shape[0], 1024)"},
        "no thread stores 2,154 of the 4,202 elements",
    ),
    Wrong(
        "at most 1,024 columns of x",
        {"column < mX.shape[1]": "column < min(mX.shape[1], 1024)"},
        "m = 1, n = 1,448, top = 0, left = 300",
    ),
    Wrong(
        "an element of x for each thread",
        {
            f"        {INSIDE}\n            value = mX[row, column]\n": "        near = min(max(row, 0), mX.shape[0] - 1), min(max(column, 0), mX.shape[1] - 1)\n"
            f"        nearest = mX[near]\n        {INSIDE}\n            value = nearest\n"
        },
        "with m = 100, n = 510, top = 75, left = -128",
    ),
)
