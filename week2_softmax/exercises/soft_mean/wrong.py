"""Wrong solutions to week2/soft_mean."""

from forgekit.lessons.wrong import Wrong

TOTAL = "            total += e * mV[n].to(Float32)\n"
SECOND = """        s, total = Float32(0.0), Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            e = cute.math.exp(mX[row, n].to(Float32) - m, fastmath=True)
            s += e
"""
THREE = """        s, total = Float32(0.0), Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            s += cute.math.exp(mX[row, n].to(Float32) - m, fastmath=True)
        for n in range(lane, mX.shape[1], 32):
            e = cute.math.exp(mX[row, n].to(Float32) - m, fastmath=True)
"""
SHARE_TOTAL = "        total = cute.arch.warp_reduction(total, operator.add)\n"

WRONG = (
    Wrong("nothing subtracted", {"mX[row, n].to(Float32) - m,": "mX[row, n].to(Float32),"},
          "as if nothing were subtracted"),
    Wrong("products in float16", {"total += e * mV[n].to(Float32)": "total += (e.to(mX.element_type) * mV[n]).to(Float32)"},
          "n = 39, float16, the result is wrong"),
    Wrong("not divided", {"(total / s)": "total"}, "not divided by the sum"),
    Wrong("values left out", {TOTAL: "            total += e\n"}, "the values are missing"),
    Wrong("divided by N", {"(total / s)": "(total / s / Float32(mX.shape[1]))"}, "also divided by N"),
    Wrong("half of the row in the maximum", {
        "            m = cute.arch.fmax(m, mX[row, n].to(Float32))\n":
        "            if n % 64 < 32:\n                m = cute.arch.fmax(m, mX[row, n].to(Float32))\n"}, "NaN: 1 in actual"),
    Wrong("a maximum in steps of 33", {"        for n in range(lane, mX.shape[1], 32):\n            m = ":
          "        for n in range(lane, mX.shape[1], 33):\n            m = "}, "With m = 9, n = 33, float32, the result is wrong"),
    Wrong("each lane its own maximum", {"        m = cute.arch.warp_reduction(m, cute.arch.fmax)\n": ""},
          "each lane subtracts its own maximum"),
    Wrong("the largest share of the sum", {"s = cute.arch.warp_reduction(s, operator.add)":
          "s = cute.arch.warp_reduction(s, cute.arch.fmax)"}, "n = 37, float32, the result is wrong"),
    Wrong("all weigh the same", {"            s += e\n": "            e = Float32(1.0)\n            s += e\n"},
          "all values have the same weight"),
    Wrong("the best alone", {"            s += e\n":
          "            e = Float32(1.0) if e == 1.0 else Float32(0.0)\n            s += e\n"},
          "only the value beside the largest"),
    Wrong("one sum not shared", {SHARE_TOTAL: ""}, "only lane 0's part"),
    Wrong("three passes", {SECOND: THREE}, "Bytes requested by loads"),
    Wrong("adds in the input's type", {
        "s += e\n": "s = (s + e).to(mX.element_type).to(Float32)\n"},
        "float16, the result is wrong"),
    Wrong("the maximum begins at -1e38", {
        "m = -Float32.inf": "m = Float32(-1e38)"}, "float32, the result is wrong"),
    Wrong("the maximum begins with the lane's first element", {"m = -Float32.inf": "m = -Float32.inf\n        if lane < mX.shape[1]:\n            m = mX[row, lane].to(Float32)"}, "elements of mX more than twice"),
)  # fmt: skip
