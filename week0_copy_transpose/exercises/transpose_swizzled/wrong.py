"""Wrong solutions to week0/transpose_swizzled."""

from forgekit.lessons.wrong import Wrong

_SWIZZLE = "cute.make_composed_layout(cute.make_swizzle(5, 0, 6), 0, layout_s)"
_WRITE = "sX[ty + k, tx + c] ="
_STORE = "mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]"
_PREDICATE = "if col0 + ty + k < N and row0 + tx < M:"

WRONG = (
    Wrong("no swizzle", {_SWIZZLE: "layout_s"}, "because no bit of the row is XORed"),
    Wrong("shift of the square tile", {"(5, 0, 6)": "(5, 0, 5)"}, "four bits of the row reach"),
    Wrong("three bits", {"(5, 0, 6)": "(3, 0, 6)"}, "too few bits of the row"),
    Wrong("padding", {_SWIZZLE: "cute.make_layout((32, 64), stride=(65, 1))"}, "the block allocates more than one tile without padding"),
    Wrong(
        "on the store side only",
        {_SWIZZLE: "layout_s", _WRITE: "sX[ty + k, (tx + c) ^ (ty + k)] ="},
        "only one side is swizzled",
    ),
    Wrong(
        "no barrier", {"    cute.arch.sync_threads()\n": ""}, "a thread may load before others have stored"
    ),
    Wrong("predicate of the load", {_PREDICATE: "if row0 + ty + k < M and col0 + tx < N:"},
          "the store's predicate must test"),
    Wrong(
        "strided writes, no conflict",
        {
            "    for k in cutlass.range_constexpr(0, 64, 8):\n":
            "    for k in cutlass.range_constexpr(0, 64, 8):\n"
            "        r, c = ty + k % 32, tx + k // 32 * 32\n",
            _PREDICATE: "if row0 + r < M and col0 + c < N:",
            _STORE: "mY[col0 + c, row0 + r] = sX[r, c]",
        },
        "now the store is strided",
    ),
    Wrong(
        "two tiles",
        {
            "    sX = smem": "    spare = smem.allocate_tensor(mX.element_type, layout_s, 128)\n"
            "    sX = smem"
        },
        "of shared memory per block: 16,384 with",
    ),
    Wrong("rows that overlap", {_SWIZZLE: "cute.make_layout((32, 64), stride=(33, 1))"}, "two threads write to the same place"),
    Wrong("doubled grid", {"cute.ceil_div(mX.shape[0], 32)": "2 * cute.ceil_div(mX.shape[0], 32)"},
          "a thread moves"),
    Wrong("padded by two", {_SWIZZLE: "cute.make_layout((32, 64), stride=(66, 1))"}, "16 of the 32 banks Next:"),
    Wrong("32 × 4 threads", {
        "range_constexpr(0, 32, 8)": "range_constexpr(0, 32, 4)",
        "range_constexpr(0, 64, 8)": "range_constexpr(0, 64, 4)",
        "block=(32, 8, 1)": "block=(32, 4, 1)",
    }, "Threads per block: 128"),
    Wrong("64 rows and 32 columns", {
        "by * 32, bx * 64": "by * 64, bx * 32",
        "((32, 64), stride=(64, 1))": "((64, 32), stride=(32, 1))",
        "(5, 0, 6)": "(5, 0, 5)",
        "range_constexpr(0, 32, 8)": "range_constexpr(0, 64, 8)",
        "range_constexpr(0, 64, 32)": "range_constexpr(1)",
        "    for k in cutlass.range_constexpr(0, 64, 8):\n        " + _PREDICATE + "\n            " + _STORE:
            "    for k in cutlass.range_constexpr(0, 32, 8):\n        for r in cutlass.range_constexpr(0, 64, 32):\n"
            "            if col0 + ty + k < N and row0 + tx + r < M:\n"
            "                mY[col0 + ty + k, row0 + tx + r] = sX[tx + r, ty + k]",
        "mX.shape[1], 64), cute.ceil_div(mX.shape[0], 32)": "mX.shape[1], 32), cute.ceil_div(mX.shape[0], 64)",
    }, "one block per 32 × 64 elements of X: 6 blocks"),
    Wrong("half a tile after the other", {
        "((32, 64), stride=(64, 1))": "((32, 32), stride=(32, 1))",
        "(5, 0, 6)": "(5, 0, 5)",
        """    for k in cutlass.range_constexpr(0, 32, 8):
        for c in cutlass.range_constexpr(0, 64, 32):
            if row0 + ty + k < M and col0 + tx + c < N:
                sX[ty + k, tx + c] = mX[row0 + ty + k, col0 + tx + c]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, 64, 8):
        if col0 + ty + k < N and row0 + tx < M:
            mY[col0 + ty + k, row0 + tx] = sX[tx, ty + k]
""": """    for c in cutlass.range_constexpr(0, 64, 32):
        for k in cutlass.range_constexpr(0, 32, 8):
            if row0 + ty + k < M and col0 + tx + c < N:
                sX[ty + k, tx] = mX[row0 + ty + k, col0 + tx + c]
        cute.arch.sync_threads()
        for k in cutlass.range_constexpr(0, 32, 8):
            if col0 + c + ty + k < N and row0 + tx < M:
                mY[col0 + c + ty + k, row0 + tx] = sX[tx, ty + k]
        cute.arch.sync_threads()
""",
    }, "needed at least 8,192"),
)  # fmt: skip
