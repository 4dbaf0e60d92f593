"""Wrong solutions of week2/confidence."""

from forgekit.lessons.wrong import Wrong

SHIFT = "shift = Float32(0.0) if m == -Float32.inf else m"
WEIGHT = "(1.0 / s)"
SHUFFLES = "        for k in cutlass.range_constexpr(5):\n"
AGAIN = """        s = Float32(0.0)
        for n in range(lane, mX.shape[1], 32):
            s += cute.math.exp(mX[row, n].to(Float32) - m, fastmath=True)
"""
TIE = " or (b[0] == a[0] and b[2] < a[2])"
OWN = "s = a[1] * cute.math.exp(a[0] - shift, fastmath=True)"

WRONG = (
    Wrong("exp(m)", {WEIGHT: "(cute.math.exp(m, fastmath=True) / s)"}, "s is relative to m"),
    Wrong("nothing subtracted", {SHIFT: "shift = Float32(0.0)"}, "Inf: 1 in actual"),
    Wrong("no guard", {SHIFT: "shift = m"}, "has seen nothing but -inf"),
    Wrong("the sum", {WEIGHT: "s"}, "the weight is 1 divided by it"),
    Wrong("the largest element", {WEIGHT: "m"}, "not its weight"),
    Wrong("no shuffles", {"range_constexpr(5)": "range_constexpr(0)"}, "only what lane 0 has seen"),
    Wrong("not rescaled", {OWN: "s = a[1]"}, "got 0.4286026, expected 0.7874315"),
    Wrong("ties to anybody", {TIE: ""}, "but not always the first"),
    Wrong("the later one of a lane", {"        for n in range(lane, mX.shape[1], 32):\n            m, s, at = surer((m, s, at), (mX[row, n].to(Float32), Float32(1.0), Int32(n)))\n": """        for n in range(lane, mX.shape[1], 32):
            x = mX[row, n].to(Float32)
            later = Int32(n) if x >= m else at
            m, s, at = surer((m, s, at), (x, Float32(1.0), Int32(n)))
            at = later
"""}, "Equal ones meet in the loop of a lane"),
    Wrong("an identity of -10,000", {"m, s, at = -Float32.inf": "m, s, at = Float32(-1.0e4)"}, "float32 the result is wrong"),
    Wrong("the last of equals", {TIE: " or (b[0] == a[0] and b[2] > a[2] and b[2] < 100000)"}, "this is the last of them"),
    Wrong("read twice", {SHUFFLES: AGAIN + SHUFFLES}, "Bytes that threads ask for in loads"),
    Wrong("no predicate on the row", {"    if row < mX.shape[0]:": "    if row >= 0:"}, "Out of bounds"),
    Wrong("a fixed grid", {"grid=(blocks, 1, 1)": "grid=(64, 1, 1)"}, "Threads launched"),
)  # fmt: skip

EQUIVALENT = {"line 9: < is <=": "with the same column nothing changes by taking it"}
