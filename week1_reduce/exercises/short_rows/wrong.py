"""Wrong solutions of week1/short_rows."""

from forgekit.lessons.wrong import Wrong

REDUCE = "    total = cute.arch.warp_reduction(total, operator.add, threads_in_group=8)\n"
STORE = "    if lane == 0 and row < mX.shape[0]:\n        mY"
INSIDE = {REDUCE: "    if row < mX.shape[0]:\n    " + REDUCE}
LOOP = "for i in range(lane, cute.size(gX, mode=[1]), 8):"

WRONG = (
    Wrong("a whole warp", {", threads_in_group=8": ""}, "every element of actual is"),
    Wrong("half of the lanes", {"threads_in_group=8": "threads_in_group=4"}, "the result is wrong"),
    Wrong("one vector a lane, asked", {LOOP: "for i in range(lane, min(8, cute.size(gX, "
                                             "mode=[1])), 8):"}, "more than eight"),
    Wrong("begins at 1", {"total = Float32(0.0)": "total = Float32(0.125)"}, "does not begin at 0"),
    Wrong("no predicate", {"    if row < mX.shape[0]:\n        gX": "    if row >= 0:\n        gX"},
          "reads mX[4, 0]"),
    Wrong("store not asked", {"lane == 0 and row < mX.shape[0]": "lane == 0"}, "writes mY[4]"),
    Wrong("a warp a row", {"bidx * 16 + tidx // 8, tidx % 8": "bidx * 4 + tidx // 32, tidx % 32",
                           "size(gX, mode=[1]), 8)": "size(gX, mode=[1]), 32)",
                           ", threads_in_group=8": "", "(mX.shape[0], 16)": "(mX.shape[0], 4)"},
          "Sectors stored"),
    Wrong("every lane stores", {"if lane == 0 and": "if lane >= 0 and"}, "stored more than once"),
)  # fmt: skip
