"""Other correct solutions to week1/tree_max."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("begins with the first element", {"-Float32.inf": "mX[row, 0].to(Float32)"}),
    Wrong("the last five rounds by shuffles", {"range_constexpr(7)": "range_constexpr(2)", "    if tidx == 0:\n        mY[row] = sMax[0].to": "    cute.arch.sync_threads()\n"
          "    largest = cute.arch.warp_reduction(sMax[tidx % 32], cute.arch.fmax)\n    if tidx == 0:\n        mY[row] = largest.to"}),
    Wrong("shuffles, then four words", {
        "    sMax[tidx] = largest\n    for k in cutlass.range_constexpr(7):\n"
        "        cute.arch.sync_threads()\n        half = 64 >> k\n        if tidx < half:\n"
        "            sMax[tidx] = cutlass.max(sMax[tidx], sMax[tidx + half])\n"
        "    if tidx == 0:\n        mY[row] = sMax[0].to":
            "    for k in cutlass.range_constexpr(5):\n"
            "        other = cute.arch.shuffle_sync_bfly(largest, offset=16 >> k)\n"
            "        largest = cutlass.max(largest, other)\n    if tidx % 32 == 0:\n"
            "        sMax[tidx // 32] = largest\n    cute.arch.sync_threads()\n    if tidx == 0:\n"
            "        for k in cutlass.range_constexpr(1, 4):\n"
            "            largest = cutlass.max(largest, sMax[k])\n        mY[row] = largest.to",
    }),
    Wrong("a comparison and a store", {"            sMax[tidx] = cutlass.max(sMax[tidx], sMax[tidx + half])\n":
          "            if sMax[tidx + half] > sMax[tidx]:\n                sMax[tidx] = sMax[tidx + half]\n"}),
)  # fmt: skip
