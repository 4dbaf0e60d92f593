"""Other correct solutions to week1/row_range."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("begins with the first element", {"    high, low = -Float32.inf, Float32.inf\n    for":
          "    high, low = mX[row, 0].to(Float32), mX[row, 0].to(Float32)\n    for"}),
    Wrong("every warp reads all", {"    if tidx < 32:\n        high, low = -Float32.inf, Float32.inf\n        if tidx < 8:\n            high, low = sMax[tidx], sMin[tidx]\n":
          "    if tidx < 8:\n        high, low = sMax[tidx], sMin[tidx]\n    if tidx < 32:\n"}),
    Wrong("one lane merges", {"        high, low = -Float32.inf, Float32.inf\n        if tidx < 8:\n            high, low = sMax[tidx], sMin[tidx]\n        for k in cutlass.range_constexpr(3):\n"
          "            high = cutlass.max(high, cute.arch.shuffle_sync_bfly(high, offset=4 >> k))\n            low = cutlass.min(low, cute.arch.shuffle_sync_bfly(low, offset=4 >> k))\n":
          "        for k in cutlass.range_constexpr(8):\n            high, low = cutlass.max(high, sMax[k]), cutlass.min(low, sMin[k])\n"}),
)  # fmt: skip
