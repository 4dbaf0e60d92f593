"""Other right solutions of week2/two_blocks."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("each thread merges all four", {"    m, s = sPart[0, lane % 4], sPart[1, lane % 4]\n    m_row = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=4)\n    s *= cute.math.exp(m - m_row, fastmath=True)\n"
          "    s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)\n": "    m_row, s = -Float32.inf, Float32(0.0)\n    for k in cutlass.range_constexpr(4):\n        m_row = cute.arch.fmax(m_row, sPart[0, k])\n"
          "    for k in cutlass.range_constexpr(4):\n        s += sPart[1, k] * cute.math.exp(sPart[0, k] - m_row, fastmath=True)\n"}),
)  # fmt: skip
