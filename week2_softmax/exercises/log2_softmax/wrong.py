"""Wrong solutions to week2/log2_softmax."""

from forgekit.lessons.wrong import Wrong

LAST = "rX.store(t - cute.math.log2(s, fastmath=True))"
T = "t = cute.math.fma(x, cute.full_like(x, LOG2_E), cute.full_like(x, -m * LOG2_E))"
E = "e = cute.math.exp2(t, fastmath=True)"

WRONG = (
    Wrong("the natural logarithm", {LAST: "rX.store((t - cute.math.log2(s, fastmath=True)) * 0.6931471805599453)"},
          "the natural one"),
    Wrong("the weights", {LAST: "rX.store(e * (1.0 / s))"}, "the values are the weights"),
    Wrong("logarithm of the weights", {LAST: "rX.store(cute.math.log2(e * (1.0 / s), fastmath=True))"},
          "a finite logarithm belongs"),
    Wrong("m added", {"-m * LOG2_E))": "m * LOG2_E))"}, "got -inf* expected 0 Next"),
    Wrong("a row of -inf is -inf", {
        "-m * LOG2_E))": "-(Float32(0.0) if m == -Float32.inf else m) * LOG2_E))",
        LAST: "rX.store(t - (Float32(0.0) if m == -Float32.inf else cute.math.log2(s, fastmath=True)))"},
          "NaN: 0 in actual"),
    Wrong("without the sum", {LAST: "rX.store(t)"}, "log₂ of the row's sum is missing"),
    Wrong("natural logarithm of the sum", {"cute.math.log2(s": "cute.math.log(s"}, "the natural logarithm of the sum"),
    Wrong("log2 e forgotten", {T: "t = x - m"}, "log₂ e is missing"),
    Wrong("filled with 0", {"rX.fill(-Float32.inf)": "rX.fill(0.0)"}, "treated as a finite number"),
    Wrong("by the natural logarithm", {T: "t = x - m", E: "e = cute.math.exp(t, fastmath=True)",
                                       LAST: "rX.store((t - cute.math.log(s)) * 1.4426950408889634)"},
          "Float operations per element: 7"),
    Wrong("no shuffles of the sum", {"        s = cute.arch.warp_reduction(s, operator.add)\n": ""},
          "the logarithm of their own sum"),
    Wrong("the maximum begins at the first element", {"x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)": "x.reduce(cute.ReductionOp.MAX, mX[row, 0].to(Float32), 0)"},
          "threads load 5 elements of mX more than once"),
    Wrong("surplus warps repeat the last row", {"    if row < mX.shape[0]:\n": "    row = cutlass.min(row, mX.shape[0] - 1)\n    if row >= 0:\n"}, "Bytes stored"),
)  # fmt: skip
