"""Wrong solutions to week2/router_softmax."""

from forgekit.lessons.wrong import Wrong

BIAS = " + mBias[col].to(Float32)"
SCALED = "(x - m) * math.log2(math.e)"
LOAD = """    for k in cutlass.range_constexpr(8):
        col = lane + 8 * k
        if row < M and col < N:
            rX"""
STORE = LOAD.replace("rX", "mY")
PLACES = "bidx * 16 + tidx // 8, tidx % 8"
LATE = """    for k in cutlass.range_constexpr(8):
        if lane + 8 * k < N:
            rX[k] = rX[k] + mBias[lane + 8 * k].to(Float32)
"""
MAXIMUM = "    m = cute.arch.warp_reduction_max(m, threads_in_group=8)\n"
SUM = "    s = cute.arch.warp_reduction_sum(s, threads_in_group=8)\n"


IN_TURN = """@cute.kernel
def router_softmax_kernel(mX: cute.Tensor, mBias: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    lane = tidx % 32
    M, N = mX.shape
    rX = cute.make_rmem_tensor((2, 4), Float32)
    rX.fill(-Float32.inf)
    for r in cutlass.range_constexpr(4):
        row = bidx * 16 + tidx // 32 * 4 + r
        for k in cutlass.range_constexpr(2):
            if row < M and lane + 32 * k < N:
                rX[k, r] = mX[row, lane + 32 * k].to(Float32) + mBias[lane + 32 * k].to(Float32)
    for r in cutlass.range_constexpr(4):
        row = bidx * 16 + tidx // 32 * 4 + r
        m = cute.arch.warp_reduction(cute.arch.fmax(rX[0, r], rX[1, r]), cute.arch.fmax)
        a = cute.math.exp(rX[0, r] - m, fastmath=True)
        b = cute.math.exp(rX[1, r] - m, fastmath=True)
        s = 1.0 / cute.arch.warp_reduction_sum(a + b)
        if row < M:
            if lane < N:
                mY[row, lane] = (a * s).to(mY.element_type)
            if lane + 32 < N:
                mY[row, lane + 32] = (b * s).to(mY.element_type)


@cute.jit
def router_softmax(mX: cute.Tensor, mBias: cute.Tensor, mY: cute.Tensor):
    blocks = cute.ceil_div(mX.shape[0], 16)
    router_softmax_kernel(mX, mBias, mY).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
"""


def _columns(loop: str, count: int, col: str) -> str:
    loop = loop.replace("range_constexpr(8)", f"range_constexpr({count})")
    return loop.replace("lane + 8 * k", col)


WRONG = (
    Wrong("the maximum of one lane", {"cute.arch.warp_reduction_max(m, threads_in_group=8)": "cute.arch.shuffle_sync(m, cute.arch.lane_idx() // 8 * 8)"}, "With m = 5, n = 8, float32"),
    Wrong("no bias", {BIAS: ""}, "the bias has no effect"),
    Wrong("bias twice", {BIAS: BIAS + BIAS}, "added twice"),
    Wrong("bias subtracted", {" + mBias": " - mBias"}, "the bias is subtracted"),
    Wrong("bias after the softmax", {BIAS: "", "= rX[k].to(mY.element_type)": f"= (rX[k]{BIAS}).to(mY.element_type)"},
          "added after the softmax"),
    Wrong("no log2 e", {SCALED: "x - m"}, "2 to the power of x"),
    Wrong("no maximum", {SCALED: "x * math.log2(math.e)"}, "exponentials overflow"),
    Wrong("maximum before the bias", {BIAS: "", SCALED: "(rX.load() - m) * math.log2(math.e)", "    m = cute.arch": LATE + "    m = cute.arch"},
          "the maximum is taken before the bias"),
    Wrong("maximum of the warp", {"m, threads_in_group=8": "m"}, "a maximum of several rows of a warp"),
    Wrong("maximum of two rows", {"m, threads_in_group=8": "m, threads_in_group=16"}, "a maximum of several rows"),
    Wrong("a bias of at least -10,000", {BIAS: " + cute.arch.fmax(mBias[col].to(Float32), Float32(-1e4))"}, "the result is wrong"),
    Wrong("a bias of whole numbers", {"mBias[col].to(Float32)": "mBias[col].to(cutlass.Int32).to(Float32)"}, "With m = 4, n = 3, float32"),
    Wrong("sum of the warp", {"s, threads_in_group=8": "s"}, "the sum of a warp's four rows"),
    Wrong("begins with 0", {"rX.fill(-Float32.inf)": "rX.fill(0.0)"}, "missing elements count as 0"),
    Wrong("every lane by itself", {MAXIMUM: "", SUM: ""}, "did not exchange their results"),
    Wrong("a warp a row", {
        PLACES: "bidx * 4 + tidx // 32, tidx % 32", LOAD: _columns(LOAD, 2, "lane + 32 * k"), STORE: _columns(STORE, 2, "lane + 32 * k"),
        "make_rmem_tensor(8, ": "make_rmem_tensor(2, ", "m, threads_in_group=8": "m", "s, threads_in_group=8": "s",
        "mX.shape[0], 16": "mX.shape[0], 4"}, "asks for eight lanes per row"),
    Wrong("a warp takes its four rows in turn", text=IN_TURN, says="16 threads load row 0 of mX"),
    Wrong("a fill of -1e38", {
        "rX.fill(-Float32.inf)": "rX.fill(-1e38)"}, "float32, the result is wrong"),
    Wrong("the maximum in the input's type", {"    e = cute": "    m = m.to(mX.element_type).to(Float32)\n    e = cute"}, "float16, the result is wrong"),
    Wrong("filled with -3.4e38", {"rX.fill(-Float32.inf)": "rX.fill(-3.4e38)"}, "With m = 3, n = 2, float32, the result is wrong"),
    Wrong("lanes beyond the end load the last column", {"        if row < M and col < N:\n            rX[k] = mX[row, col].to(Float32) + mBias[col].to(Float32)\n":
          "        last = cutlass.min(col, N - 1)\n        if row < M and 8 * k < N:\n            rX[k] = mX[row, last].to(Float32) + mBias[last].to(Float32)\n"
          "        if col >= N:\n            rX[k] = -Float32.inf\n"}, "the first is mX[0, 59]"),
)  # fmt: skip
