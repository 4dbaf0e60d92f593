"""Other right solutions of week1/two_rows."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("the last five rounds by shuffles", {"range_constexpr(7)": "range_constexpr(2)", "    if place == 0 and row": "    cute.arch.sync_threads()\n"
          "    total = sSum[tidx // 128 * 128 + tidx % 32]\n    for k in cutlass.range_constexpr(5):\n"
          "        total += cute.arch.shuffle_sync_bfly(total, offset=16 >> k)\n    if place == 0 and row", "sSum[tidx].to(mY": "total.to(mY"}),
)  # fmt: skip
