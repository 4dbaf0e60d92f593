"""Other correct solutions to week2/two_blocks."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("each thread merges all four", {"    m, s = sPart[0, lane % 4], sPart[1, lane % 4]\n    m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=4)\n    s *= cute.math.exp(m - m_row, fastmath=True)\n"
          "    s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)\n": "    m_row, s = -Float32.inf, Float32(0.0)\n    for k in cutlass.range_constexpr(4):\n        m_row = cute.arch.fmax(m_row, sPart[0, k])\n"
          "    for k in cutlass.range_constexpr(4):\n        s += sPart[1, k] * cute.math.exp(sPart[0, k] - m_row, fastmath=True)\n"}),
    Wrong("one lane sends to both blocks", {
        "    if lane < 2:\n"
        "        cute.arch.store_async_dsmem(mine, (m.bitcast(Int32), s.bitcast(Int32)), mbar, lane)\n":
            "    if lane == 0:\n        for block in cutlass.range_constexpr(2):\n"
            "            pair = (m.bitcast(Int32), s.bitcast(Int32))\n"
            "            cute.arch.store_async_dsmem(mine, pair, mbar, block)\n",
    }),
)  # fmt: skip
