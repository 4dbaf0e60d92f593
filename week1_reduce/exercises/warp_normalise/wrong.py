"""Wrong solutions to week1/warp_normalise."""

from forgekit.lessons.wrong import Wrong

SHUFFLE = "            total += cute.arch.shuffle_sync_bfly(total, offset=16 >> k)"
STEPS = f"        for k in cutlass.range_constexpr(5):\n{SHUFFLE}\n"
QUOTIENT = "mX[row, n].to(Float32) / total"

WRONG = (
    Wrong("shuffle down", {"shuffle_sync_bfly": "shuffle_sync_down"}, "only in lane 0"),
    Wrong("copied", {QUOTIENT: "mX[row, n].to(Float32)"}, "the kernel does not divide"),
    Wrong("multiplied", {QUOTIENT: "mX[row, n].to(Float32) * total"}, "multiplies each element by the sum"),
    Wrong("the mean", {QUOTIENT: f"{QUOTIENT} * Float32(mX.shape[1])"}, "divides by the mean"),
    Wrong("every lane reads the row", {
        "range(lane, mX.shape[1], 32):\n            total": "range(mX.shape[1]):\n            total",
        STEPS: ""}, "the limit is"),
    Wrong("1e-12 added to the sum", {QUOTIENT: "mX[row, n].to(Float32) / (total + 1e-12)"}, "The result with m = 3, n = 31, float32 is also wrong"),
    Wrong("a sum of absolute values", {"            total += mX[row, n].to(Float32)":
        "            total += cute.arch.fmax(mX[row, n].to(Float32), -mX[row, n].to(Float32))"},
          "the kernel adds up absolute values"),
    Wrong("adds in float16", {
        "total += mX[row, n].to(Float32)": "total = (total + mX[row, n].to(Float32)).to(cutlass.Float16).to(Float32)"},
        "tolerance: rtol 1e-05"),
    Wrong("the sum rounded to the input's type", {
        "(mX[row, n].to(Float32) / total)": "(mX[row, n].to(Float32) / total.to(mX.element_type).to(Float32))"},
        "float16, the result is wrong"),
)  # fmt: skip
