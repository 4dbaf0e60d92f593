"""Wrong solutions of week1/warp_prefix."""

from forgekit.lessons.wrong import Wrong

STEP = """        left = cute.arch.shuffle_sync_up(total, offset=1 << k)
        if lane >= 1 << k:
            total += left"""
INSIDE = """        if lane >= 1 << k:
            total += cute.arch.shuffle_sync_up(total, offset=1 << k)"""
DOWN = """        right = cute.arch.shuffle_sync_down(total, offset=1 << k)
        if lane + (1 << k) < 32:
            total += right"""
BFLY = "        total += cute.arch.shuffle_sync_bfly(total, offset=1 << k)"
LOAD = """    if i < mX.shape[0]:
        total = mX[i].to(Float32)
"""

WRONG = (
    Wrong("everybody adds", {"        if lane >= 1 << k:\n            total": "        total"},
          "gets its own value, and here it is added"),
    Wrong("shuffle inside the predicate", {STEP: INSIDE}, "takes no part"),
    Wrong("strictly above", {"if lane >= 1 << k:": "if lane > 1 << k:"}, "first mismatches"),
    Wrong("down", {STEP: DOWN}, "down for up"),
    Wrong("butterfly", {STEP: BFLY}, "that is a butterfly"),
    Wrong("four steps", {"range_constexpr(5)": "range_constexpr(4)"}, "With n = 32"),
    Wrong("no steps", {STEP: "        total += 0"}, "no lane adds anything"),
    Wrong("lane of the block", {"tidx % 32": "tidx"}, "With n = 1,000"),
    Wrong("without the element itself", {"mY[i] = total.to(mY.element_type)":
          "mY[i] = (total - mX[i].to(Float32)).to(mY.element_type)"}, "missing from its sum"),
    Wrong("no predicate at the load", {LOAD: LOAD.replace("i < mX.shape[0]", "i >= 0")}, "reads mX[5]"),
    Wrong("a fixed grid", {"grid=(blocks, 1, 1)": "grid=(200, 1, 1)"}, "Threads launched"),
    Wrong("one block", {"grid=(blocks, 1, 1)": "grid=(1, 1, 1)"}, "what is missing begins where they end"),
)  # fmt: skip
