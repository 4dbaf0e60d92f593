"""Wrong solutions of week1/two_launch_max."""

from forgekit.lessons.wrong import Wrong

PIECE = "    best = -Float32.inf\n    for k in cutlass"
PART = "    best = -Float32.inf\n    for k in range"
SECOND = "    parts_max_kernel(mPart, mY).launch(grid=(rows, 1, 1), block=(256, 1, 1))\n"

WRONG = (
    Wrong("a piece begins at 0", {PIECE: PIECE.replace("-Float32.inf", "Float32(0.0)")},
          "never below 0"),
    Wrong("the parts begin at 0", {PART: PART.replace("-Float32.inf", "Float32(0.0)")},
          "got 0, expected"),
    Wrong("a quarter of a piece", {"range_constexpr(4)": "range_constexpr(1)"},
          "only the first 256 columns"),
    Wrong("no predicate", {"if n < mX.shape[1]:": "if n >= 0:"}, "reads mX[0, 1025]"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong("warps do not meet", {"cute.arch.warp_reduction(sMax[tidx % 8], cute.arch.fmax, "
                                "threads_in_group=8)": "best"}, "WRONG mPart"),
    Wrong("one block a row", {"grid=(pieces, rows, 1)": "grid=(1, rows, 1)"},
          "With m = 1, n = 1,025"),
    Wrong("a barrier more", {"    best = max_of_block(best)\n    if tidx == 0:\n        mY":
                             "    cute.arch.sync_threads()\n    best = max_of_block(best)\n"
                             "    if tidx == 0:\n        mY"}, "the solution gets by with fewer"),
    Wrong("shared memory of a whole piece", {"cute.make_layout(8)": "cute.make_layout(1024)"},
          "every byte that a block takes"),
)  # fmt: skip
