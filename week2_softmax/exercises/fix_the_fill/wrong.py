"""Wrong solutions to week2/fix_the_fill."""

from forgekit.lessons.wrong import Wrong

FILL = "tXrX.fill(-Float32.inf)"
COPY = "cute.copy(tiled_copy, tXgX, tXrX, pred=tXpX)"
SCALAR = """tXcX = thr_copy.partition_S(cX[(None, None), (bidx, 0)])
    for j in cutlass.range_constexpr(4):
        for k in cutlass.range_constexpr(4):
            if cute.elem_less(tXcX[(j, 0), 0, k], shape):
                tXrX[(j, 0), 0, k] = tXgX[(j, 0), 0, k]"""

WRONG = (
    Wrong("as given", {FILL: "tXrX.fill(0.0)"}, "they raise the maximum"),
    Wrong("a large negative number", {FILL: "tXrX.fill(-10000.0)"}, "as a finite number"),
    Wrong("the lowest number", {FILL: "tXrX.fill(-3.4028234663852886e38)"}, "which is then the largest of all"),
    Wrong("each 0 taken for missing", {FILL: "tXrX.fill(0.0)", "    x = tXrX.load()\n": "    x = tXrX.load()\n    x = cute.where(x == 0.0, cute.full_like(x, -Float32.inf), x)\n"},
          "With m = 2, n = 4"),
    Wrong("NaN avoided", {"tXrX.store(e * (1.0 / s))": "tXrX.store(e * (1.0 / s) if s > 0.0 else cute.full_like(e, 0.0))",
          "    e = cute": "    m = Float32(0.0) if m == -Float32.inf else m\n    e = cute"}, "or the kernel avoids NaN"),
    Wrong("100 below the least", {FILL: "tXrX.fill(Float32.inf)", "    x = tXrX.load()\n": """    x = tXrX.load()
    low = cute.arch.warp_reduction(x.reduce(cute.ReductionOp.MIN, Float32.inf, 0), cute.arch.fmin)
    for k in cutlass.range_constexpr(4):
        for j in cutlass.range_constexpr(4):
            tXrX[(j, 0), 0, k] = tXrX[(j, 0), 0, k] if tXpX[0, 0, k] else low - 100.0
    x = tXrX.load()
"""}, "every wrong element is 0.001953125"),
    Wrong("filled after the copy", {f"{FILL}\n    {COPY}": f"{COPY}\n    {FILL}"},
          "no thread reads mX"),
    Wrong("at most 1e4 is subtracted", {"    e = cute": "    m = cute.arch.fmin(m, Float32(1e4))\n    e = cute"}, "With m = 5, n = 172, float32, the result is wrong"),
    Wrong("one element a load", {COPY: SCALAR}, "Bytes per load (mean, weighted by bytes): 4"),
    Wrong("filled only beside a partly full round", {FILL: "tXrX.fill(0.0)\n    if shape[1] % 128 != 0:\n        tXrX.fill(-Float32.inf)"},
          "n = 256, float32, the result is wrong"),
    Wrong("not filled", {"    tXrX.fill(-Float32.inf)\n": ""}, "or absent"),
)  # fmt: skip
