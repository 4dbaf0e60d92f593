"""Wrong solutions to week1/row_range."""

from forgekit.lessons.wrong import Wrong

FIRST = "    high, low = -Float32.inf, Float32.inf\n    for"

WRONG = (
    Wrong("both begin at 0", {FIRST: "    high, low = Float32(0.0), Float32(0.0)\n    for"},
          "and a minimum with ∞"),
    Wrong("the largest begins at 0", {FIRST: "    high, low = Float32(0.0), Float32.inf\n    for"},
          "0 counts as an element of the maximum"),
    Wrong("begins at 1e30", {FIRST: "    high, low = Float32(-1e30), Float32(1e30)\n    for"}, "2 of 4 elements differ"),
    Wrong("lanes without a warp hold 0", {"        high, low = -Float32.inf, Float32.inf\n        if tidx < 8:": "        high, low = Float32(0.0), Float32(0.0)\n        if tidx < 8:",
          "for k in cutlass.range_constexpr(3)": "for k in cutlass.range_constexpr(5)", "high, offset=4 >> k": "high, offset=16 >> k", "low, offset=4 >> k": "low, offset=16 >> k"},
          "0 counts as an element: a maximum"),
    Wrong("nothing subtracted", {"(high - low)": "high"}, "does not subtract the smallest"),
    Wrong("exchanged", {"(high - low)": "(low - high)"}, "the smallest minus the largest"),
    Wrong("twice the largest", {"(high - low)": "(high - high)"}, "as if the kernel subtracted equal numbers"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong("two barriers", {"    cute.arch.sync_threads()\n": "    cute.arch.sync_threads()\n" * 2},
          "at most 1 barrier"),
    Wrong("six warps of eight", {
        "if tidx < 8:\n            high": "if tidx < 6:\n            high"},
        "n = 1,000, float32, the result"),
    Wrong("read through bfloat16", {
        "value = mX[row, n].to(Float32)": "value = mX[row, n].to(cutlass.BFloat16).to(Float32)"},
        "With m = 4, n = 5, float32"),
    Wrong("256 words", {"sMax = smem.allocate_tensor(Float32, cute.make_layout(8)": "sMax = smem.allocate_tensor(Float32, cute.make_layout(248)"},
          "at most 128 bytes of shared memory"),
    Wrong("a warp per row", {"range(tidx, mX.shape[1], 256)": "range(tidx, mX.shape[1], 32)",
          "    if tidx % 32 == 0:\n        sMax[tidx // 32], sMin[tidx // 32] = high, low\n    cute.arch.sync_threads()\n    if tidx < 32:\n        high, low = -Float32.inf, Float32.inf\n        if tidx < 8:\n            high, low = sMax[tidx], sMin[tidx]\n": "    if tidx < 32:\n",
          "block=(256, 1, 1)": "block=(32, 1, 1)"}, "asks for 256 threads per block"),
    Wrong("begins at -3.3e38", {"    high, low = -Float32.inf, Float32.inf\n    for": "    high, low = Float32(-3.3e38), Float32.inf\n    for"}, "got 9.543888e+36, expected 5.225966e+35"),
    Wrong("four warps read", {"    for n in range(tidx, mX.shape[1], 256)": "    for n in range(tidx if tidx < 128 else mX.shape[1], mX.shape[1], 128)"},
          "Warps per block that share the loads: 4"),
)  # fmt: skip

EQUIVALENT = {
    "line 15: no predicate": "after a butterfly all lanes store the same number, in one wavefront",
    "line 18: no predicate": "the other warps do the same in vain; thread 0 alone stores",
}
