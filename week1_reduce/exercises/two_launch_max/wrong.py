"""Wrong solutions to week1/two_launch_max."""

from forgekit.lessons.wrong import Wrong

PIECE = "    best = -Float32.inf\n    for k in cutlass"
PART = "    best = -Float32.inf\n    for k in range"

WRONG = (
    Wrong("a piece begins at 0", {PIECE: PIECE.replace("-Float32.inf", "Float32(0.0)")},
          "which exceeds the expected one"),
    Wrong("the parts begin at 0", {PART: PART.replace("-Float32.inf", "Float32(0.0)")},
          "got 0, expected"),
    Wrong("a quarter of a piece", {"range_constexpr(4)": "range_constexpr(1)"},
          "covers only its first 256 columns"),
    Wrong("all but column 256 of a piece", {"        if n < mX.shape[1]:": "        if n < mX.shape[1] and n % 1024 != 256:"},
          "m = 14, n = 300, float32, the result"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong("at most twelve pieces", {
        "range(tidx, mPart.shape[1], 256)": "range(tidx, cutlass.min(mPart.shape[1], 12), 256)"},
        "The result with m = 8, n = "),
    Wrong("thread 0 alone takes the parts", {"    for k in range(tidx, mPart.shape[1], 256):\n":
          "    for k in range(0 if tidx == 0 else mPart.shape[1], mPart.shape[1]):\n"},
          "one warp executes"),
    Wrong("128 threads in the first launch", {
        "k * 256 + tidx": "k * 128 + tidx", "range_constexpr(4)": "range_constexpr(8)",
        "(pieces, rows, 1), block=(256": "(pieces, rows, 1), block=(128",
        "sMax[tidx % 8], cute.arch.fmax, threads_in_group=8": "sMax[tidx % 4], cute.arch.fmax, threads_in_group=4"},
        "Threads per block of the first launch: 128"),
    Wrong("at most 256 pieces", {
        "    for k in range(tidx, mPart.shape[1], 256):\n": "    k = tidx\n    if k < mPart.shape[1]:\n"},
        "of only the first 256 pieces"),
    Wrong("at most 1,024 pieces", {"    for k in range(tidx, mPart.shape[1], 256):\n": "    for k in range(tidx, cutlass.min(mPart.shape[1], 1024), 256):\n"},
          "With m = 1, n = 1,049,600, float32, the result is wrong"),
    Wrong("half a warp reads the parts", {
        "    for k in range(tidx, mPart.shape[1], 256):\n": "    for k in range(tidx if tidx < 16 else mPart.shape[1], mPart.shape[1], 16):\n"},
        "n = 1,049,600, float32: 16; at least"),
    Wrong("a piece too many", {
        "grid=(pieces, rows, 1)": "grid=(mX.shape[1] // 1024 + 1, rows, 1)",
        "    if tidx == 0:\n        mPart[row": "    if tidx == 0 and piece < mPart.shape[1]:\n        mPart[row"},
        "launches: 258 with m = 1, n = 263,168"),
)  # fmt: skip
