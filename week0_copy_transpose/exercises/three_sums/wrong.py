"""Wrong solutions to week0/three_sums."""

from forgekit.lessons.wrong import Wrong

BARRIER = "    cute.arch.sync_threads()\n"
LEFT = "    if tidx > 0:\n        total += sRow[tidx - 1]"
RIGHT = "    if tidx < 127:\n        total += sRow[tidx + 1]"

WRONG = (
    Wrong("no barrier", {BARRIER: ""}, "Race in shared memory"),
    Wrong("the right one missing", {RIGHT: ""}, "the right neighbour is missing"),
    Wrong("the left one missing", {LEFT: ""}, "the left neighbour is missing"),
    Wrong("a ring", {LEFT: "    total += sRow[(tidx + 127) % 128]",
                     RIGHT: "    total += sRow[(tidx + 1) % 128]"}, "treats the row as a ring"),
    Wrong("left edge not asked", {"if tidx > 0:": "if tidx >= 0:"}, "reads 4 bytes at shared-memory"),
    Wrong("barrier in the if", {BARRIER: "", "    if tidx > 0:\n":
                                "    if tidx > 0:\n        cute.arch.sync_threads()\n"},
          "Barrier in divergent code"),
    Wrong("from global memory", {"total += sRow[tidx - 1]": "total += mX[row, tidx - 1]",
                                 "total += sRow[tidx + 1]": "total += mX[row, tidx + 1]"},
          "or are loaded more often than needed"),
    Wrong("the edges of warps from global memory", {
        LEFT: "    value = total\n    left = cute.arch.shuffle_sync_up(value, offset=1)\n"
        "    right = cute.arch.shuffle_sync_down(value, offset=1)\n    if tidx > 0:\n"
        "        if tidx % 32 == 0:\n            left = mX[row, tidx - 1]\n        total += left",
        RIGHT: "    if tidx < 127:\n        if tidx % 32 == 31:\n"
        "            right = mX[row, tidx + 1]\n        total += right",
    }, "Sectors loaded: "),
    Wrong("one neighbour from global memory", {RIGHT: "    if tidx < 126:\n        total += sRow[tidx + 1]\n"
          "    if tidx == 126:\n        total += mX[row, 127]"}, "blocks load 3 elements more than once"),
    Wrong("the edge times 0", {LEFT: "    total += sRow[cutlass.max(tidx - 1, 0)] * cutlass.min(tidx, 1).to(Float32)"},
          "1 of 256 elements differs"),
    Wrong("the edges of warps times 0", {
        LEFT: "    value = total\n    left = cute.arch.shuffle_sync_up(value, offset=1)\n"
        "    right = cute.arch.shuffle_sync_down(value, offset=1)\n    lane = tidx % 32\n    if tidx > 0:\n"
        "        total += left * cutlass.min(lane, 1).to(Float32)\n        if lane == 0:\n            total += sRow[tidx - 1]",
        RIGHT: "    if tidx < 127:\n        total += right * cutlass.min(31 - lane, 1).to(Float32)\n"
        "        if lane == 31:\n            total += sRow[tidx + 1]",
    }, "With rows = 4, float32, the result is wrong"),
    Wrong("a barrier more", {"    mY[row, tidx] = total":
                             "    cute.arch.sync_threads()\n    mY[row, tidx] = total"},
          "asks for at most 1 barrier"),
    Wrong("too much shared memory", {"cute.make_layout(128)": "cute.make_layout(8192)"},
          "at most 512 bytes of shared memory"),
    Wrong("only the own element", {"total += sRow[tidx - 1]": "total += 0.0",
                                   "total += sRow[tidx + 1]": "total += 0.0"},
          "only the element itself is stored"),
)  # fmt: skip
