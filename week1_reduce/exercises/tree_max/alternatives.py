"""Other right solutions of week1/tree_max."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("the last five rounds by shuffles", {"range_constexpr(7)": "range_constexpr(2)", "    if tidx == 0:\n        mY[row] = sMax[0].to": "    cute.arch.sync_threads()\n"
          "    largest = cute.arch.warp_reduction(sMax[tidx % 32], cute.arch.fmax)\n    if tidx == 0:\n        mY[row] = largest.to"}),
)  # fmt: skip
