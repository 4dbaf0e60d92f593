"""Other correct solutions to week2/log_softmax."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("rescales where the maximum grows", {
        "            m_new = cute.arch.fmax(m, value)\n"
        "            s = s * cute.math.exp(m - m_new, fastmath=True)\n"
        "            s += cute.math.exp(value - m_new, fastmath=True)\n            m = m_new\n":
            "            if value > m:\n"
            "                s = s * cute.math.exp(m - value, fastmath=True) + 1.0\n"
            "                m = value\n            else:\n"
            "                s += cute.math.exp(value - m, fastmath=True)\n",
    }),
)  # fmt: skip
