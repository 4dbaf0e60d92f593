"""Other right solutions of week2/staged_rows."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("a maximum, then a sum", {"            m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n            added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)\n"
          "            s = s * cute.math.exp(m - m_new, fastmath=True) + added\n            m = m_new\n": "            m = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n",
          "    s = cute.arch.warp_reduction(s * cute.math.exp(m - m_row, fastmath=True), operator.add)\n": "    for k in cutlass.range_constexpr(8):\n        if k * 32 + lane < vectors:\n"
          "            s += cute.math.exp(tXsX[None, k].load() - m_row, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)\n    s = cute.arch.warp_reduction(s, operator.add)\n"}),
)  # fmt: skip
