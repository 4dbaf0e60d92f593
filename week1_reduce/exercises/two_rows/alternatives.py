"""Other correct solutions to week1/two_rows."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("from the end of each row", {"range(place, mX": "range(127 - place, mX"}),
    Wrong("the last five rounds by shuffles", {"range_constexpr(7)": "range_constexpr(2)", "    if place == 0 and row": "    cute.arch.sync_threads()\n"
          "    total = sSum[tidx // 128 * 128 + tidx % 32]\n    for k in cutlass.range_constexpr(5):\n"
          "        total += cute.arch.shuffle_sync_bfly(total, offset=16 >> k)\n    if place == 0 and row", "sSum[tidx].to(mY": "total.to(mY"}),
    Wrong("shuffles, then four words per row", {
        "    sSum[tidx] = total\n    for k in cutlass.range_constexpr(7):\n"
        "        cute.arch.sync_threads()\n        half = 64 >> k\n        if place < half:\n"
        "            sSum[tidx] += sSum[tidx + half]\n"
        "    if place == 0 and row < mX.shape[0]:\n        mY[row] = sSum[tidx]":
            "    for k in cutlass.range_constexpr(5):\n"
            "        total += cute.arch.shuffle_sync_bfly(total, offset=16 >> k)\n"
            "    if tidx % 32 == 0:\n        sSum[tidx // 32] = total\n"
            "    cute.arch.sync_threads()\n    if place == 0 and row < mX.shape[0]:\n"
            "        for k in cutlass.range_constexpr(1, 4):\n"
            "            total += sSum[tidx // 32 + k]\n        mY[row] = total",
    }),
)  # fmt: skip
