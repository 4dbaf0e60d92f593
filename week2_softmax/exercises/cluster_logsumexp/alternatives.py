"""Other correct solutions to week2/cluster_logsumexp."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("shuffles by hand", {
        "    m_warp = cute.arch.warp_reduction(m, cute.arch.fmax)\n":
            "    m_warp = m\n    for offset in (16, 8, 4, 2, 1):\n"
            "        m_warp = cute.arch.fmax(m_warp, cute.arch.shuffle_sync_bfly(m_warp, offset=offset))\n",
        "    s = cute.arch.warp_reduction(s, operator.add)\n":
            "    for offset in (16, 8, 4, 2, 1):\n"
            "        s += cute.arch.shuffle_sync_bfly(s, offset=offset)\n",
        "        m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=16)\n":
            "        m_row = m\n        for offset in (8, 4, 2, 1):\n"
            "            m_row = cute.arch.fmax(m_row, cute.arch.shuffle_sync_bfly(m_row, offset=offset))\n",
        "        s = cute.arch.warp_reduction(s, operator.add, threads_in_group=16)\n":
            "        for offset in (8, 4, 2, 1):\n"
            "            s += cute.arch.shuffle_sync_bfly(s, offset=offset)\n",
    }),
    Wrong("the last block takes the first columns", {"range(rank * 128": "range((3 - rank) * 128"}),
    Wrong("block 3 merges", {
        "    if rank == 0 and tidx == 0:\n        cute.arch.mbarrier_init":
            "    if rank == 3 and tidx == 0:\n        cute.arch.mbarrier_init",
        "pair, mbar, 0)": "pair, mbar, 3)",
        "    if rank == 0 and tidx < 32:": "    if rank == 3 and tidx < 32:",
    }),
    Wrong(
        "thread 0 merges the pairs",
        {"        m, s = sPart[0, tidx % 16], sPart[1, tidx % 16]\n        m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=16)\n        s *= cute.math.exp(m - m_row, fastmath=True)\n        s = cute.arch.warp_reduction(s, operator.add, threads_in_group=16)\n": "        m_row = -Float32.inf\n        for w in range(16):\n            m_row = cute.arch.fmax(m_row, sPart[0, w])\n        s = Float32(0.0)\n        for w in range(16):\n            s += sPart[1, w] * cute.math.exp(sPart[0, w] - m_row, fastmath=True)\n"},
    ),
)  # fmt: skip
