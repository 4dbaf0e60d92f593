"""Other correct solutions to week2/short_softmax."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("rows alternate among the lanes", {
        "bidx * 16 + tidx // 8, tidx % 8": "bidx * 16 + tidx // 32 * 4 + tidx % 4, tidx % 32 // 4",
        "    m = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=8)\n":
            "    for offset in (16, 8, 4):\n"
            "        m = cute.arch.fmax(m, cute.arch.shuffle_sync_bfly(m, offset=offset))\n",
        "    s = cute.arch.warp_reduction(s, operator.add, threads_in_group=8)\n":
            "    for offset in (16, 8, 4):\n"
            "        s += cute.arch.shuffle_sync_bfly(s, offset=offset)\n",
    }),
    Wrong("32 rows per block", {
        "bidx * 16": "bidx * 32",
        "mX.shape[0], 16)": "mX.shape[0], 32)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("shuffles by hand", {
        "    m = cute.arch.warp_reduction(m, cute.arch.fmax, threads_in_group=8)\n":
            "    for offset in (4, 2, 1):\n"
            "        m = cute.arch.fmax(m, cute.arch.shuffle_sync_bfly(m, offset=offset))\n",
        "    s = cute.arch.warp_reduction(s, operator.add, threads_in_group=8)\n":
            "    for offset in (4, 2, 1):\n"
            "        s += cute.arch.shuffle_sync_bfly(s, offset=offset)\n",
    }),
)  # fmt: skip
