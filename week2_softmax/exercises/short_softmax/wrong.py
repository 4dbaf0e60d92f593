"""Wrong solutions to week2/short_softmax."""

from forgekit.lessons.wrong import Wrong

FILL = "rX.fill(-Float32.inf)"
LOAD = """        if row < mX.shape[0] and lane + 8 * k < mX.shape[1]:
            rX[k] = mX"""
STORE = """        if row < mX.shape[0] and lane + 8 * k < mX.shape[1]:
            mY"""
MAX = "m = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=8)"
SUM = "s = cute.arch.warp_reduction(s, operator.add, threads_in_group=8)"
WRONG = (
    Wrong("filled with 0", {FILL: "rX.fill(0.0)"}, "as if they held a finite number"),
    Wrong("maximum of the whole warp", {MAX: "m = cute.arch.warp_reduction(m, cute.arch.fmax)"},
          "the largest of all four rows"),
    Wrong("sum of the whole warp", {SUM: "s = cute.arch.warp_reduction(s, operator.add)"},
          "divided by the sum of all four rows"),
    Wrong("one element a lane", {
        "rX = cute.make_rmem_tensor(8, Float32)": "rX = cute.make_rmem_tensor(1, Float32)",
        "    for k in cutlass.range_constexpr(8):\n" + LOAD:
        "    for k in cutlass.range_constexpr(1):\n" + LOAD,
        "    for k in cutlass.range_constexpr(8):\n" + STORE:
        "    for k in cutlass.range_constexpr(1):\n" + STORE}, "each lane has one element"),
    Wrong("read again", {
        "rX.store(e * (1.0 / s))": """for k in cutlass.range_constexpr(8):
        if row < mX.shape[0] and lane + 8 * k < mX.shape[1]:
            again = mX[row, lane + 8 * k].to(Float32)
            rX[k] = cute.math.exp(again - m, fastmath=True) * (1.0 / s)"""},
          "or are loaded more often than needed"),
    Wrong("the whole warp", {MAX: "m = cute.arch.warp_reduction(m, cute.arch.fmax)", SUM: "s = cute.arch.warp_reduction(s, operator.add)"}, "maximum and sum are those of four rows"),
)  # fmt: skip
