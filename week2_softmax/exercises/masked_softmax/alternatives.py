"""Other correct solutions to week2/masked_softmax."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("reads masked elements as well", {
        "            if mMask[row, n] != 0:\n                value = mX[row, n].to(Float32)\n":
            "            value = mX[row, n].to(Float32)\n            if mMask[row, n] != 0:\n",
        "            y = Float32(0.0)\n": "            y, value = Float32(0.0), mX[row, n].to(Float32)\n",
        "exp2((mX[row, n].to(Float32) - m_row)": "exp2((value - m_row)",
    }),
    Wrong("rescales where the maximum grows", {
        "                m_new = cute.arch.fmax(m, value)\n"
        "                s = s * cute.math.exp2((m - m_new) * scale, fastmath=True)\n"
        "                s += cute.math.exp2((value - m_new) * scale, fastmath=True)\n"
        "                m = m_new\n":
            "                if value > m:\n"
            "                    s = s * cute.math.exp2((m - value) * scale, fastmath=True) + 1.0\n"
            "                    m = value\n                else:\n"
            "                    s += cute.math.exp2((value - m) * scale, fastmath=True)\n",
    }),
)  # fmt: skip
