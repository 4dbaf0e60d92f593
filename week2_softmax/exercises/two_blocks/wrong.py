"""Wrong solutions to week2/two_blocks."""

from forgekit.lessons.wrong import Wrong

ARRIVE, WAIT = "    cute.arch.cluster_arrive_relaxed()\n", "    cute.arch.cluster_wait()\n"
SECOND = "    m, s = sPart[0, lane % 4], sPart[1, lane % 4]\n"
GUARD = "Float32(0.0) if m == -Float32.inf else m"
LOAD = "    if v < cute.size(gX, mode=[1]):\n        cute.autovec_copy(gX[None, v], rX)\n"

TWICE = """@cute.kernel
def two_blocks_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    rank, row = bidx % 2, bidx // 2
    smem = cutlass.memory.SmemAllocator()
    sM = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
    sS = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
    bars = smem.allocate_tensor(Int64, cute.make_layout(2), 8).iterator
    if tidx == 0:
        cute.arch.mbarrier_init(bars, 1)
        cute.arch.mbarrier_init(bars + 1, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(bars, 16)
        cute.arch.mbarrier_arrive_and_expect_tx(bars + 1, 16)
    cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive_relaxed()
    gX = cute.zipped_divide(mX[row, None], (4,))
    gY = cute.zipped_divide(mY[row, None], (4,))
    v = rank * 64 + tidx
    rX = cute.make_rmem_tensor(4, Float32)
    rX.fill(-Float32.inf)
    if v < cute.size(gX, mode=[1]):
        cute.autovec_copy(gX[None, v], rX)
    x = rX.load()
    m = cute.arch.warp_reduction(x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0), cute.arch.fmax)
    lane, warp = tidx % 32, cute.arch.warp_idx()
    slot = rank * 2 + warp
    cute.arch.cluster_wait()
    if lane < 2:
        cute.arch.store_async_dsmem(sM.iterator + slot, m.bitcast(Int32), bars, lane)
    cute.arch.mbarrier_wait(bars, 0)
    m = cute.arch.warp_reduction(sM[lane % 4], cute.arch.fmax, threads_in_group=4)
    e = cute.math.exp(x - m, fastmath=True)
    s = cute.arch.warp_reduction(e.reduce(cute.ReductionOp.ADD, 0.0, 0), operator.add)
    if lane < 2:
        cute.arch.store_async_dsmem(sS.iterator + slot, s.bitcast(Int32), bars + 1, lane)
    cute.arch.mbarrier_wait(bars + 1, 0)
    s = cute.arch.warp_reduction(sS[lane % 4], operator.add, threads_in_group=4)
    rX.store(e * (1.0 / s))
    if v < cute.size(gX, mode=[1]):
        cute.autovec_copy(rX, gY[None, v])

@cute.jit
def two_blocks(mX: cute.Tensor, mY: cute.Tensor):
    two_blocks_kernel(mX, mY).launch(grid=(mX.shape[0] * 2, 1, 1), block=(64, 1, 1), cluster=(2, 1, 1))
"""

WRONG = (
    Wrong("another thread's fence", {"    cute.arch.mbarrier_init_fence()\n": "    if tidx == 32:\n        cute.arch.mbarrier_init_fence()\n"},
          "thread that calls `mbarrier_init` also has to call"),
    Wrong("the mbarrier overwritten", {"cute.make_layout((2, 4)), 8)": "cute.make_layout((2, 3)), 8)"}, "or that has been overwritten"),
    Wrong("no fence", {"    cute.arch.mbarrier_init_fence()\n": ""}, "before its sender sees the other block's mbarrier"),
    Wrong("the first element of each vector for the maximum", {"x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)": "x[0]"}, "With m = 5, n = 4, float32"),
    Wrong("sent at once", {ARRIVE: "", WAIT: ""}, "only after the other block has started"),
    Wrong("eight bytes too few", {"4 * 8)": "3 * 8)"}, "has to expect the bytes of all four"),
    Wrong("eight bytes too many", {"4 * 8)": "5 * 8)"}, "each block must receive four pairs of 8 bytes"),
    Wrong("all to one place", {"(rank * 2 + warp)": "warp"}, "Each of the four warps needs its own slot"),
    Wrong("its own half alone", {SECOND: "    m, s = sPart[0, rank * 2 + lane % 2], "
                                 "sPart[1, rank * 2 + lane % 2]\n", "s *= cute": "s *= 0.5 * cute"},
          "a softmax of its own half"),
    Wrong("pairs twice", {"s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)":
                          "s = cute.arch.warp_reduction(s, operator.add, threads_in_group=8)"},
          "twice as large as it should be"),
    Wrong("-inf minus -inf", {GUARD: "m"}, "whole warps have no elements"),
    Wrong("not divided", {" * (1.0 / s)": ""}, "nothing is divided"),
    Wrong("read again", {"rX.store(cute.math.exp(x - m_row": LOAD.strip() + "\n    rX.store(cute.math.exp("
                         "rX.load() - m_row"}, "Bytes requested by loads"),
    Wrong("the maximum begins at -1e38", {
        "m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)": "m = x.reduce(cute.ReductionOp.MAX, -1e38, 0)"},
        "float32, the result is wrong"),
    Wrong("0 only where the warp has no vector", {f"shift = {GUARD}":
          "shift = m if rank * 64 + tidx // 32 * 32 < cute.size(gX, mode=[1]) else Float32(0.0)"}, "all mismatches are in row 2"),
    Wrong("its own warp's maximum", {"    lane, warp =": "    mine_m = m\n    lane, warp =",
          "    m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=4)\n": "    m_row = mine_m\n"},
          "in the first 128 columns (0 to 127)"),
    Wrong("maxima first, then sums", text=TWICE, says="one exchange of four pairs"),
    Wrong("another barrier of the cluster", {"    rX.store(cute.math.exp(x - m_row": ARRIVE + WAIT + "    rX.store(cute.math.exp(x - m_row"},
          "at most 1 cluster barrier"),
)  # fmt: skip
