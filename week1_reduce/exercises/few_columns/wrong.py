"""Wrong solutions to week1/few_columns."""

from forgekit.lessons.wrong import Wrong

BARRIER = "    cute.arch.sync_threads()\n"

WRONG = (
    Wrong("no barrier", {BARRIER: ""}, "Race in shared memory"),
    Wrong("a warp reads a row", {"deep = 256 // N ": "deep = 8 ",
                                 "if tidx < deep * N:": "if tidx % 32 < N:",
                                 "range(tidx // N, 256": "range(tidx // 32, 256",
                                 "m, tidx % N]": "m, tidx % 32]",
                                 "sSum[tidx + k * N]": "sSum[tidx + k * 32]"},
          "Percentage of idle lanes over all instructions"),
    Wrong("eight rows at a time", {"deep = 256 // N ": "deep = 8 "}, "n = 3, float32: 1 of the block's 8"),
    Wrong("at most 64 rows at a time", {"deep = 256 // N ": "deep = 256 // N if N > 3 else 64 "}, "6 of the block's 8"),
    Wrong("a power of two of rows at a time", {"deep = 256 // N ": "deep = 8 if N > 16 else 16 if N > 8 else 32 "
          "if N > 4 else 64 if N > 2 else 128 if N > 1 else 256 "}, "6 of the block's 8; all have to read"),
    Wrong("the first threads' sums alone", {"range(1, deep)": "range(1, 1)"}, "belong to the first N threads"),
    Wrong("the first threads load alone", {"if tidx < deep * N:": "if tidx < N:"}, "those of the others are missing"),
    Wrong("a warp per row from 9 columns on", {
        "    deep = 256 // N ": "    deep, first, column, pitch = 256 // N, tidx // N, tidx % N, N + 0\n    if N > 8:\n"
        "        deep, first, column, pitch = 8, tidx // 32, tidx % 32, 32\n    # ",
        "if tidx < deep * N:": "if first < deep and column < N:", "range(tidx // N, 256": "range(first, 256",
        "m, tidx % N]": "m, column]", "sSum[tidx + k * N]": "sSum[tidx + k * pitch]"}, "with m = 1,000, n = 17"),
    Wrong("neighbours in a column from 9 columns on", {
        "    deep = 256 // N ": "    deep, first, column = 256 // N, tidx // N, tidx % N\n    if N > 8:\n"
        "        first, column = tidx % deep, tidx // deep\n    # ",
        "range(tidx // N, 256": "range(first, 256", "m, tidx % N]": "m, column]",
        "    sSum[tidx] = total\n": "    if tidx < deep * N:\n        sSum[first * N + column] = total\n",
        "        for k in range(1, deep)": "        total = Float32(0.0)\n        for k in range(deep)"},
        "Sectors loaded: "),
    Wrong("160 KB of shared memory", {"cute.make_layout(256), 16)": "cute.make_layout(160 * 256), 16)"}, "Bytes of shared memory in all blocks"),
)  # fmt: skip
