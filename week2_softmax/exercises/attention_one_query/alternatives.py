"""Other correct solutions to week2/attention_one_query."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("scores scaled after the sum", {
        "mQ[head, lane + 32 * d].to(Float32) * scale_log2":
            "mQ[head, lane + 32 * d].to(Float32)",
        "        score = cute.arch.warp_reduction(score, operator.add)\n":
            "        score = cute.arch.warp_reduction(score, operator.add) * scale_log2\n",
    }),
    Wrong("rescales where the maximum grows", {
        "        m_new = cute.arch.fmax(m, score)\n"
        "        old = cute.math.exp2(m - m_new, fastmath=True)\n"
        "        new = cute.math.exp2(score - m_new, fastmath=True)\n"
        "        m, s = m_new, s * old + new\n":
            "        old, new = Float32(1.0), Float32(1.0)\n        if score > m:\n"
            "            old = cute.math.exp2(m - score, fastmath=True)\n            m = score\n"
            "        else:\n            new = cute.math.exp2(score - m, fastmath=True)\n"
            "        s = s * old + new\n",
    }),
)  # fmt: skip
