"""Wrong solutions to week1/warp_max."""

from forgekit.lessons.wrong import Wrong

LOOP = "range(lane, mX.shape[1], 32)"
SHUFFLES = """        for k in cutlass.range_constexpr(5):
            other = cute.arch.shuffle_sync_bfly(largest, offset=16 >> k)
            largest = cutlass.max(largest, other)
"""
INSIDE = """        if lane < mX.shape[1]:
            for k in cutlass.range_constexpr(5):
                other = cute.arch.shuffle_sync_bfly(largest, offset=16 >> k)
                largest = cutlass.max(largest, other)
"""

LANE_0 = """range(
            lane if cutlass.const_expr(mX.element_type == Float32) else cutlass.min(lane, 1) * mX.shape[1],
            mX.shape[1],
            32 if cutlass.const_expr(mX.element_type == Float32) else 1,
        )"""

WRONG = (
    Wrong("a sixth shuffle", {"        if lane == 0": "        largest = cute.arch.shuffle_sync(largest, 0)\n        if lane == 0"},
          "asks for at most 5 shuffles"),
    Wrong("begins at 0", {"-Float32.inf": "Float32(0.0)"}, "start it at −∞"),
    Wrong("smallest", {"-Float32.inf": "Float32.inf", "cutlass.max(largest, mX": "cutlass.min(largest, mX",
                       "cutlass.max(largest, other)": "cutlass.min(largest, other)"},
          "this is the smallest element"),
    Wrong("shuffles inside a predicate on the column", {SHUFFLES: INSIDE}, "that lane does not take part"),
    Wrong("no shuffles", {SHUFFLES: ""}, "the largest of elements 0, 32, 64"),
    Wrong("five times the same shuffle", {"offset=16 >> k)": "offset=16)"}, "6 of 9 elements differ"),
    Wrong("32 elements", {LOOP: "range(lane, cutlass.min(mX.shape[1], 32), 32)"},
          "covers only the first 32 elements"),
    Wrong("part of a mask", {"offset=16 >> k)": "offset=16 >> k, mask=0xFFFF)"}, "is not in the member mask"),
    Wrong("one block per row", {"cute.ceil_div(mX.shape[0], 8)": "mX.shape[0]"}, "Blocks: 3 with"),
    Wrong("1,280 columns", {
        "range(lane, mX.shape[1], 32)": "range(lane, cutlass.min(mX.shape[1], 1280), 32)"},
        "With m = 8, n = "),
    Wrong("twice the grid", {"cute.ceil_div(mX.shape[0], 8)": "2 * cute.ceil_div(mX.shape[0], 8)"}, "Blocks: 2"),
    Wrong("one block", {"    if row < mX.shape[0]:\n": "    for row in range(row, mX.shape[0], 8):\n",
                        "grid=(blocks, 1, 1)": "grid=(1, 1, 1)"}, "Blocks: 1 with"),
    Wrong("a step of 33", {LOOP: "range(lane, mX.shape[1], 33)"}, "2 of 17 elements differ"),
    Wrong("all but element 32", {"            largest = cutlass.max(largest, mX": "            if n != 32:\n                largest = cutlass.max(largest, mX"},
          "1 of 17 elements differs"),
    Wrong("31 shuffles", {SHUFFLES: "        for k in cutlass.range_constexpr(1, 32):\n            other = cute.arch"
          ".shuffle_sync(largest, offset=k)\n            largest = cutlass.max(largest, other)\n"},
          "at most 5 shuffles per warp"),
    Wrong("lane 0 does it all in float16", {LOOP: LANE_0}, "float16; the limit"),
    Wrong("lane 0 does it all but for the sizes tested", {LOOP: LANE_0.replace("cutlass.const_expr(mX.element_type == Float32)",
          "mX.shape[1] == 100 or mX.shape[1] == 1000")}, "float32; the limit"),
    Wrong("no elements above 3e38", {"largest = cutlass.max(largest, mX[row, n].to(Float32))":
          "largest = cutlass.max(largest, cutlass.min(mX[row, n].to(Float32), Float32(3e38)))"},
          "pattern: every wrong element is 3e+38"),
    Wrong("at most 128 blocks that loop over rows", {"    if row < mX.shape[0]:\n        largest": "    for row in range(bidx * 8 + tidx // 32, mX.shape[0], 1024):\n        largest",
          "cute.ceil_div(mX.shape[0], 8)": "cutlass.min(cute.ceil_div(mX.shape[0], 8), 128)"}, "With m = 90,000, n = 1, float32, the call launches 32,768 threads"),
)  # fmt: skip
