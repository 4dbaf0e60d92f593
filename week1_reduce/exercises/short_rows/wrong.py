"""Wrong solutions of week1/short_rows."""

from forgekit.lessons.wrong import Wrong

LOOP = "for i in range(lane, cute.size(gX, mode=[1]), 8):"

WRONG = (
    Wrong("a whole warp", {", threads_in_group=8": ""}, "every element of actual is"),
    Wrong("one vector a lane, asked", {LOOP: "for i in range(lane, min(8, cute.size(gX, "
                                             "mode=[1])), 8):"}, "more than eight"),
    Wrong("begins at 1", {"total = Float32(0.0)": "total = Float32(0.125)"}, "does not begin at 0"),
    Wrong("a warp a row", {"bidx * 16 + tidx // 8, tidx % 8": "bidx * 4 + tidx // 32, tidx % 32",
                           "size(gX, mode=[1]), 8)": "size(gX, mode=[1]), 32)",
                           ", threads_in_group=8": "", "(mX.shape[0], 16)": "(mX.shape[0], 4)"},
          "Sectors stored"),
    Wrong("a sum of 32 lanes", {", threads_in_group=8": ""}, "the sum is that of four rows"),
)  # fmt: skip
