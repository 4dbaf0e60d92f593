"""Other correct solutions to week1/block_prefix."""

from forgekit.lessons.wrong import Wrong

SCAN = """    if warp == 0:
        total = Float32(0.0)
        if lane < 8:
            total = sTotal[lane]
        for k in cutlass.range_constexpr(3):
            left = cute.arch.shuffle_sync_up(total, offset=1 << k)
            if lane >= 1 << k:
                total += left
        if lane < 8:
            sTotal[lane] = total
    cute.arch.sync_threads()
    if warp > 0:
        value += sTotal[warp - 1]
"""

ALTERNATIVES = (
    Wrong("totals scanned by warp 0", {"    for w in cutlass.range_constexpr(7):\n        if w < warp:\n            value += sTotal[w]\n":
          SCAN}),
    Wrong("each warp scans the totals", {
        "    for w in cutlass.range_constexpr(7):\n        if w < warp:\n"
        "            value += sTotal[w]\n":
            "    part = sTotal[lane % 8]\n    for k in cutlass.range_constexpr(3):\n"
            "        left = cute.arch.shuffle_sync_up(part, offset=1 << k)\n"
            "        if lane >= 1 << k:\n            part += left\n"
            "    before = cute.arch.shuffle_sync(part, cutlass.max(warp - 1, 0))\n"
            "    if warp > 0:\n        value += before\n",
    }),
)  # fmt: skip
