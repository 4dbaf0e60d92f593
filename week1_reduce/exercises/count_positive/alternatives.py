"""Other correct solutions to week1/count_positive."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("thread 0 adds eight words", {
        "    count = cute.arch.warp_reduction(sCount[tidx % 8], operator.add, threads_in_group=8)\n"
        "    if tidx == 0:\n":
            "    if tidx == 0:\n        for k in cutlass.range_constexpr(1, 8):\n"
            "            count += sCount[k]\n",
    }),
    Wrong("shuffles by hand", {
        "    count = cute.arch.warp_reduction(count, operator.add)\n":
            "    for offset in (16, 8, 4, 2, 1):\n"
            "        count += cute.arch.shuffle_sync_bfly(count, offset=offset)\n",
        "    count = cute.arch.warp_reduction(sCount[tidx % 8], operator.add, threads_in_group=8)\n":
            "    count = sCount[tidx % 8]\n    for offset in (4, 2, 1):\n"
            "        count += cute.arch.shuffle_sync_bfly(count, offset=offset)\n",
    }),
)  # fmt: skip
