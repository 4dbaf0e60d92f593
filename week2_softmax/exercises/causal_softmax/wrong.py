"""Wrong solutions to week2/causal_softmax."""

from forgekit.lessons.wrong import Wrong

KEPT = "if col <= row + N - M:"
LOAD = "mX[row, col].to(Float32) * scale"
SCALED = "(x - m) * math.log2(math.e)"
STORE = "mY[row, col] = rX[k].to(mY.element_type)"

WRONG = (
    Wrong("the maximum of half of the lanes", {"cute.arch.warp_reduction_max(x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))": "cute.arch.shuffle_sync(cute.arch.warp_reduction_max(x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0), threads_in_group=16), 0)"}, "With m = 5, n = 24, float32"),
    Wrong("no mask", {KEPT: "if col < N:"}, "nothing is masked"),
    Wrong("a mask added", {f"{KEPT}\n                rX[k] = {LOAD}": f"""if col < N:
                rX[k] = {LOAD} + (Float32(0.0) if col <= row + N - M else -Float32.inf)"""}, "adding −∞ is not enough"),
    Wrong("masked at the end", {KEPT: "if col < N:", STORE: """value = rX[k] if col <= row + N - M else Float32(0.0)
                mY[row, col] = value.to(mY.element_type)"""}, "they are included in the sum"),
    Wrong("masked after the maximum", {
        KEPT: "if col < N:",
        "        e = cute": """        for k in cutlass.range_constexpr(16):
            if lane + 32 * k > row + N - M:
                rX[k] = -Float32.inf
        x = rX.load()
        e = cute"""}, "taken over the whole row"),
    Wrong("the diagonal too", {KEPT: "if col < row + N - M:"}, "a query sees its own key"),
    Wrong("one too many", {KEPT: "if col <= row + N - M + 1 and col < N:"}, "one column too many"),
    Wrong("the first queries", {KEPT: "if col <= row:"}, "they belong to the last M of N"),
    Wrong("no scale", {LOAD: "mX[row, col].to(Float32)"}, "the scale has no effect"),
    Wrong("scaled twice", {SCALED: f"{SCALED} * scale"}, "applied twice"),
    Wrong("the scale folded into log2 e", {LOAD: "mX[row, col].to(Float32)", SCALED: "(x - m) * (math.log2(math.e) * scale)"},
          "scale times the largest x is the smallest"),
    Wrong("no log2 e", {SCALED: "x - m"}, "2 to the power of x"),
    Wrong("log2 e with exp", {"cute.math.exp2(": "cute.math.exp("}, "one factor log₂ e too many"),
    Wrong("only what is kept is written", {"            if col < N:\n                mY": f"            {KEPT}\n                mY"},
          "every wrong element is NaN (never stored)"),
    Wrong("all of it is read", {
        f"            {KEPT}\n                rX[k] = {LOAD}": f"""            if col < N:
                value = {LOAD}
                if col <= row + N - M:
                    rX[k] = value"""}, "loaded elements do not contribute to the result"),
    Wrong("whole pieces of 32 are read", {
        f"            {KEPT}\n                rX[k] = {LOAD}": f"""            if 32 * k <= row + N - M and col < N:
                value = {LOAD}
                if col <= row + N - M:
                    rX[k] = value"""}, "beyond the diagonal loaded, needed none"),
    Wrong("the scale through bfloat16", {LOAD: f"{LOAD}.to(cutlass.BFloat16).to(Float32)"},
          "bfloat16, the result is wrong"),
    Wrong("read through bfloat16", {
        "mX[row, col].to(Float32) * scale": "mX[row, col].to(cutlass.BFloat16).to(Float32) * scale"},
        "float32, the result is wrong"),
    Wrong("a fill of -1e38", {
        "rX.fill(-Float32.inf)": "rX.fill(-1e38)"}, "every wrong element is 0"),
    Wrong("registers of NaN", {"rX.fill(-Float32.inf)": "rX.fill(Float32.inf - Float32.inf)"}, "every element of actual is NaN (stored by threads)"),
    Wrong(
        "a kernel for each scale",
        {"scale: Float32, mY: cute.Tensor):\n    tidx": "scale: cutlass.Constexpr, mY: cute.Tensor):\n    tidx", "def causal_softmax(mX: cute.Tensor, scale: Float32": "def causal_softmax(mX: cute.Tensor, scale: cutlass.Constexpr"},
        "each value of scale compiles another kernel",
    ),
    Wrong("the first element again", {"        e = cute": """        first = -Float32.inf
        if lane == 0:
            first = mX[row, 0].to(Float32) * scale
        m = cute.arch.fmax(m, cute.arch.shuffle_sync(first, 0))
        e = cute"""}, "threads load 4 elements of mX more than once"),
    Wrong("columns from 256 on again", {"        e = cute": """        for k in cutlass.range_constexpr(8, 16):
            if lane + 32 * k <= row + N - M:
                m = cute.arch.fmax(m, mX[row, lane + 32 * k].to(Float32) * scale)
        e = cute"""}, "threads load 1,018 elements of mX more than once"),
)  # fmt: skip
