"""Other correct solutions to week2/log2_softmax."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("shuffles by hand", {
        "        m = cute.arch.warp_reduction(m, cute.arch.fmax)\n":
            "        for offset in (16, 8, 4, 2, 1):\n"
            "            m = cute.arch.fmax(m, cute.arch.shuffle_sync_bfly(m, offset=offset))\n",
        "        s = cute.arch.warp_reduction(s, operator.add)\n":
            "        for offset in (16, 8, 4, 2, 1):\n"
            "            s += cute.arch.shuffle_sync_bfly(s, offset=offset)\n",
    }),
)  # fmt: skip
