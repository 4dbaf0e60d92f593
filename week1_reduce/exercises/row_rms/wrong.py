"""Wrong solutions to week1/row_rms."""

from forgekit.lessons.wrong import Wrong

SQUARE = """        value = mX[row, n].to(Float32)
        total += value * value"""
NARROW = """        value = mX[row, n]
        total += (value * value).to(Float32)"""
ROOT = "cute.math.sqrt(mean)"
ROUND = "        cute.arch.sync_threads()\n"

WRONG = (
    Wrong("sum of squares", {"sSum[0] / Float32(mX.shape[1])": "sSum[0]", ROOT: "mean"},
          "this is the sum of the squares"),
    Wrong("no mean", {"sSum[0] / Float32(mX.shape[1])": "sSum[0]"}, "the square root of the sum"),
    Wrong("no root", {ROOT: "mean"}, "the square root is missing"),
    Wrong("nothing squared", {"value * value": "value", ROOT: "mean"}, "nothing is squared"),
    Wrong("squared in float16", {SQUARE: NARROW}, "the square of 301 exceeds it"),
    Wrong("mean rounded to the input's type", {"sqrt(mean)": "sqrt(mean.to(mX.element_type).to(Float32))"},
          "the mean is rounded to the type of x"),
    Wrong("mean of the threads", {"Float32(mX.shape[1])": "Float32(128)"}, "the result is wrong"),
    Wrong("begins at 1", {"Float32(0.0)": "Float32(1.0)"}, "seems to start its sum at 1"),
    Wrong("a sum in float64", {"total = Float32(0.0)": "total = cutlass.Float64(0.0)", "total += value * value": "total += value.to(cutlass.Float64) * value.to(cutlass.Float64)",
          "sSum[tidx] = total\n": "sSum[tidx] = total.to(Float32)\n"}, "the task asks for no float64"),
    Wrong("no barrier", {ROUND: ""}, "Race in shared memory"),
    Wrong("a barrier too many", {"    if tidx == 0:": "    cute.arch.sync_threads()\n    if tidx == 0:"},
          "asks for at most 7 barriers"),
    Wrong("read through bfloat16", {
        "value = mX[row, n].to(Float32)": "value = mX[row, n].to(cutlass.BFloat16).to(Float32)"},
        "With m = 2, n = 5, float32"),
    Wrong("1e-12 added to the mean", {ROOT: "cute.math.sqrt(mean + 1e-12)"}, "With m = 3, n = 31"),
    Wrong("a reciprocal root", {"cute.math.sqrt(mean)": "(mean * cute.math.rsqrt(mean))"}, "NaN: 1 in actual"),
    Wrong("each element doubled in its own type", {"value = mX[row, n].to(Float32)":
        "value = (mX[row, n] + mX[row, n]).to(Float32) * 0.5"}, "16-bit floating-point operations beyond one per stored element"),
    Wrong("N through float16", {"Float32(mX.shape[1])": "cutlass.Float16(mX.shape[1]).to(Float32)"}, "With m = 2, n = 2,049, float32"),
    Wrong("N rounded to the input's type", {"Float32(mX.shape[1])": "mX.element_type(mX.shape[1]).to(Float32)"},
          "With m = 4, n = 2,049, float16"),
    Wrong("bfloat16 sums of the threads", {"sSum[tidx] = total\n":
        "sSum[tidx] = total\n    if cutlass.const_expr(mX.element_type is cutlass.BFloat16):\n"
        "        sSum[tidx] = total.to(cutlass.BFloat16).to(Float32)\n"}, "n = 257, bfloat16 is also wrong"),
    Wrong("a tree for each 1,024 elements", {"    total = Float32(0.0)\n    for n in range(tidx, mX.shape[1], 128):\n" + SQUARE: """    whole = Float32(0.0)
    for begin in range(0, mX.shape[1], 1024):
      if begin > 0:
        cute.arch.sync_threads()
      total = Float32(0.0)
      for n in range(begin + tidx, min(begin + 1024, mX.shape[1]), 128):
        value = mX[row, n].to(Float32)
        total += value * value""",
          "    sSum[tidx] = total\n    for k in cutlass.range_constexpr(7):\n        cute.arch.sync_threads()\n        half = 64 >> k\n"
          "        if tidx < half:\n            sSum[tidx] += sSum[tidx + half]\n": """      sSum[tidx] = total
      for k in cutlass.range_constexpr(7):
        cute.arch.sync_threads()
        half = 64 >> k
        if tidx < half:
            sSum[tidx] += sSum[tidx + half]
      if tidx == 0:
        whole += sSum[0]
""", "mean = sSum[0] /": "mean = whole /"}, "Barriers: 39 with m = 9, n = 5,000"),
    Wrong("bfloat16 read through float16", {"value = mX[row, n].to(Float32)":
        "value = mX[row, n].to(Float32)\n        if cutlass.const_expr(mX.element_type is cutlass.BFloat16):\n"
        "            value = mX[row, n].to(cutlass.Float16).to(Float32)"}, "bfloat16, the result is wrong"),
)  # fmt: skip
