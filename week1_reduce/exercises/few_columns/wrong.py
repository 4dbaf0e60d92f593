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
    Wrong("the first threads' sums alone", {"range(1, deep)": "range(1, 1)"}, "belong to the first N threads"),
    Wrong("the first threads load alone", {"if tidx < deep * N:": "if tidx < N:"}, "those of the others are missing"),
)  # fmt: skip
