"""Wrong solutions to week2/temperature."""

from forgekit.lessons.wrong import Wrong

FACTOR = "factor = LOG2_E / t"
POWER = "power = cute.math.fma(x, cute.full_like(x, factor), cute.full_like(x, -m * factor))"

WRONG = (
    Wrong("the maximum of half of the lanes", {"cute.arch.warp_reduction(m, cute.arch.fmax)": "cute.arch.shuffle_sync(cute.arch.warp_reduction_max(m, threads_in_group=16), 0)"},
          "With m = 4, n = 480, float32"),
    Wrong("t left out", {FACTOR: "factor = Float32(LOG2_E)"}, "t has no effect"),
    Wrong("times t", {FACTOR: "factor = LOG2_E * t"}, "multiplied by t"),
    Wrong("log2 e left out", {FACTOR: "factor = 1.0 / t"}, "log₂ e is missing"),
    Wrong("the weights divided", {FACTOR: "factor = Float32(LOG2_E)", "(1.0 / s)": "(1.0 / s / t)"},
          "the weights are divided"),
    Wrong("a product of its own", {POWER: "power = x * factor - m * factor"}, "rounded for each element"),
    Wrong("divided first", {FACTOR: "x, m, factor = x / t, m / t, Float32(LOG2_E)"},
          "Divisions per element: 1.0 with m = 8, n = 1,024, float32"),
    Wrong("a division an element", {"e * (1.0 / s)": "e / s"}, "Divisions per element: 1"),
    Wrong("a maximum from -1e4", {"MAX, -Float32.inf": "MAX, Float32(-1e4)"}, "NaN: 8 in actual, 0 in expected"),
    Wrong("t in bfloat16", {FACTOR: "factor = LOG2_E / t.to(cutlass.BFloat16).to(Float32)"}, "float32, the result is wrong"),
    Wrong("a factor in float64", {FACTOR: "factor = (cutlass.Float64(LOG2_E) / t.to(cutlass.Float64)).to(Float32)"}, "the task asks for no float64"),
    Wrong("the first element again", {"        x = rX.load().to(Float32)\n": "        first = gX[(0, 0)].to(Float32)\n        x = rX.load().to(Float32)\n",
          "        factor": "        m = cute.arch.fmax(m, first)\n        factor"}, "threads load 5 elements of mX more than once"),
    Wrong("no maximum", {POWER: "power = x * factor"}, "nothing is subtracted"),
    Wrong("filled with 0", {"rX.fill(-mX.element_type.inf)": "rX.fill(0.0)"}, "treated as a finite number"),
    Wrong(
        "a kernel for each t",
        {"t: Float32, mY: cute.Tensor):\n    tidx": "t: cutlass.Constexpr, mY: cute.Tensor):\n    tidx", "def temperature(mX: cute.Tensor, t: Float32": "def temperature(mX: cute.Tensor, t: cutlass.Constexpr"},
        "each value of t compiles another kernel",
    ),
    Wrong(
        "t of at least 0.3",
        {"factor = LOG2_E / t": "factor = LOG2_E / cute.arch.fmax(t, Float32(0.3))"},
        "in the last 16 columns (8 to 23)",
    ),
    Wrong(
        "t of at most 50",
        {"factor = LOG2_E / t": "factor = LOG2_E / (t if t < 50.0 else Float32(50.0))"},
        "The result with m = 6, n = 520, float32 is also wrong",
    ),
    Wrong(
        "at most 2,048 blocks",
        {"blocks = cute.ceil_div(mX.shape[0], 4)": "blocks = cutlass.min(cute.ceil_div(mX.shape[0], 4), 2048)"},
        "With m = 90,000",
    ),
    Wrong("t and a millionth", {"LOG2_E / t": "LOG2_E / (t + 1e-6)"}, "With m = 2, n = 24, float32, the result is wrong"),
    Wrong("masked by a comparison", {
        "        s = e.reduce": "        e = cute.where(e < 1e-30, cute.full_like(x, 0.0), e)\n        s = e.reduce",
    }, "Float operations per element: 7.4"),
    Wrong("t rounded to the type of x", {
        "factor = LOG2_E / t": "factor = LOG2_E / t.to(mX.element_type).to(Float32)",
    }, "bfloat16, the result is wrong"),
    Wrong("the last row by several warps", {
        "bidx * 4 + tidx // 32, tidx % 32": "cutlass.min(bidx * 4 + tidx // 32, mX.shape[0] - 1), tidx % 32",
    }, "Bytes stored: 8,192 with m = 5"),
    Wrong("m not divided by t", {"-m * factor": "-m * LOG2_E"}, "or a maximum that is not divided by t"),
    Wrong("a division an element of bfloat16", {"e * (1.0 / s)": "e / s if cutlass.const_expr(vec == 8) else e * (1.0 / s)"},
          "Divisions per element: 1.0 with m = 8, n = 1,024, bfloat16"),
    Wrong("no FMA in bfloat16", {POWER: f"{POWER}\n        if cutlass.const_expr(vec == 8):\n            power = (x - m) * factor"},
          "Float operations per element: 6.3 with m = 8, n = 1,024, bfloat16"),
)  # fmt: skip
