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
    Wrong("part of a mask", {"offset=16 >> k)": "offset=16 >> k, mask=0xFFFF)"}, "is not in the member mask"),
    Wrong("a block a row", {"cute.ceil_div(mX.shape[0], 8)": "mX.shape[0]"}, "the task asks for one warp per row"),
)  # fmt: skip
