"""Other correct solutions to week1/tile_columns."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("each warp adds up four columns by shuffles", {
        "    if warp == 0 and col < mX.shape[1]:\n        for k in cutlass.range_constexpr(1, 8):\n"
        "            total += sSum[k, lane]\n        mY[col] = total.to(mY.element_type)\n":
            "    col = warp * 4 + lane // 8\n    total = sSum[lane % 8, col]\n"
            "    for k in cutlass.range_constexpr(3):\n"
            "        total += cute.arch.shuffle_sync_bfly(total, offset=4 >> k)\n"
            "    if lane % 8 == 0 and bidx * 32 + col < mX.shape[1]:\n"
            "        mY[bidx * 32 + col] = total.to(mY.element_type)\n",
    }),
    Wrong("a tree over the warps", {"    sSum[warp, lane] = total\n    cute.arch.sync_threads()\n":
          "    sSum[warp, lane] = total\n    for k in cutlass.range_constexpr(3):\n        cute.arch.sync_threads()\n"
          "        if warp < 4 >> k:\n            sSum[warp, lane] += sSum[warp + (4 >> k), lane]\n",
          "        for k in cutlass.range_constexpr(1, 8):\n            total += sSum[k, lane]\n": "        total = sSum[0, lane]\n"}),
    Wrong("a warp reads neighbouring rows", {
        "        for m in range(warp, mX.shape[0], 8):\n":
            "        each = cute.ceil_div(mX.shape[0], 8)\n"
            "        for m in range(warp * each, cutlass.min(warp * each + each, mX.shape[0])):\n",
    }),
)  # fmt: skip
