"""Other correct solutions to week1/tile_columns."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
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
