"""Other correct solutions to week2/value_and_gradient."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("shuffles by hand", {
        "        m_row = cute.arch.warp_reduction(m, cute.arch.fmax)\n":
            "        m_row = m\n        for offset in (16, 8, 4, 2, 1):\n"
            "            m_row = cute.arch.fmax(m_row, cute.arch.shuffle_sync_bfly(m_row, offset=offset))\n",
        "        s = cute.arch.warp_reduction(s * scale, operator.add)\n":
            "        s = s * scale\n        for offset in (16, 8, 4, 2, 1):\n"
            "            s += cute.arch.shuffle_sync_bfly(s, offset=offset)\n",
        "        t = cute.arch.warp_reduction(t * scale, operator.add)\n":
            "        t = t * scale\n        for offset in (16, 8, 4, 2, 1):\n"
            "            t += cute.arch.shuffle_sync_bfly(t, offset=offset)\n",
    }),
)  # fmt: skip
