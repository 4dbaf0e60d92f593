"""Other correct solutions to week1/short_rows."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("shuffles by hand", {"    total = cute.arch.warp_reduction(total, operator.add, threads_in_group=8)\n":
          "    for k in range(3):\n        total += cute.arch.shuffle_sync_bfly(total, offset=4 >> k)\n"}),
    Wrong("lanes of a row four apart", {
        "bidx * 16 + tidx // 8, tidx % 8": "bidx * 16 + tidx // 32 * 4 + tidx % 4, tidx % 32 // 4",
        "    total = cute.arch.warp_reduction(total, operator.add, threads_in_group=8)\n":
            "    for k in cutlass.range_constexpr(3):\n        total += cute.arch.shuffle_sync_bfly(total, offset=16 >> k)\n",
    }),
    Wrong("32 rows per block", {
        "bidx * 16": "bidx * 32",
        "mX.shape[0], 16)": "mX.shape[0], 32)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("1,024 threads per block", {
        "bidx * 16": "bidx * 128",
        "mX.shape[0], 16)": "mX.shape[0], 128)",
        "(128, 1, 1)": "(1024, 1, 1)",
    }),
)  # fmt: skip
