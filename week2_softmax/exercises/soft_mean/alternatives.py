"""Other correct solutions to week2/soft_mean."""

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
        "        s, total = Float32(0.0), Float32(0.0)\n"
        "        for n in range(lane, mX.shape[1], 32):\n"
        "            e = cute.math.exp(mX[row, n].to(Float32) - m, fastmath=True)\n"
        "            s += e\n            total += e * mV[n].to(Float32)\n":
            "            value = mX[row, n].to(Float32)\n"
            "            m_new = cute.arch.fmax(m, value)\n"
            "            old = cute.math.exp(m - m_new, fastmath=True)\n"
            "            e = cute.math.exp(value - m_new, fastmath=True)\n"
            "            s, total = s * old + e, total * old + e * mV[n].to(Float32)\n"
            "            m = m_new\n"
            "        old = cute.math.exp(m - cute.arch.warp_reduction(m, cute.arch.fmax), fastmath=True)\n"
            "        s, total = s * old, total * old\n",
        "        m = -Float32.inf\n":
            "        m, s, total = -Float32.inf, Float32(0.0), Float32(0.0)\n",
    }),
)  # fmt: skip
