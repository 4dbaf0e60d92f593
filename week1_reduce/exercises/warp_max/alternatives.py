"""Other correct solutions to week1/warp_max."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("a reduction of the warp", {"        for k in cutlass.range_constexpr(5):\n            other = cute.arch.shuffle_sync_bfly(largest, offset=16 >> k)\n"
          "            largest = cutlass.max(largest, other)\n": "        largest = cute.arch.warp_reduction(largest, cute.arch.fmax)\n"}),
    Wrong("four rows per block", {"bidx * 8": "bidx * 4", "mX.shape[0], 8)": "mX.shape[0], 4)", "(256, 1, 1)": "(128, 1, 1)"}),
)  # fmt: skip
