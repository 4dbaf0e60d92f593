"""Wrong solutions of week1/few_columns."""

from forgekit.lessons.wrong import Wrong

BARRIER = "    cute.arch.sync_threads()\n"
INNER = "            if part * 256 + m < M:\n"

WRONG = (
    Wrong("no barrier", {BARRIER: ""}, "Race in shared memory"),
    Wrong("a warp reads a row", {"deep = 256 // N ": "deep = 8 ",
                                 "if tidx < deep * N:": "if tidx % 32 < N:",
                                 "range(tidx // N, 256": "range(tidx // 32, 256",
                                 "m, tidx % N]": "m, tidx % 32]",
                                 "sSum[tidx + k * N]": "sSum[tidx + k * 32]"},
          "lanes idle, of all"),
    Wrong("last part not shorter", {INNER: "            if m >= 0:\n"}, "reads mX[4, 0]"),
    Wrong("predicate of the part", {INNER: "            if m < M:\n"}, "reads mX[300, 0]"),
    Wrong("neighbours of one column", {"range(tidx // N, 256": "range(tidx % deep, 256",
                                       "m, tidx % N]": "m, tidx // deep]",
                                       "if tidx < N:\n": "if tidx < N:\n        total -= total\n",
                                       "range(1, deep)": "range(deep)",
                                       "sSum[tidx + k * N]": "sSum[tidx * deep + k]"},
          "Sectors loaded"),
    Wrong("the first threads' sums alone", {"range(1, deep)": "range(1, 1)"}, "nobody adds them"),
    Wrong("float16 sums", {"total = Float32(0.0)": "total = mX.element_type(0.0)",
                           "tidx % N].to(Float32)": "tidx % N]",
                           "sSum[tidx] = total": "sSum[tidx] = total.to(Float32)",
                           "total += sSum[tidx + k * N]":
                           "total += sSum[tidx + k * N].to(mX.element_type)"},
          "float16 the result is wrong"),
    Wrong("one block", {"grid=(mY.shape[0], 1, 1)": "grid=(1, 1, 1)"}, "what is written"),
    Wrong("a block a row", {"grid=(mY.shape[0], 1, 1)": "grid=(mX.shape[0], 1, 1)"},
          "writes mY[0, 3]"),
    Wrong("barrier twice", {BARRIER: BARRIER + BARRIER}, "the solution gets by with fewer"),
)  # fmt: skip
