"""Other correct solutions to week2/logsumexp."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("four rows per block", {
        "bidx * 8 + tidx // 32": "bidx * 4 + tidx // 32",
        "shape[0], 8)": "shape[0], 4)",
        "(256, 1, 1)": "(128, 1, 1)",
    }),
    Wrong("online, in one pass", {
        "            m = cute.arch.fmax(m, mX[row, n].to(Float32))\n"
        "        m = cute.arch.warp_reduction(m, cute.arch.fmax)\n"
        "        shift = Float32(0.0) if m == -Float32.inf else m\n"
        "        for n in range(lane, mX.shape[1], 32):\n"
        "            s += cute.math.exp(mX[row, n].to(Float32) - shift, fastmath=True)\n"
        "        s = cute.arch.warp_reduction(s, operator.add)\n":
            "            value = mX[row, n].to(Float32)\n"
            "            m_new = cute.arch.fmax(m, value)\n"
            "            shift = Float32(0.0) if m_new == -Float32.inf else m_new\n"
            "            s = s * cute.math.exp(m - shift, fastmath=True)\n"
            "            s += cute.math.exp(value - shift, fastmath=True)\n            m = m_new\n"
            "        m_row = cute.arch.warp_reduction(m, cute.arch.fmax)\n"
            "        shift = Float32(0.0) if m_row == -Float32.inf else m_row\n"
            "        s = cute.arch.warp_reduction(s * cute.math.exp(m - shift, fastmath=True), operator.add)\n",
    }),
)  # fmt: skip
