"""Wrong solutions to week1/warp_prefix."""

from forgekit.lessons.wrong import Wrong

STEP = """        left = cute.arch.shuffle_sync_up(total, offset=1 << k)
        if lane >= 1 << k:
            total += left"""
DOWN = """        right = cute.arch.shuffle_sync_down(total, offset=1 << k)
        if lane + (1 << k) < 32:
            total += right"""
BFLY = "        total += cute.arch.shuffle_sync_bfly(total, offset=1 << k)"

WRONG = (
    Wrong("every lane adds", {"        if lane >= 1 << k:\n            total": "        total"},
          "receives its own value, and this kernel adds it"),
    Wrong("down", {STEP: DOWN}, "as shuffles down compute them"),
    Wrong("butterfly", {STEP: BFLY}, "the result of a butterfly"),
    Wrong("no steps", {STEP: "        total += 0"}, "no sum reaches y"),
    Wrong("added times 0 or 1", {"        if lane >= 1 << k:\n            total += left": "        total += left * Float32(lane >= 1 << k)"},
          "every wrong element is NaN (stored by threads)"),
    Wrong("added and subtracted again", {"        if lane >= 1 << k:\n            total += left": "        total += left\n        if lane < 1 << k:\n            total -= left"},
          "all mismatches are between elements 64 and 183"),
    Wrong("lane of the block", {"tidx % 32": "tidx"}, "With n = 33"),
    Wrong("without the element itself", {"mY[i] = total.to(mY.element_type)":
          "mY[i] = (total - mX[i].to(Float32)).to(mY.element_type)"}, "missing from its sum"),
    Wrong("a fixed grid", {"grid=(blocks, 1, 1)": "grid=(300, 1, 1)"}, "The launch has only 38,400"),
    Wrong("adds in the input's type", {
        "total += left": "total = (total + left).to(mX.element_type).to(Float32)"},
        "float16, the result is wrong"),
    Wrong("read through bfloat16", {
        "total = mX[i].to(Float32)": "total = mX[i].to(cutlass.BFloat16).to(Float32)"},
        "With n = 5, float32"),
    Wrong("first step with a factor", {
        "    for k in cutlass.range_constexpr(5):\n        left = cute.arch.shuffle_sync_up(total, offset=1 << k)\n        if lane >= 1 << k:\n            total += left\n": "    first = cute.arch.shuffle_sync_up(total, offset=1)\n    total += first * Float32(cutlass.min(lane, 1))\n    for k in cutlass.range_constexpr(4):\n        left = cute.arch.shuffle_sync_up(total, offset=2 << k)\n        if lane >= 2 << k:\n            total += left\n",
    }, "all mismatches are between elements 64 and 94"),
)  # fmt: skip

EQUIVALENT = {
    "line 6: begins with 1.0": "lanes beyond the end give nothing to the lanes before them"
}
