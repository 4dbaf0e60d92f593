"""Other right solutions of week1/block_prefix."""

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
)  # fmt: skip
