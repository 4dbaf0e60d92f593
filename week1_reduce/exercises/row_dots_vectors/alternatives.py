"""Other correct solutions to week1/row_dots_vectors."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("shuffles by hand", {"        total = cute.arch.warp_reduction(total, operator.add)\n":
          "        for k in cutlass.range_constexpr(5):\n            total += cute.arch.shuffle_sync_bfly(total, offset=16 >> k)\n"}),
    Wrong("eight rows per block", {"bidx * 4": "bidx * 8", "mA.shape[0], 4)": "mA.shape[0], 8)", "(128, 1, 1)": "(256, 1, 1)"}),
)  # fmt: skip
