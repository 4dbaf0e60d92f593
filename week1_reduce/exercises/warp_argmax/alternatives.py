"""Other correct solutions to week1/warp_argmax."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("begins with element 0", {
        "largest, column = -Float32.inf, Int32(mX.shape[1])": "largest, column = mX[row, 0].to(Float32), Int32(0)",
    }),
    Wrong("four rows per block", {
        "bidx * 8 + tidx // 32": "bidx * 4 + tidx // 32",
        "shape[0], 8)": "shape[0], 4)",
        "(256, 1, 1)": "(128, 1, 1)",
    }),
    Wrong("the maximum, then its first column", {
        "        for k in cutlass.range_constexpr(5):\n":
            "        best = largest\n        for k in cutlass.range_constexpr(5):\n",
        "            value = cute.arch.shuffle_sync_bfly(largest, offset=16 >> k)\n"
        "            n = cute.arch.shuffle_sync_bfly(column, offset=16 >> k)\n"
        "            if value > largest or (value == largest and n < column):\n"
        "                largest, column = value, n\n":
            "            value = cute.arch.shuffle_sync_bfly(best, offset=16 >> k)\n"
            "            best = cutlass.max(best, value)\n        if largest < best:\n"
            "            column = Int32(mX.shape[1])\n"
            "        for k in cutlass.range_constexpr(5):\n"
            "            n = cute.arch.shuffle_sync_bfly(column, offset=16 >> k)\n"
            "            column = cutlass.min(column, n)\n",
    }),
)  # fmt: skip
