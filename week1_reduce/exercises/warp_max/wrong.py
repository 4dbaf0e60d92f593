"""Wrong solutions of week1/warp_max."""

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

WRONG = (
    Wrong("begins at 0", {"-Float32.inf": "Float32(0.0)"}, "0 is larger than any of these"),
    Wrong("smallest", {"-Float32.inf": "Float32.inf", "cutlass.max(largest, mX": "cutlass.min(largest, mX",
                       "cutlass.max(largest, other)": "cutlass.min(largest, other)"},
          "this is the smallest element"),
    Wrong("shuffles inside a predicate on the column", {SHUFFLES: INSIDE}, "which takes no part"),
    Wrong("no shuffles", {SHUFFLES: ""}, "nothing reaches it from the other lanes"),
    Wrong("32 elements", {LOOP: "range(lane, cutlass.min(mX.shape[1], 32), 32)"},
          "only the first 32 elements"),
    Wrong("four steps", {"range_constexpr(5)": "range_constexpr(4)"}, "the result is wrong"),
    Wrong("no predicate on the row", {"    if row < mX.shape[0]:": "    if row >= 0:"}, "Out of bounds"),
    Wrong("part of a mask", {"offset=16 >> k)": "offset=16 >> k, mask=0xFFFF)"}, "is not in the member mask"),
    Wrong("tail ignored", {LOOP: "range(lane, mX.shape[1] // 32 * 32, 32)"}, "every element of actual is -inf"),
    Wrong("blocks rounded down", {"cute.ceil_div(mX.shape[0], 8)": "mX.shape[0] // 8"},
          "use cute.ceil_div for the grid"),
    Wrong("a block a row", {"cute.ceil_div(mX.shape[0], 8)": "mX.shape[0]"}, "Threads launched"),
    Wrong("barriers", {"            other = ": "            cute.arch.sync_threads()\n            other = "},
          "have left the kernel without it"),
)  # fmt: skip
