"""Wrong solutions to week1/tile_columns."""

from forgekit.lessons.wrong import Wrong

STORE = "    sSum[warp, lane] = total\n    cute.arch.sync_threads()\n"

WRONG = (
    Wrong("no barrier", {STORE: "    sSum[warp, lane] = total\n"}, "Race in shared memory"),
    Wrong("one warp's sum", {"range_constexpr(1, 8)": "range_constexpr(0)"}, "only the sum of rows 0, 8, 16"),
    Wrong("every eighth row for a warp of its own", {"range(warp, mX.shape[0], 8)": "range(8 * warp, mX.shape[0], 64)"},
          "as if the other warps' sums were not added"),
    Wrong("last warp left out", {"range_constexpr(1, 8)": "range_constexpr(1, 7)"},
          "as if the last warp's sum were not added"),
    Wrong("first rows left out", {"range(warp, mX": "range(warp + 8, mX"},
          "the first eight rows are left out"),
    Wrong("last rows left out", {"range(warp, mX.shape[0], 8)": "range(warp, mX.shape[0] // 8 * 8, 8)"},
          "no thread reads mX"),
    Wrong("no rows for half of the warps",
          {"if col < mX.shape[1]:\n        for": "if col < mX.shape[1] and warp < 4:\n        for", "mX.shape[0], 8)": "mX.shape[0], 4)"},
          "4 of 8 warps load the first 32 columns"),
    Wrong("eighths of the rows, rounded down", {
        "        for m in range(warp, mX.shape[0], 8)": "        each = mX.shape[0] // 8\n        for m in range(warp * each, warp * each + each)"},
        "got 0, expected 1.208496"),
    Wrong("each half of a warp has a row of its own", {
        "    total = Float32(0.0)\n    if col < mX.shape[1]:\n        for m in range(warp, mX.shape[0], 8):\n            total += mX[m, col].to(Float32)\n": """    rows = cutlass.const_expr(2 if mX.element_type is Float32 else 1)
    width = 32 // rows
    half, left = lane // width, bidx * 32 + lane % width
    total, other = Float32(0.0), Float32(0.0)
    for m in range(warp * rows + half, mX.shape[0], 8 * rows):
        if left < mX.shape[1]:
            total += mX[m, left].to(Float32)
        if left + 16 < mX.shape[1] and rows == 2:
            other += mX[m, left + 16].to(Float32)
    if cutlass.const_expr(rows == 2):
        total += cute.arch.shuffle_sync_bfly(total, offset=16)
        other += cute.arch.shuffle_sync_bfly(other, offset=16)
        if half == 1:
            total = other
"""}, "16 lanes load the first 32 elements"),
    Wrong("lanes and warps exchanged",
          {"warp, lane = tidx // 32, tidx % 32": "warp, lane = tidx % 8, tidx // 8"},
          "Sectors loaded"),
    Wrong("float16 sums", {"total = Float32(0.0)": "total = mX.element_type(0.0)",
                           "total += mX[m, col].to(Float32)": "total += mX[m, col]",
                           "sSum[warp, lane] = total": "sSum[warp, lane] = total.to(Float32)",
                           "total += sSum[k, lane]": "total += sSum[k, lane].to(mX.element_type)"},
          "float16, the result is wrong"),
    Wrong("every warp stores", {"if warp == 0 and col": "if col"},
          "rows 7, 15, 23, … count twice"),
    Wrong("warp 7 adds the sums of warps 1 to 7", {"if warp == 0 and col": "if warp == 7 and col"},
          "rows 0, 8, 16, … are missing"),
    Wrong("a thread per column", {
        "warp, lane = tidx // 32, tidx % 32": "warp, lane = 0, tidx", "bidx * 32 + lane": "bidx * 256 + lane",
        "range(warp, mX.shape[0], 8)": "range(mX.shape[0])", STORE: "",
        "        for k in cutlass.range_constexpr(1, 8):\n            total += sSum[k, lane]\n": "",
        "(mX.shape[1], 32)": "(mX.shape[1], 256)"}, "asks for one block per 32 columns"),
)  # fmt: skip
