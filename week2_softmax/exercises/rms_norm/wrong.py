"""Wrong solutions to week2/rms_norm."""

from forgekit.lessons.wrong import Wrong

SCALE = "cute.math.rsqrt(total / Float32(mX.shape[1]) + eps, fastmath=True)"
LOAD = """            if lane + 32 * k < mX.shape[1]:
                x = mX[row, lane + 32 * k].to(Float32)
            rX[k] = x
            total += x * x
"""
NARROW = """            if lane + 32 * k < mX.shape[1]:
                narrow = mX[row, lane + 32 * k]
                x = narrow.to(Float32)
                total += (narrow * narrow).to(Float32)
            rX[k] = x
"""
CENTRED = f"""        mean = cute.arch.warp_reduction(rX.load().reduce(cute.ReductionOp.ADD, 0.0, 0),
                                        operator.add) / Float32(mX.shape[1])
        total = Float32(0.0)
        for k in cutlass.range_constexpr(16):
            if lane + 32 * k < mX.shape[1]:
                rX[k] -= mean
                total += rX[k] * rX[k]
        total = cute.arch.warp_reduction(total, operator.add)
        scale = {SCALE}
"""
REDUCED = "        total = cute.arch.warp_reduction(total, operator.add)\n"
PRODUCT = "rX[k] * scale * mW[n].to(Float32)"

WRONG = (
    Wrong("weight forgotten", {PRODUCT: "rX[k] * scale"}, "not multiplied by the weight"),
    Wrong("weight of the lane", {"mW[n]": "mW[k]"}, "is multiplied by w[0] for n < 32"),
    Wrong("eps forgotten", {" + eps, fast": ", fast"}, "eps is missing, or is not added before the root."),
    Wrong("eps written in", {" + eps, fast": " + 1e-5, fast"}, "very small eps, such as 0.00001"),
    Wrong("eps outside", {SCALE: "1.0 / (cute.math.sqrt(total / Float32(mX.shape[1])) + eps)"},
          "it belongs under it"),
    Wrong("sum for mean", {"total / Float32(mX.shape[1])": "total"}, "the mean is missing"),
    Wrong("no root", {SCALE: "1.0 / (total / Float32(mX.shape[1]) + eps)"}, "the root is missing"),
    Wrong("centred", {REDUCED: "", f"        scale = {SCALE}\n": CENTRED}, "that is LayerNorm"),
    Wrong("squared in the input's type", {LOAD: NARROW}, "the square of 300 is 90,000"),
    Wrong("mean of the registers", {"total / Float32(mX.shape[1])": "total / Float32(512)"},
          "divided by 512"),
    Wrong("registers begin at 1", {"x = Float32(0.0)": "x = Float32(1.0)"},
          "hold 1 for elements that do not exist"),
    Wrong("the first element again", {REDUCED: REDUCED + "        total += 0.0 * mX[row, 0].to(Float32)\n"}, "threads load 5 elements of mX more than once"),
    Wrong("a mean in float64", {"total / Float32(mX.shape[1])": "(total.to(cutlass.Float64) / cutlass.Float64(mX.shape[1])).to(Float32)"},
          "the task asks for no float64"),
    Wrong("a factor of at most 1,000", {SCALE: f"cute.arch.fmin({SCALE}, 1000.0)"}, "With m = 2, n = 125"),
    Wrong("a mean square of at most 65,504", {"total / Float32(mX.shape[1])": "cute.arch.fmin(total / Float32(mX.shape[1]), 65504.0)"},
          "the result is wrong"),
    Wrong("read twice", {PRODUCT: PRODUCT.replace("rX[k]", "mX[row, n].to(Float32)")},
          "or are loaded more often than needed"),
)  # fmt: skip
