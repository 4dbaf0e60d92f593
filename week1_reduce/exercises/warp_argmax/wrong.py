"""Wrong solutions to week1/warp_argmax."""

from forgekit.lessons.wrong import Wrong

INNER = """            if value > largest or (value == largest and n < column):
                largest, column = value, Int32(n)"""
OUTER = """            if value > largest or (value == largest and n < column):
                largest, column = value, n
"""
SHUFFLES = (
    """        for k in cutlass.range_constexpr(5):
            value = cute.arch.shuffle_sync_bfly(largest, offset=16 >> k)
            n = cute.arch.shuffle_sync_bfly(column, offset=16 >> k)
"""
    + OUTER
)

WRONG = (
    Wrong("the row in 16 bits", {"bidx * 8 + tidx // 32": "Int32(cutlass.Int16(bidx * 8 + tidx // 32))"},
          "Out of bounds"),
    Wrong("the row in 16 bits without a sign", {"bidx * 8 + tidx // 32": "Int32(cutlass.Uint16(bidx * 8 + tidx // 32))"},
          "With m = 90,000, n = 1, float32, the result"),
    Wrong("the column in 16 bits", {"value, Int32(n)": "value, Int32(cutlass.Int16(n))"},
          "float32, the result is wrong"),
    Wrong("the last one", {INNER: INNER.replace("n < column", "n > column").replace(
        "> largest or", "> largest or column == mX.shape[1] or"),
        OUTER: OUTER.replace("value == largest and n < column",
                             "value == largest and n > column and n < mX.shape[1]")},
        "this is the column of the last"),
    Wrong("ties go to the other lane", {OUTER: OUTER.replace(
        "value > largest or (value == largest and n < column)", "value >= largest")},
        "each column contains a largest element"),
    Wrong("the smallest", {"-Float32.inf": "Float32.inf", INNER: INNER.replace("value >", "value <"),
                           OUTER: OUTER.replace("value >", "value <")}, "the column of the smallest element"),
    Wrong("the value", {"mY[row] = column": "mY[row] = largest.to(mY.element_type)"},
          "the largest element, not its column"),
    Wrong("no shuffles", {SHUFFLES: ""}, "the elements of lanes 1 to 31 are missing"),
    Wrong("shuffles inside a predicate on the column", {
        SHUFFLES: "        if lane < mX.shape[1]:\n" + "".join(
            f"    {line}\n" for line in SHUFFLES.splitlines())}, "that lane does not take part"),
    Wrong("one block per row", {"cute.ceil_div(mX.shape[0], 8)": "mX.shape[0]"}, "asks for one warp per row"),
    Wrong("begins with -3e38 and column 0", {
        "largest, column = -Float32.inf, Int32(mX.shape[1])": "largest, column = Float32(-3e38), Int32(0)"},
        "result is wrong"),
    Wrong("begins with the smallest number and column 0", {
        "largest, column = -Float32.inf, Int32(mX.shape[1])": "largest, column = Float32(-3.4028235e38), Int32(0)"},
        "With m = 17, n = 32, float32, the result is wrong"),
    Wrong("begins with -1e9", {
        "largest, column = -Float32.inf": "largest, column = Float32(-1e9)"}, "Does the maximum start at −∞"),
    Wrong("the column is not shuffled", {"n = cute.arch.shuffle_sync_bfly(column, offset=16 >> k)": "n = column"}, "the column of the largest of elements 0, 32, 64"),
    Wrong("compares in bfloat16", {"value = mX[row, n].to(Float32)": "value = mX[row, n].to(cutlass.BFloat16).to(Float32)"},
          "got 0 21* 35 21*"),
    Wrong("no rule for ties", {INNER: INNER.replace(" or (value == largest and n < column)", ""), OUTER: OUTER.replace(" or (value == largest and n < column)", "")}, "but not the first one: compare"),
    Wrong("keeps the column it begins with", {INNER: INNER.replace(" or (value == largest and n < column)", "")},
          "in a row of −∞ the column belongs to no element"),
    Wrong("no store in the last row", {"        if lane == 0:\n": "        if lane == 0 and row + 1 < mX.shape[0]:\n"}, "no thread stores mY[3]"),
    Wrong("keeps the column -1", {INNER: INNER.replace(" or (value == largest and n < column)", ""),
                                  "Int32(mX.shape[1])": "Int32(-1)"}, "as if the search keeps its initial column"),
    Wrong("every second piece", {"range(lane, mX.shape[1], 32)": "range(lane, mX.shape[1], 64)"}, "got 0 21* 78* 21*"),
    Wrong("a column from another lane", {"shuffle_sync_bfly(largest, offset=16 >> k)":
          "shuffle_sync_bfly(largest, offset=8 >> k)"}, "got 0 27* 35 59*"),
    Wrong("a lane with the largest value searches its elements again", {
        "            if value > largest or (value == largest and n < column):\n                largest, column = value, Int32(n)\n": "            largest = cutlass.max(largest, value)\n        best = cute.arch.warp_reduction(largest, cutlass.max)\n        if largest == best:\n            n = Int32(lane)\n            while n < column:\n                if mX[row, n].to(Float32) == best:\n                    column = n\n                n += 32\n",
    }, "more than once; the first is"),
    Wrong("compares bits", {"largest, column = -Float32.inf, Int32(mX.shape[1])": "largest, column = Int32(-(2**31)), Int32(mX.shape[1])",
        "            value = mX[row, n].to(Float32)\n": "            value = mX[row, n].to(Float32).bitcast(Int32)\n"
        "            value = value ^ ((value >> 31) & 0x7FFFFFFF)\n"}, "[12]: got 11, expected 10"),
)  # fmt: skip

SAME = "a column is compared with itself only where nothing changes by taking it"
EQUIVALENT = {"line 10: < is <=": SAME, "line 15: < is <=": SAME}
