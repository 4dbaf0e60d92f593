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
    Wrong("16 rows per block", {
        "make_layout((32, 32), stride=(32, 1))": "make_layout(1024)", SWIZZLED: "",
        """    for k in cutlass.range_constexpr(0, 32, 8):
        row, col = bx * 32 + ty + k, by * 32 + tx
        if row < N and col < M:
            sZ[ty + k, tx] = mZ[row, col]
""": """    t = ty * 32 + tx
    for k in cutlass.range_constexpr(0, 64, 16):
        c, r = t % 16, t // 16 + k
        row, col = bx * 64 + r, by * 16 + c
        if row < N and col < M:
            sZ[c * 64 + (r ^ (2 * c))] = mZ[row, col]
""",
        """    for k in cutlass.range_constexpr(0, 32, 8):
        row, col = by * 32 + ty + k, bx * 32 + tx
        if row < M and col < N:
            mY[row, col] = mX[row, col] + sZ[tx, ty + k]
""": """    for k in cutlass.range_constexpr(0, 16, 4):
        c, r = t % 64, t // 64 + k
        row, col = by * 16 + r, bx * 64 + c
        if row < M and col < N:
            mY[row, col] = mX[row, col] + sZ[r * 64 + (c ^ (2 * r))]
""",
        "mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32)": "mX.shape[1], 64), cute.ceil_div(mX.shape[0], 16)",
    }, "got a grid of (1, 125000, 1)"),
)  # fmt: skip
