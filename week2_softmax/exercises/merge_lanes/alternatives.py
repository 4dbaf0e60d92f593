"""Other correct solutions to week2/merge_lanes."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("four rows per block", {
        "bidx * 8 + tidx // 32": "bidx * 4 + tidx // 32",
        "shape[0], 8)": "shape[0], 4)",
        "(256, 1, 1)": "(128, 1, 1)",
    }),
    Wrong("the maximum, then the sum", {
        "        for k in cutlass.range_constexpr(5):\n"
        "            other_m = cute.arch.shuffle_sync_bfly(m, offset=16 >> k)\n"
        "            other_s = cute.arch.shuffle_sync_bfly(s, offset=16 >> k)\n"
        "            both = cute.arch.fmax(m, other_m)\n"
        "            shift = Float32(0.0) if both == -Float32.inf else both\n"
        "            s *= cute.math.exp(m - shift, fastmath=True)\n"
        "            s += other_s * cute.math.exp(other_m - shift, fastmath=True)\n"
        "            m = both\n":
            "        both = cute.arch.warp_reduction_max(m)\n"
            "        shift = Float32(0.0) if both == -Float32.inf else both\n"
            "        s = cute.arch.warp_reduction_sum(s * cute.math.exp(m - shift, fastmath=True))\n"
            "        m = both\n",
    }),
)  # fmt: skip
