"""Other correct solutions to week2/backward_in_place."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("shuffles by hand", {
        "        dot = cute.arch.warp_reduction(dot, operator.add)\n":
            "        for offset in (16, 8, 4, 2, 1):\n"
            "            dot += cute.arch.shuffle_sync_bfly(dot, offset=offset)\n",
    }),
)  # fmt: skip
