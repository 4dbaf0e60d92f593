"""Wrong solutions to week1/short_rows."""

from forgekit.lessons.wrong import Wrong

LOOP = "for i in range(lane, cute.size(gX, mode=[1]), 8):"

WRONG = (
    Wrong("a whole warp", {", threads_in_group=8": ""}, "every element of actual is"),
    Wrong("one vector per lane, asked", {LOOP: "for i in range(lane, min(8, cute.size(gX, "
                                             "mode=[1])), 8):"}, "more than eight"),
    Wrong("begins at 1", {"total = Float32(0.0)": "total = Float32(0.125)"}, "1 more than the sum"),
    Wrong("one warp per row", {"bidx * 16 + tidx // 8, tidx % 8": "bidx * 4 + tidx // 32, tidx % 32",
                           "size(gX, mode=[1]), 8)": "size(gX, mode=[1]), 32)",
                           ", threads_in_group=8": "", "(mX.shape[0], 16)": "(mX.shape[0], 4)"},
          "asks for eight lanes per row"),
    Wrong("adds in float16", {
        "total += gX[(None, i)].load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)": "total = (total + gX[(None, i)].load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)).to(cutlass.Float16).to(Float32)"},
        "float32, the result is wrong"),
    Wrong("read through bfloat16", {
        ".load().to(Float32)": ".load().to(cutlass.BFloat16).to(Float32)"}, "mY: 4 of 4 elements"),
    Wrong("8 bytes per load in float16", {"128 // mX": "(128 if mX.element_type is Float32 else 64) // mX"},
          "Bytes per load (mean, weighted by bytes): 8"),
    Wrong("half a warp adds its two rows in turn", {"row, lane = bidx * 16 + tidx // 8, tidx % 8": "lane, sums = tidx % 16, Float32(0.0)",
        """    total = Float32(0.0)
    if row < mX.shape[0]:
        gX = cute.zipped_divide(mX[row, None], (vec,))  # ((Vec),(Rest))
        for i in range(lane, cute.size(gX, mode=[1]), 8):
            total += gX[(None, i)].load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction(total, operator.add, threads_in_group=8)
    if lane == 0 and row < mX.shape[0]:
        mY[row] = total.to(mY.element_type)
""": """    first = bidx * 16 + tidx // 16 * 2
    for r in range(2):
        total = Float32(0.0)
        if first + r < mX.shape[0]:
            gX = cute.zipped_divide(mX[first + r, None], (vec,))
            for i in range(lane, cute.size(gX, mode=[1]), 16):
                total += gX[(None, i)].load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
        total = cute.arch.warp_reduction(total, operator.add, threads_in_group=16)
        if lane == r:
            sums = total
    if lane < 2 and first + lane < mX.shape[0]:
        mY[first + lane] = sums.to(mY.element_type)
"""}, "16 threads load row 0 of mX"),
    Wrong("a sum of 32 lanes", {", threads_in_group=8": ""}, "this is the sum of four rows"),
    Wrong("rows in y of the grid", {"bidx, _, _ = cute.arch.block_idx()": "_, bidx, _ = cute.arch.block_idx()",
          "grid=(blocks, 1, 1)": "grid=(1, blocks, 1)"}, "got a grid of (1, 74899, 1) blocks"),
    Wrong("vectors in whole tiles alone", {
        """        for i in range(lane, cute.size(gX, mode=[1]), 8):
            total += gX[(None, i)].load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
""": """        whole = cute.size(gX, mode=[1]) // 8 * 8
        for i in range(lane, whole, 8):
            total += gX[(None, i)].load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
        for n in range(whole * vec + lane, mX.shape[1], 8):
            total += mX[row, n].to(Float32)
"""}, "Bytes per load (mean, weighted by bytes): 4 with m = 640, n = 24"),
    Wrong("elements in rows of more than 64", {
        """        for i in range(lane, cute.size(gX, mode=[1]), 8):
            total += gX[(None, i)].load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
""": """        if mX.shape[1] <= 64:
            for i in range(lane, cute.size(gX, mode=[1]), 8):
                total += gX[(None, i)].load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)
        else:
            for n in range(lane, mX.shape[1], 8):
                total += mX[row, n].to(Float32)
"""}, "4 with m = 640, n = 200"),
    Wrong("a block too many", {"cute.ceil_div(mX.shape[0], 16)": "mX.shape[0] // 16 + 1"}, "Blocks: 41 with m = 640"),
)  # fmt: skip
