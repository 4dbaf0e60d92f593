"""Wrong solutions of week1/warp_prefix."""

from forgekit.lessons.wrong import Wrong

STEP = """        left = cute.arch.shuffle_sync_up(total, offset=1 << k)
        if lane >= 1 << k:
            total += left"""
DOWN = """        right = cute.arch.shuffle_sync_down(total, offset=1 << k)
        if lane + (1 << k) < 32:
            total += right"""
BFLY = "        total += cute.arch.shuffle_sync_bfly(total, offset=1 << k)"

WRONG = (
    Wrong("everybody adds", {"        if lane >= 1 << k:\n            total": "        total"},
          "gets its own value, and here it is added"),
    Wrong("down", {STEP: DOWN}, "down for up"),
    Wrong("butterfly", {STEP: BFLY}, "that is a butterfly"),
    Wrong("no steps", {STEP: "        total += 0"}, "no lane adds anything"),
    Wrong("lane of the block", {"tidx % 32": "tidx"}, "With n = 33"),
    Wrong("without the element itself", {"mY[i] = total.to(mY.element_type)":
          "mY[i] = (total - mX[i].to(Float32)).to(mY.element_type)"}, "missing from its sum"),
    Wrong("a fixed grid", {"grid=(blocks, 1, 1)": "grid=(200, 1, 1)"}, "Threads launched"),
)  # fmt: skip
