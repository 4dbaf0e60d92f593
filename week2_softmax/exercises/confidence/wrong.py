"""Wrong solutions to week2/confidence."""

from forgekit.lessons.wrong import Wrong

SHIFT = "shift = Float32(0.0) if m == -Float32.inf else m"
WEIGHT = "(1.0 / s)"
SHUFFLES = "        for k in cutlass.range_constexpr(5):\n"
AGAIN = """        s = Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            s += cute.math.exp(mX[row, n].to(Float32) - (m if m > -Float32.inf else Float32(0.0)), fastmath=True)
"""
TIE = " or (b[0] == a[0] and b[2] < a[2])"

WRONG = (
    Wrong("exp(m)", {WEIGHT: "(cute.math.exp(m, fastmath=True) / s)"}, "s is relative to m"),
    Wrong("no guard", {SHIFT: "shift = m"}, "part that holds only -inf"),
    Wrong("the sum", {WEIGHT: "s"}, "the weight is 1 divided by it"),
    Wrong("the largest element", {WEIGHT: "m"}, "not its weight"),
    Wrong("no shuffles", {"range_constexpr(5)": "range_constexpr(0)"}, "only lane 0's part"),
    Wrong("ties to anybody", {TIE: ""}, "but not always the first"),
    Wrong("the last of equals", {TIE: " or (b[0] == a[0] and b[2] > a[2] and b[2] < 100000)"}, "that of the last"),
    Wrong("ordered by bits", {"    if b[0] > a[0] or (b[0] == a[0] and b[2] < a[2]):": """    x, y = b[0].bitcast(Int32), a[0].bitcast(Int32)
    x, y = x ^ ((x >> 31) & 0x7FFFFFFF), y ^ ((y >> 31) & 0x7FFFFFFF)
    if x > y or (x == y and b[2] < a[2]):"""}, "not always the first such"),
    Wrong("columns of 16 bits", {"mAt[row] = at": "mAt[row] = at.to(cutlass.Int16).to(Int32)"}, "With m = 8, n = 3"),
    Wrong("a lane begins with its first element", {"            m, s, at = surer((m, s, at), (mX[row, n].to(Float32), Float32(1.0), Int32(n)))\n": """            v = mX[row, n].to(Float32)
            if n < 32:
                m, s, at = v, Float32(1.0), Int32(n)
            else:
                new = cute.arch.fmax(m, v)
                s = s * cute.math.exp(m - new, fastmath=True) + cute.math.exp(v - new, fastmath=True)
                if v > m:
                    at = Int32(n)
                m = new
"""}, "there is NaN where a number is expected"),
    Wrong("a sum near 1 taken for 1", {WEIGHT: "(1.0 / (s if s > 1.0001 else Float32(1.0)))"}, "expected 0.99995"),
    Wrong("read twice", {SHUFFLES: AGAIN + SHUFFLES}, "Bytes requested by loads"),
    Wrong("begins with the lane's first element, and reads it again", {"        for n in range(lane, mX.shape[1], 32):\n": "        if lane < mX.shape[1]:\n            m = mX[row, lane].to(Float32)\n        for n in range(lane, mX.shape[1], 32):\n"},
          "threads load 160 elements of mX more than once"),
    Wrong("sum rounded to the type of x", {"(mX[row, n].to(Float32), Float32(1.0), Int32(n)))\n": "(mX[row, n].to(Float32), Float32(1.0), Int32(n)))\n            s = s.to(mX.element_type).to(Float32)\n"}, "float16, the result is wrong"),
    Wrong("each lane's sum rounded to the type of x", {SHUFFLES: "        s = s.to(mX.element_type).to(Float32)\n" + SHUFFLES},
          "m = 400, n = 200, float16 is also wrong"),
    Wrong("no predicate on the row", {"    if row < mX.shape[0]:": "    if row >= 0:"}, "Out of bounds"),
    Wrong("the maximum begins at -1e38", {
        "m, s, at = -Float32.inf": "m, s, at = Float32(-1e38)"}, "float32, the result is wrong"),
    Wrong("nearly equal is equal", {"    if b[0] > a[0] or (b": "    if b[0] > a[0] + Float32(1e-6) or (b"}, "the result is wrong"),
    Wrong("at most 1,024 blocks", {"blocks = cute.ceil_div(mX.shape[0], 8)": "blocks = min(cute.ceil_div(mX.shape[0], 8), 1024)"},
          "With m = 90,000"),
    Wrong("one lane reads the row", {"range(lane, mX.shape[1], 32)": "range(0 if lane == 0 else mX.shape[1], mX.shape[1])"},
          "0 of 6 groups passed [!] Nothing wasted Percentage of idle lanes"),
)  # fmt: skip

EQUIVALENT = {"line 9: < is <=": "with the same column nothing changes by taking it"}
