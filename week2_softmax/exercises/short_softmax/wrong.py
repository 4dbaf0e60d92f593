"""Wrong solutions to week2/short_softmax."""

from forgekit.lessons.wrong import Wrong

FILL = "rX.fill(-Float32.inf)"
LOAD = """        if row < mX.shape[0] and lane + 8 * k < mX.shape[1]:
            rX[k] = mX"""
STORE = """        if row < mX.shape[0] and lane + 8 * k < mX.shape[1]:
            mY"""
MAX = "m = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=8)"
SUM = "s = cute.arch.warp_reduction(s, operator.add, threads_in_group=8)"
IN_TURN = """@cute.kernel
def short_softmax_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane = tidx % 32
    rX = cute.make_rmem_tensor((2, 4), Float32)
    rX.fill(-Float32.inf)
    for r in cutlass.range_constexpr(4):
        row = bidx * 16 + tidx // 32 * 4 + r
        for k in cutlass.range_constexpr(2):
            if row < mX.shape[0] and lane + 32 * k < mX.shape[1]:
                rX[k, r] = mX[row, lane + 32 * k].to(Float32)
    for r in cutlass.range_constexpr(4):
        row = bidx * 16 + tidx // 32 * 4 + r
        m = cute.arch.warp_reduction(cute.arch.fmax(rX[0, r], rX[1, r]), cute.arch.fmax)
        a = cute.math.exp(rX[0, r] - m, fastmath=True)
        b = cute.math.exp(rX[1, r] - m, fastmath=True)
        s = 1.0 / cute.arch.warp_reduction(a + b, operator.add)
        if row < mX.shape[0]:
            if lane < mX.shape[1]:
                mY[row, lane] = (a * s).to(mY.element_type)
            if lane + 32 < mX.shape[1]:
                mY[row, lane + 32] = (b * s).to(mY.element_type)


@cute.jit
def short_softmax(mX: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 16)
    short_softmax_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
"""
WRONG = (
    Wrong("filled with 0", {FILL: "rX.fill(0.0)"}, "as if they held a finite number"),
    Wrong("maximum of the whole warp", {MAX: "m = cute.arch.warp_reduction(m, cute.arch.fmax)"},
          "the largest element of several rows"),
    Wrong("sum of the whole warp", {SUM: "s = cute.arch.warp_reduction(s, operator.add)"},
          "divided by the sum of all four rows"),
    Wrong("one element a lane", {
        "rX = cute.make_rmem_tensor(8, Float32)": "rX = cute.make_rmem_tensor(1, Float32)",
        "    for k in cutlass.range_constexpr(8):\n" + LOAD:
        "    for k in cutlass.range_constexpr(1):\n" + LOAD,
        "    for k in cutlass.range_constexpr(8):\n" + STORE:
        "    for k in cutlass.range_constexpr(1):\n" + STORE}, "each lane has one element"),
    Wrong("a warp takes its four rows in turn", text=IN_TURN, says="32 threads load row 0 of mX"),
    Wrong("read again", {
        "rX.store(e * (1.0 / s))": """for k in cutlass.range_constexpr(8):
        if row < mX.shape[0] and lane + 8 * k < mX.shape[1]:
            again = mX[row, lane + 8 * k].to(Float32)
            rX[k] = cute.math.exp(again - m, fastmath=True) * (1.0 / s)"""},
          "or are loaded more often than needed"),
    Wrong("beyond the last row, the last row again", {LOAD: LOAD.replace("row < mX.shape[0] and ", ""), "mX[row, lane + 8 * k]": "mX[cutlass.min(row, mX.shape[0] - 1), lane + 8 * k]"},
          "threads load 60 elements of mX more than once; the first is mX[8, 0]"),
    Wrong("a lane's first element again", {"    m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)\n": "    m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)\n    if row < mX.shape[0] and lane < mX.shape[1]:\n        m = cute.arch.fmax(m, mX[row, lane].to(Float32))\n"},
          "threads load 72 elements of mX more than once"),
    Wrong("at most 1e4 is subtracted", {MAX: MAX + "\n    m = cute.arch.fmin(m, Float32(1e4))"}, "NaN: 4 in actual, 2 in expected"),
    Wrong("the whole warp", {MAX: "m = cute.arch.warp_reduction(m, cute.arch.fmax)", SUM: "s = cute.arch.warp_reduction(s, operator.add)"}, "maximum and sum are those of several rows"),
)  # fmt: skip
