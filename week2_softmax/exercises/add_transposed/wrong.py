"""Wrong solutions to week2/add_transposed."""

from forgekit.lessons.wrong import Wrong

SWIZZLED = "    layout = cute.make_composed_layout(cute.make_swizzle(5, 0, 5), 0, layout)  # column ^ row\n"
SUM = "mX[row, col] + sZ[tx, ty + k]"

WRONG = (
    Wrong("padded", {SWIZZLED: "", "stride=(32, 1)": "stride=(33, 1)"}, "4,096 bytes of shared memory"),
    Wrong("no swizzle", {SWIZZLED: ""}, "Bank conflicts: 992"),
    Wrong("half a swizzle", {"make_swizzle(5, 0, 5)": "make_swizzle(4, 0, 5)"}, "Bank conflicts: 32 with"),
    Wrong("x forgotten", {SUM: "sZ[tx, ty + k]"}, "x is missing"),
    Wrong("z subtracted", {SUM: "mX[row, col] - sZ[tx, ty + k]"}, "z is subtracted"),
    Wrong("not turned", {SUM: "mX[row, col] + sZ[ty + k, tx]"}, "the order of its two indices"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "no barrier separates the two"),
    Wrong("rows that overlap", {SWIZZLED: "", "stride=(32, 1)": "stride=(31, 1)"}, "at least one of them stores it, and"),
    Wrong("z by columns", {"mY[row, col] = mX[row, col] + sZ[tx, ty + k]": "mY[row, col] = mX[row, col] + mZ[col, row]"},
          "touches 18 sectors"),
    Wrong("no predicate", {"if row < N and col < M:": "if row < N:"}, "Out of bounds"),
)  # fmt: skip
