"""Wrong solutions of week1/two_launch_max."""

from forgekit.lessons.wrong import Wrong

PIECE = "    best = -Float32.inf\n    for k in cutlass"
PART = "    best = -Float32.inf\n    for k in range"

WRONG = (
    Wrong("a piece begins at 0", {PIECE: PIECE.replace("-Float32.inf", "Float32(0.0)")},
          "never below 0"),
    Wrong("the parts begin at 0", {PART: PART.replace("-Float32.inf", "Float32(0.0)")},
          "got 0, expected"),
    Wrong("a quarter of a piece", {"range_constexpr(4)": "range_constexpr(1)"},
          "only the first 256 columns"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
)  # fmt: skip
