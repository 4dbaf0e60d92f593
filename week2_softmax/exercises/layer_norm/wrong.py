"""Wrong solutions to week2/layer_norm."""

from forgekit.lessons.wrong import Wrong

SQUARES = """        if tidx + 128 * k < mX.shape[1]:
            rX[k] -= mean
            squares += rX[k] * rX[k]
"""
ONE_PASS = """        squares += rX[k] * rX[k]
        rX[k] -= mean
"""
VARIANCE = "variance = block_sum(squares, sPart[None, 1]) / length"
STORED = "y = rX[k] * scale * mW[n].to(Float32) + mB[n].to(Float32)"
BARRIER = "    cute.arch.sync_threads()\n"

SHIFTED = """        if tidx + 128 * k < mX.shape[1]:
            squares += (rX[k] - 1000.0) * (rX[k] - 1000.0)
            rX[k] -= mean
"""

WRONG = (
    Wrong("distances from the first element, loaded by all threads", {
        "length = Float32(mX.shape[1])\n": "length = Float32(mX.shape[1])\n    first = mX[row, 0].to(Float32)\n",
        "k].to(Float32)\n": "k].to(Float32) - first\n"},
          "threads load 5 elements of mX more than once"),
    Wrong("distances from 1000", {SQUARES: SHIFTED, VARIANCE: f"{VARIANCE} - (mean - 1000.0) * (mean - 1000.0)"},
          "each wrong row is x - mean with a wrong factor"),
    Wrong("mean of squares less square of mean",
          {SQUARES: ONE_PASS, VARIANCE: f"{VARIANCE} - mean * mean"}, "has few correct digits near a million"),
    Wrong("registers without an element", {SQUARES: SQUARES.replace("tidx + 128 * k", "tidx")
          .replace("< mX.shape[1]", ">= 0")}, "each adds the square of 0 - mean"),
    Wrong("nothing is read", {"            x = mX[row, tidx + 128 * k].to(Float32)\n": "            x = Float32(0.0)\n"}, "no thread reads mX"),
    Wrong("divided by N - 1", {VARIANCE: VARIANCE.replace("length", "(length - 1.0)")},
          "is divided by N - 1"),
    Wrong("not divided", {VARIANCE: VARIANCE.replace(" / length", "")}, "is not divided by N"),
    Wrong("not centred", {STORED: STORED.replace("rX[k]", "(rX[k] + mean)")}, "the mean is not subtracted"),
    Wrong("weight and bias in the input's type", {"(rX[k]": "(rX[k]"} if False else {STORED:
          "y = ((rX[k] * scale).to(mX.element_type) * mW[n] + mB[n]).to(Float32)"}, "float16, the result is wrong"),
    Wrong("squares added up in the input's type", {"squares += rX[k] * rX[k]": "squares = (squares + rX[k] * rX[k]).to(mX.element_type).to(Float32)"},
          "float16, the result is wrong. WRONG mY:"),
    Wrong("no bias", {STORED: STORED.replace(" + mB[n].to(Float32)", "")}, "the bias is not added"),
    Wrong("no weight", {STORED: STORED.replace(" * mW[n].to(Float32)", "")},
          "not multiplied by the weight"),
    Wrong("no eps", {"variance + eps": "variance"}, "the values are those of an eps of 0"),
    Wrong("eps written in", {"variance + eps": "variance + 1e-5"}, "eps, such as 0.00001"),
    Wrong("the variance at least 0.001", {"variance + eps": "cute.arch.fmax(variance, 1e-3) + eps"}, "If the square of the mean is subtracted"),
    Wrong("eps in float16", {"variance + eps": "variance + eps.to(cutlass.Float16).to(Float32)"}, "float32, the result is wrong"),
    Wrong("eps and 0.00001", {"variance + eps": "variance + eps + 1e-5"}, "With m = 2, n = 100, float32, the result is wrong"),
    Wrong("the larger of variance and eps", {"variance + eps": "cutlass.max(variance, eps)"}, "of an eps of 0"),
    Wrong("w in float16", {"mW[n].to(Float32)": "mW[n].to(cutlass.Float16).to(Float32)"}, "also wrong. Next:"),
    Wrong("eps outside", {"cute.math.rsqrt(variance + eps, fastmath=True)": "1.0 / (cute.math.sqrt(variance) + eps)"},
          "eps is added to the root"),
    Wrong("words used twice", {"sPart[None, 1]": "sPart[None, 0]"}, "sPart[warp] = value"),
    Wrong("no barrier", {BARRIER: ""}, "return sPart[0] + sPart[1]"),
    Wrong("a barrier too many", {"return sPart[0] + sPart[1] + sPart[2] + sPart[3]": """total = sPart[0] + sPart[1] + sPart[2] + sPart[3]
    cute.arch.sync_threads()
    return total"""}, "asks for at most 2 barriers"),
    Wrong("the mean inside the bias", {STORED: "w = scale * mW[n].to(Float32)\n            y = (rX[k] + mean) * w + (mB[n].to(Float32) - mean * w)"},
          "m = 3, n = 31, float32 is also wrong. Next:"),
    Wrong("divided before the block's sum", {"block_sum(total, sPart[None, 0]) / length": "block_sum(total / length, sPart[None, 0])"},
          "Divide by N only once"),
    Wrong("times 1 / N", {"block_sum(total, sPart[None, 0]) / length": "block_sum(total, sPart[None, 0]) * (1.0 / length)"},
          "do not multiply by 1 / N"),
    Wrong("eps at least a millionth", {"variance + eps": "variance + cute.arch.fmax(eps, Float32(1e-6))"}, "the result is wrong"),
    Wrong("times one over the length", {
        "sPart[None, 0]) / length": "sPart[None, 0]) * (Float32(1.0) / length)",
    }, "With m = 3, n = 1,000, float32, the result is wrong"),
    Wrong("each element divided by N", {
        "total += x\n": "total += x / length\n",
        ", 0]) / length": ", 0])",
    }, "all mismatches are in row 10"),
)  # fmt: skip

EQUIVALENT = {"line 5: no predicate": "after the butterfly all lanes of a warp hold its sum"}
