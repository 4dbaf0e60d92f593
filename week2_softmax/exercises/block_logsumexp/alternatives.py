"""Other correct solutions to week2/block_logsumexp."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("the warp's maximum first", {"    for k in cutlass.range_constexpr(5):\n        other = tuple(cute.arch.shuffle_sync_bfly(v, offset=16 >> k) for v in (m, s))\n        m, s = together((m, s), other)\n":
          "    m_warp = cute.arch.warp_reduction(m, cute.arch.fmax)\n    shift = Float32(0.0) if m_warp == -Float32.inf else m_warp\n"
          "    s = cute.arch.warp_reduction_sum(s * cute.math.exp(m - shift, fastmath=True))\n    m = m_warp\n"}),
    Wrong("thread 0 merges", {
        "    m, s = sMax[tidx % 8], sSum[tidx % 8]\n    for k in cutlass.range_constexpr(3):\n"
        "        other = tuple(cute.arch.shuffle_sync_bfly(v, offset=4 >> k) for v in (m, s))\n"
        "        m, s = together((m, s), other)\n    if tidx == 0:\n":
            "    if tidx == 0:\n        for w in cutlass.range_constexpr(1, 8):\n"
            "            m, s = together((m, s), (sMax[w], sSum[w]))\n",
    }),
)  # fmt: skip
