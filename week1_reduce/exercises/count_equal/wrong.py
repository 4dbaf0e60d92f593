"""Wrong solutions to week1/count_equal."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong(
        "counts in 8 bits",
        {
            "found = Int32(0)": "found = cutlass.Int8(0)",
            "found += 1": "found = cutlass.Int8(found + 1)",
            "    for k in cutlass": "    found = Int32(found)\n    for k in cutlass",
        },
        "got -3731",
    ),
    Wrong(
        "counts in float64",
        {
            "found = Int32(0)": "found = cutlass.Float64(0.0)",
            "found += 1": "found += cutlass.Float64(1.0)",
            "mY[row] = found": "mY[row] = found.to(Int32)",
        },
        "Floating-point instructions per warp",
    ),
    Wrong(
        "with negatives",
        {"mX[row, n] == v": "mX[row, n] == v or mX[row, n] == -v"},
        "got 1 1 0 1* 1",
    ),
    Wrong("30 bits", {"mX[row, n] == v": "(mX[row, n] ^ v) & 0x3FFFFFFF == 0"}, "elements differ"),
    Wrong(
        "every 33rd element",
        {"range(lane, mX.shape[1], 32)": "range(lane, mX.shape[1], 33)"},
        "got 156* 137* 145* 147*",
    ),
    Wrong("not equal", {"mX[row, n] == v": "mX[row, n] != v"}, "*not* equal to v"),
    Wrong("zeros", {"mX[row, n] == v": "mX[row, n] == 0"}, "counts zeros instead of v"),
    Wrong(
        "adds the elements",
        {
            "                found += 1": "                found += 0\n            found += mX[row, n]"
        },
        "added up, not counted",
    ),
    Wrong(
        "first 32 only",
        {"for n in range(lane, mX.shape[1], 32):": "for n in range(lane, mX.shape[1], 1 << 20):"},
        "only the first 32 elements",
    ),
    Wrong("every lane stores", {" and lane == 0:": ":"}, "elements are stored more than once"),
    Wrong(
        "16 bits",
        {"mX[row, n] == v": "(mX[row, n] & 65535) == (v & 65535)"},
        "got 1 2* 1* 0 1",
    ),
    Wrong(
        "as float32",
        {"mX[row, n] == v": "mX[row, n].to(cutlass.Float32) == v.to(cutlass.Float32)"},
        "n = 1,000, int32, the result is wrong",
    ),
    Wrong(
        "a count of 16 bits", {"mY[row] = found": "mY[row] = found & 65535"}, "m = 1, n = 70,000"
    ),
    Wrong(
        "counts in float32",
        {
            "found = Int32(0)": "found = cutlass.Float32(0.0)",
            "found += 1\n": "found += 1.0\n",
            "mY[row] = found": "mY[row] = found.to(Int32)",
        },
        "the task asks for no floating-point numbers",
    ),
    Wrong(
        "no number below 0",
        {"mX[row, n] == v": "mX[row, n] == cutlass.max(v, 0)"},
        "got 0, expected",
    ),
    Wrong(
        "lane 31 has nothing",
        {
            "shuffle_sync_bfly(found, offset=1 << k)": "shuffle_sync_down(found, offset=1 << k)",
            " and lane == 0:": " and lane == 31:",
        },
        "got 0* 0* 0 0 0*",
    ),
    Wrong(
        "half of the warps, two rows each",
        {
            "    row, lane = bidx * 4 + tidx // 32, tidx % 32\n": "    lane = tidx % 32\n    for row in range(bidx * 4 + tidx // 32, bidx * 4 + 4, 2):\n     if tidx < 64:\n",
            "    found = Int32(0)\n    if row < mX.shape[0]:\n        for n in range(lane, mX.shape[1], 32):\n            if mX[row, n] == v:\n                found += 1\n    for k in cutlass.range_constexpr(5):\n        found += cute.arch.shuffle_sync_bfly(found, offset=1 << k)\n    if row < mX.shape[0] and lane == 0:\n        mY[row] = found": "         found = Int32(0)\n         if row < mX.shape[0]:\n             for n in range(lane, mX.shape[1], 32):\n                 if mX[row, n] == v:\n                     found += 1\n         for k in cutlass.range_constexpr(5):\n             found += cute.arch.shuffle_sync_bfly(found, offset=1 << k)\n         if row < mX.shape[0] and lane == 0:\n             mY[row] = found",
        },
        "32 shares, but the kernel loads it with 16 warps, in",
    ),
    Wrong(
        "0 past the end of a row",
        {
            "for n in range(lane, mX.shape[1], 32):\n            if mX[row, n] == v:": "for n in range(0, mX.shape[1], 32):\n            value = Int32(0)\n            if n + lane < mX.shape[1]:\n                value = mX[row, n + lane]\n            if value == v:"
        },
        "With m = 3, n = 3, int32, the result is wrong",
    ),
    Wrong(
        "INT_MIN past the end of a row",
        {
            "for n in range(lane, mX.shape[1], 32):\n            if mX[row, n] == v:": "for n in range(0, mX.shape[1], 32):\n            value = Int32(-(2**31))\n            if n + lane < mX.shape[1]:\n                value = mX[row, n + lane]\n            if value == v:"
        },
        "With m = 2, n = 2, int32, the result is wrong",
    ),
    Wrong(
        "-1 past the end",
        {
            "        for n in range(lane, mX.shape[1], 32):\n            if mX[row, n] == v:\n": "        for k in range(cute.ceil_div(mX.shape[1], 32)):\n            n = k * 32 + lane\n            value = mX[row, n] if n < mX.shape[1] else -1\n            if value == v:\n"
        },
        "every element of actual is 39",
    ),
    Wrong(
        "2^31 - 1 past the end",
        {
            "        for n in range(lane, mX.shape[1], 32):\n            if mX[row, n] == v:\n": "        for k in range(cute.ceil_div(mX.shape[1], 32)):\n            n = k * 32 + lane\n            value = mX[row, n] if n < mX.shape[1] else Int32(2**31 - 1)\n            if value == v:\n"
        },
        "every element of actual is 9",
    ),
    Wrong(
        "a kernel for each v",
        {
            "def count_equal(mX: cute.Tensor, v: Int32": "def count_equal(mX: cute.Tensor, v: cutlass.Constexpr",
            "def count_equal_kernel(mX: cute.Tensor, v: Int32": "def count_equal_kernel(mX: cute.Tensor, v: cutlass.Constexpr",
        },
        "each value of v compiles another kernel",
    ),
)
