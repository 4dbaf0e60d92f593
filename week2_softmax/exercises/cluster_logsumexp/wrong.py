"""Wrong solutions to week2/cluster_logsumexp."""

from forgekit.lessons.wrong import Wrong

ARRIVE, WAIT = "    cute.arch.cluster_arrive_relaxed()\n", "    cute.arch.cluster_wait()\n"
RESCALED = "s * cute.math.exp(m - m_new, fastmath=True)"

WRONG = (
    Wrong("no fence", {"    cute.arch.mbarrier_init_fence()\n": ""}, "before its sender sees the other block's mbarrier"),
    Wrong("sent at once", {ARRIVE: "", WAIT: ""}, "only after the receiving block has started"),
    Wrong("eight bytes too few", {"16 * 8)": "15 * 8)"}, "has to expect the bytes of all 16"),
    Wrong("eight bytes too many", {"16 * 8)": "17 * 8)"}, "bytes or arrivals that never come"),
    Wrong("two lanes send each pair", {"    if tidx % 32 == 0:\n        pair": "    if tidx % 16 == 0:\n        pair", "16 * 8)": "32 * 8)"},
          "or two are sent to one slot"),
    Wrong("all to one place", {"(rank * 4 + cute.arch.warp_idx())": "cute.arch.warp_idx()"},
          "each of the 16 warps has its own slot"),
    Wrong("the first share alone", {"m, s = sPart[0, tidx % 16], sPart[1, tidx % 16]":
                                    "m, s = sPart[0, tidx % 4], sPart[1, tidx % 4]"},
          "the first block's columns count"),
    Wrong("each block the whole row", {"range(rank * 128 + tidx, mX.shape[1], 512)":
                                       "range(tidx, mX.shape[1], 128)"},
          "as if each block had read the whole row"),
    Wrong("no rescaling", {RESCALED: "s"}, "is not rescaled when a larger one appears"),
    Wrong("-inf minus -inf", {"    if m < m_warp:\n        s *=": "    s *="}, "whole warps have no elements"),
    Wrong("the first element for the maximum", {"m_new = cute.arch.fmax(m, mX[row, n])": "m_new = mX[row, rank * 128 + tidx]"},
          "float32, the result is wrong"),
    Wrong("a pair per block", {
        "16 * 8)": "4 * 8)",
        "    if tidx % 32 == 0:\n        pair = (m_warp.bitcast(Int32), s.bitcast(Int32))\n": """    sM = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
    sS = smem.allocate_tensor(Float32, cute.make_layout(4), 16)
    if tidx % 32 == 0:
        sM[tidx // 32] = m_warp
        sS[tidx // 32] = s
    cute.arch.sync_threads()
    if tidx == 0:
        m_block, s = -Float32.inf, Float32(0.0)
        for k in cutlass.range_constexpr(4):
            m_block = cute.arch.fmax(m_block, sM[k])
        for k in cutlass.range_constexpr(4):
            if sM[k] > -Float32.inf:
                s += sS[k] * cute.math.exp(sM[k] - m_block, fastmath=True)
        pair = (m_block.bitcast(Int32), s.bitcast(Int32))
""",
        "(rank * 4 + cute.arch.warp_idx())": "rank",
        "m, s = sPart[0, tidx % 16], sPart[1, tidx % 16]": "m, s = sPart[0, tidx % 4], sPart[1, tidx % 4]",
        "m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=16)": "m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=4)",
        "s = cute.arch.warp_reduction(s, operator.add, threads_in_group=16)": "s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)"},
          "which means 64 stores"),
    Wrong("no logarithm", {"m_row + cute.math.log(s, fastmath=True)": "s"}, "plus its logarithm"),
    Wrong("maximum not added", {"m_row + cute.math.log": "cute.math.log"}, "has to be added back"),
    Wrong("the maximum begins at -1e38", {
        "m, s = -Float32.inf": "m, s = Float32(-1e38)"}, "WRONG mY: 1 of 3 elements differs"),
    Wrong("exponentials in float16", {"mX[row, n] - m_new, fastmath=True)": "mX[row, n] - m_new, fastmath=True).to(cutlass.Float16).to(Float32)"},
          "With m = 2, n = 1,000, float32"),
    Wrong("two blocks take the row", {"range(rank * 128 + tidx, mX.shape[1], 512)":
          "range(rank * 128 + tidx if rank < 2 else mX.shape[1], mX.shape[1], 256)"}, "at least an eighth of row 0 of mX: 2 with"),
    Wrong("half of each block", {"range(rank * 128 + tidx, mX.shape[1], 512)":
          "range(rank * 64 + tidx if tidx < 64 else mX.shape[1], mX.shape[1], 256)"}, "Warps per block that share the loads: 2"),
    Wrong("no cluster", {", cluster=(4, 1, 1)": ""}, "no launch passes `cluster=`"),
    Wrong(
        "four warps compute the result",
        {"if rank == 0 and tidx < 32:": "if rank == 0:"},
        "4 warps of a block read shared memory",
    ),
    Wrong("the tail skipped", {
        "range(rank * 128 + tidx, mX.shape[1], 512)": "range(rank * 128 + tidx, mX.shape[1] // 512 * 512, 512)"},
        "no thread reads mX. The PTX contains loads, but each thread's `if` or loop skips them"),
    Wrong("pairs for all four blocks", {
        "    if rank == 0 and tidx == 0:\n": "    if tidx == 0:\n", "if tidx % 32 == 0:\n        pair": "if tidx % 32 < 4:\n        pair",
        "pair, mbar, 0)": "pair, mbar, tidx % 32)", "    if rank == 0 and tidx < 32:\n        cute.arch.mbarrier_wait(mbar, 0)\n":
        "    if tidx < 32:\n        cute.arch.mbarrier_wait(mbar, 0)\n    if rank == 0 and tidx < 32:\n"}, "stores 256 times"),
    Wrong("m and s sent separately", {
        "(sPart.iterator + 2 * (rank * 4 + cute.arch.warp_idx())).align(8)": "sPart.iterator + 2 * (rank * 4 + cute.arch.warp_idx())",
        "pair = (m_warp.bitcast(Int32), s.bitcast(Int32))": "cute.arch.store_async_dsmem(mine, m_warp.bitcast(Int32), mbar, 0)",
        "(mine, pair, mbar, 0)": "(mine + 1, s.bitcast(Int32), mbar, 0)"}, "stores 128 times"),
    Wrong("the maximum begins at the first element", {"m, s = -Float32.inf, Float32(0.0)": "m, s = mX[row, 0], Float32(0.0)"},
          "threads load 4 elements of mX more than once"),
    Wrong("short rows for block 0 alone", {
        "    for n in range(rank * 128 + tidx, mX.shape[1], 512):\n": "    alone = mX.shape[1] <= 512\n    for n in range(rank * (512 if alone else 128) + tidx, mX.shape[1], 128 if alone else 512):\n"},
          "at least an eighth of row 0 of mX: 1 with"),
)  # fmt: skip
