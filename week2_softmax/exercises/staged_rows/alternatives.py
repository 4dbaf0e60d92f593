"""Other correct solutions to week2/staged_rows."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("a maximum, then a sum", {"            m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n            added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)\n"
          "            s = s * cute.math.exp(m - m_new, fastmath=True) + added\n            m = m_new\n": "            m = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n",
          "    s = cute.arch.warp_reduction(s * cute.math.exp(m - m_row, fastmath=True), operator.add)\n": "    for k in cutlass.range_constexpr(8):\n        if k * 32 + lane < vectors:\n"
          "            s += cute.math.exp(tXsX[None, k].load() - m_row, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)\n    s = cute.arch.warp_reduction(s, operator.add)\n"}),
    Wrong("shuffles by hand", {
        "    m_row = cute.arch.warp_reduction(m, cute.arch.fmax)\n":
            "    m_row = m\n    for offset in (16, 8, 4, 2, 1):\n"
            "        m_row = cute.arch.fmax(m_row, cute.arch.shuffle_sync_bfly(m_row, offset=offset))\n",
        "    s = cute.arch.warp_reduction(s * cute.math.exp(m - m_row, fastmath=True), operator.add)\n":
            "    s = s * cute.math.exp(m - m_row, fastmath=True)\n"
            "    for offset in (16, 8, 4, 2, 1):\n"
            "        s += cute.arch.shuffle_sync_bfly(s, offset=offset)\n",
    }),
)  # fmt: skip
