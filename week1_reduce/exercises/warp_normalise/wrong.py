"""Wrong solutions of week1/warp_normalise."""

from forgekit.lessons.wrong import Wrong

SHUFFLE = "            total += cute.arch.shuffle_sync_bfly(total, offset=16 >> k)"
STEPS = f"        for k in cutlass.range_constexpr(5):\n{SHUFFLE}\n"
STORE = """        for n in range(lane, mX.shape[1], 32):
            mY[row, n]"""
QUOTIENT = "mX[row, n].to(Float32) / total"
ADD = "total += mX[row, n].to(Float32)"

WRONG = (
    Wrong("shuffle down", {"shuffle_sync_bfly": "shuffle_sync_down"}, "first mismatches"),
    Wrong("no shuffles", {STEPS: ""}, "With m = 2, n = 5"),
    Wrong("copied", {QUOTIENT: "mX[row, n].to(Float32)"}, "nothing is divided"),
    Wrong("multiplied", {QUOTIENT: "mX[row, n].to(Float32) * total"}, "multiplied by the sum"),
    Wrong("the mean", {QUOTIENT: f"{QUOTIENT} * Float32(mX.shape[1])"}, "divided by the mean"),
    Wrong("every lane reads the row", {
        "range(lane, mX.shape[1], 32):\n            total": "range(mX.shape[1]):\n            total",
        STEPS: ""}, "are allowed"),
    Wrong("32 elements stored", {STORE: """        if lane < mX.shape[1]:
            n = lane
            mY[row, n]"""}, "32 of 1,000 columns"),
    Wrong("four steps", {"range_constexpr(5)": "range_constexpr(4)"}, "worst relative difference"),
    Wrong("begins at 1", {"Float32(0.0)": "Float32(1.0)"}, "tolerance"),
    Wrong("no predicate on the row", {"    if row < mX.shape[0]:": "    if row >= 0:"},
          "Out of bounds"),
    Wrong("blocks rounded down", {"cute.ceil_div(mX.shape[0], 8)": "mX.shape[0] // 8"},
          "use cute.ceil_div for the grid"),
    Wrong("a fixed grid", {"grid=(blocks, 1, 1)": "grid=(64, 1, 1)"}, "Threads launched"),
)  # fmt: skip
