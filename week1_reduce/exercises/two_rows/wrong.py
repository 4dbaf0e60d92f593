"""Wrong solutions to week1/two_rows."""

from forgekit.lessons.wrong import Wrong

LOAD = """    if row < mX.shape[0]:
        for n in range(place, mX.shape[1], 128):
            total += mX[row, n].to(Float32)
    sSum[tidx] = total
    for k in cutlass.range_constexpr(7):
        cute.arch.sync_threads()
        half = 64 >> k
        if place < half:
            sSum[tidx] += sSum[tidx + half]
"""
INSIDE = """    if row < mX.shape[0]:
        for n in range(place, mX.shape[1], 128):
            total += mX[row, n].to(Float32)
        sSum[tidx] = total
        for k in cutlass.range_constexpr(7):
            cute.arch.sync_threads()
            half = 64 >> k
            if place < half:
                sSum[tidx] += sSum[tidx + half]
"""
ONE_TREE = "if tidx < half:"
BLOCKS = "cute.ceil_div(mX.shape[0], 2)"

WRONG = (
    Wrong("tree inside the predicate", {LOAD: INSIDE}, "do not reach the barrier"),
    Wrong("barrier in the branch of the lower half", {"        cute.arch.sync_threads()\n        half = 64 >> k\n        if place < half:\n":
          "        half = 64 >> k\n        if place < half:\n            cute.arch.sync_threads()\n"}, "some threads of the block do not reach"),
    Wrong("no predicate at the load", {"    if row < mX.shape[0]:\n": "    if row >= 0:\n"},
          "Out of bounds"),
    Wrong("one tree for two rows", {"if place < half:": ONE_TREE}, "a single element differs"),
    Wrong("a block too many for an even number of rows", {"cute.ceil_div(mX.shape[0], 2)": "mX.shape[0] // 2 + 1"},
          "Blocks: 6 with m = 10"),
    Wrong("one block per row", {BLOCKS: "mX.shape[0]"}, "one block per two rows: 3 blocks for 5 rows"),
    Wrong("a block too many", {BLOCKS: "mX.shape[0] // 2 + 1"}, "two rows: 5 blocks for"),
    Wrong("threads of both rows alternate", {"tidx // 128, tidx % 128": "tidx % 2, tidx // 2",
          "sSum[tidx + half]": "sSum[tidx + 2 * half]"}, "the distances between the lanes' addresses vary"),
    Wrong("warps of both rows alternate", {
        "bidx * 2 + tidx // 128, tidx % 128": "bidx * 2 + tidx // 32 % 2, tidx // 64 * 32 + tidx % 32",
        "sSum[tidx] = total": "sSum[tidx // 32 % 2 * 128 + place] = total",
        "            sSum[tidx] += sSum[tidx + half]": "            at = tidx // 32 % 2 * 128 + place\n            sSum[at] += sSum[at + half]",
        "= sSum[tidx].to": "= sSum[tidx // 32 % 2 * 128].to"}, "the next row to the other 128"),
    Wrong("no barrier", {"        cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong("missing rows by a factor", {"mX[row, n].to(Float32)": "mX[row, n].to(Float32)\n            total += mX[row, n].to(Float32) * Float32(0.0)"},
          "NaN: 1 in actual, 0 in expected"),
    Wrong("five rounds", {"range_constexpr(7)": "range_constexpr(5)"}, "mY: 2 of 2 elements differ"),
    Wrong("no tree", {"            sSum[tidx] += sSum[tidx + half]": "            pass"}, "as if only the first thread of each row counted"),
    Wrong("last barriers left out", {"        cute.arch.sync_threads()\n":
          "        if cutlass.const_expr(k < 2):\n            cute.arch.sync_threads()\n"},
          "+= sSum[tidx + half]"),
    Wrong("adds in float16", {
        "total += mX[row, n].to(Float32)": "total = (total + mX[row, n].to(Float32)).to(cutlass.Float16).to(Float32)"},
        "float32, the result is wrong"),
    Wrong(
        "at most 8,192 blocks",
        {"blocks = cute.ceil_div(mX.shape[0], 2)": "blocks = cutlass.min(cute.ceil_div(mX.shape[0], 2), 8192)"},
        "With m = 90,000",
    ),
    Wrong(
        "two warps of each half",
        {"range(place, mX.shape[1], 128)": "range(place if place < 64 else mX.shape[1], mX.shape[1], 64)"},
        "row 0 is loaded by 2 warps; needed four",
    ),
    Wrong("the halves in the other order", {
        "row, place = bidx * 2 + tidx // 128, tidx % 128": "row, place = bidx * 2 + 1 - tidx // 128, tidx % 128",
    }, "loads mX[0, 0]"),
    Wrong("a tree for each 1,024 elements", {"    total = Float32(0.0)\n" + LOAD: """    whole = Float32(0.0)
    for begin in range(0, mX.shape[1], 1024):
      if begin > 0:
        cute.arch.sync_threads()
      total = Float32(0.0)
      if row < mX.shape[0]:
        for n in range(begin + place, min(begin + 1024, mX.shape[1]), 128):
            total += mX[row, n].to(Float32)
      sSum[tidx] = total
      for k in cutlass.range_constexpr(7):
        cute.arch.sync_threads()
        half = 64 >> k
        if place < half:
            sSum[tidx] += sSum[tidx + half]
      whole += sSum[tidx] if place == 0 else Float32(0.0)
""", "mY[row] = sSum[tidx]": "mY[row] = whole"}, "Barriers: 39 with m = 10, n = 5,000"),
)  # fmt: skip
