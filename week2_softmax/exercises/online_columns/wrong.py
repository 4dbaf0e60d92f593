"""Wrong solutions of week2/online_columns."""

from forgekit.lessons.wrong import Wrong

BARRIER = "    cute.arch.sync_threads()\n"
GUARD = "shift = Float32(0.0) if m == -Float32.inf else m"
MERGE = """    m, s = -Float32.inf, Float32(0.0)
    for k in cutlass.range_constexpr(8):
        m, s = of_both((m, s), (sMax[k, lane], sSum[k, lane]))
"""
FIRST = """    if col < mX.shape[1]:
        for k in range(warp, mX.shape[0], 8):
            m, s ="""
MIDDLE = "    sMax[warp, lane], sSum[warp, lane] = m, s\n" + BARRIER + MERGE

WRONG = (
    Wrong("each warp by itself", {MERGE: ""}, "each warp has made a softmax of its own"),
    Wrong("not divided", {"(e / s)": "e"}, "not divided by their sum"),
    Wrong("no guard", {GUARD: "shift = m"}, "has seen nothing but -inf"),
    Wrong("first sum not rescaled", {"s = a[1] * cute.math.exp(a[0] - shift, fastmath=True)": "s = a[1]"},
          "the result is wrong"),
    Wrong("an identity of -10,000", {"    m, s = -Float32.inf, Float32(0.0)\n    if col": "    m, s = Float32(-1.0e4), Float32(0.0)\n    if col"},
          "float32 the result is wrong"),
    Wrong("seven of eight", {"range_constexpr(8)": "range_constexpr(7)"}, "With m = 31, n = 5"),
    Wrong("no barrier", {BARRIER: ""}, "Race in shared memory"),
    Wrong("barrier inside the predicate", {
        "    m, s = -Float32.inf, Float32(0.0)\n    if col": "    m, s = -Float32.inf, Float32(0.0)\n    if col",
        MIDDLE: "    if col < mX.shape[1]:\n" + "".join(f"    {line}\n" for line in MIDDLE.splitlines())},
        "Barrier in divergent code"),
    Wrong("no predicate at the first loop", {FIRST: FIRST.replace("col < mX.shape[1]", "col >= 0")},
          "Out of bounds"),
    Wrong("columns of the tile exchanged", {"stride=(32, 1)": "stride=(1, 8)"}, "different words of one bank"),
    Wrong("lanes read rows", {"warp, lane = tidx // 32, tidx % 32": "warp, lane = tidx % 8, tidx // 8"},
          "Sectors loaded"),
    Wrong("blocks rounded down", {"cute.ceil_div(mX.shape[1], 32)": "mX.shape[1] // 32"},
          "use cute.ceil_div for the grid"),
    Wrong("a fixed grid", {"grid=(blocks, 1, 1)": "grid=(64, 1, 1)"}, "Threads launched"),
)  # fmt: skip
