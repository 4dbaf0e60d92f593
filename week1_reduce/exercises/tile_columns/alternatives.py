"""Other right solutions of week1/tile_columns."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("a tree over the warps", {"    sSum[warp, lane] = total\n    cute.arch.sync_threads()\n":
          "    sSum[warp, lane] = total\n    for k in cutlass.range_constexpr(3):\n        cute.arch.sync_threads()\n"
          "        if warp < 4 >> k:\n            sSum[warp, lane] += sSum[warp + (4 >> k), lane]\n",
          "        for k in cutlass.range_constexpr(1, 8):\n            total += sSum[k, lane]\n": "        total = sSum[0, lane]\n"}),
)  # fmt: skip
