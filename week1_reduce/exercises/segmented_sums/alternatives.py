"""Other correct solutions to week1/segmented_sums."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight segments per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "mY.shape[0], 4)": "mY.shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("a reduction of the warp", {
        "    for k in cutlass.range_constexpr(5):\n"
        "        total += cute.arch.shuffle_sync_bfly(total, offset=1 << k)\n":
            "    total = cute.arch.warp_reduction_sum(total)\n",
    }),
)  # fmt: skip
