"""Wrong solutions to week2/logsumexp."""

from forgekit.lessons.wrong import Wrong

GUARD = "shift = Float32(0.0) if m == -Float32.inf else m"
LOG = "cute.math.log(s, fastmath=True)"
RESULT = f"(shift + {LOG})"
LOOP = """        for n in range(lane, mX.shape[1], 32):
            m = """
SHARE = "        m = cute.arch.warp_reduction(m, cute.arch.fmax)\n"

WRONG = (
    Wrong("nothing subtracted", {GUARD: "shift = Float32(0.0)"}, "nothing seems to be subtracted"),
    Wrong("no guard", {GUARD: "shift = m"}, "only rows that are all -inf are wrong"),
    Wrong("not added again", {RESULT: LOG}, "not added back outside"),
    Wrong("no logarithm", {LOG: "s"}, "the logarithm is missing"),
    Wrong("base 2", {LOG: "cute.math.log2(s, fastmath=True)"}, "to the base 2"),
    Wrong("each lane its own maximum", {SHARE: ""}, "With m = 5, n = 5"),
    Wrong("the maximum begins at 0", {"m, s = -Float32.inf,": "m, s = Float32(0.0),"},
          "Does the maximum start at −∞"),
    Wrong("0 subtracted from every small row", {"m == -Float32.inf": "m < -60000.0"},
          "subtracts a number far above them"),
    Wrong("half of the row in the maximum", {LOOP: LOOP.replace("shape[1], 32", "shape[1], 64")}, "With m = 4, n ="),
    Wrong("added up in the type of x", {"s += cute.math.exp(mX[row, n].to(Float32) - shift, fastmath=True)":
          "s = (s + cute.math.exp(mX[row, n].to(Float32) - shift, fastmath=True)).to(mX.element_type).to(Float32)"},
          "float16, the result is wrong"),
    Wrong("sums not added", {"        s = cute.arch.warp_reduction(s, operator.add)\n": ""},
          "only lane 0's part"),
    Wrong("every lane reads the row", {LOOP: LOOP.replace("lane, mX.shape[1], 32", "mX.shape[1]")},
          "the limit is"),
    Wrong("the maximum begins at -1e38", {
        "m, s = -Float32.inf,": "m, s = Float32(-1e38),"}, "float32, the result is wrong"),
    Wrong("the maximum begins at the first element", {"m, s = -Float32.inf,": "m, s = mX[row, 0].to(Float32),"},
          "threads load 9 elements of mX more than twice"),
)  # fmt: skip
