"""Wrong solutions to week2/online_columns."""

from forgekit.lessons.wrong import Wrong

BARRIER = "    cute.arch.sync_threads()\n"
MERGE = """    m, s = -Float32.inf, Float32(0.0)
    for k in cutlass.range_constexpr(8):
        m, s = of_both((m, s), (sMax[k, lane], sSum[k, lane]))
"""
MIDDLE = "    sMax[warp, lane], sSum[warp, lane] = m, s\n" + BARRIER + MERGE

WRONG = (
    Wrong("each warp by itself", {MERGE: ""}, "as if the warps exchanged nothing"),
    Wrong("the first element for the maximum", {"m = cute.arch.fmax(a[0], b[0])": "m = a[0] if a[0] > -Float32.inf else b[0]"},
          "NaN: 37 in actual, 36 in expected"),
    Wrong("not divided", {"(e / s)": "e"}, "not divided by their sum"),
    Wrong("no barrier", {BARRIER: ""}, "Race in shared memory"),
    Wrong("some sums not stored", {"    sMax[warp, lane], sSum[warp, lane] = m, s\n": "    sMax[warp, lane] = m\n    if m > -Float32.inf:\n        sSum[warp, lane] = s\n"},
          "which no thread of its block has written yet"),
    Wrong("six warps store their pairs", {"    sMax[warp, lane], sSum[warp, lane] = m, s\n": "    if warp < 6:\n        sMax[warp, lane], sSum[warp, lane] = m, s\n"},
          "byte 768, which no thread"),
    Wrong("two warps compute the pairs", {"k in range(warp, mX.shape[0], 8):\n            m, s":
          "k in range(warp if warp < 2 else mX.shape[0], mX.shape[0], 2):\n            m, s",
          "k in range(warp, mX.shape[0], 8):\n            e": "k in range(warp if warp < 2 else mX.shape[0], mX.shape[0], 2):\n            e"},
          "Warps per block that share the loads: 2 with"),
    Wrong("barrier inside the predicate", {
        "    m, s = -Float32.inf, Float32(0.0)\n    if col": "    m, s = -Float32.inf, Float32(0.0)\n    if col",
        MIDDLE: "    if col < mX.shape[1]:\n" + "".join(f"    {line}\n" for line in MIDDLE.splitlines())},
        "Barrier in divergent code"),
    Wrong("columns of the tile exchanged", {"stride=(32, 1)": "stride=(1, 8)"}, "the task asks for no bank conflicts"),
    Wrong("the merged maximum begins at -1e38", {
        "    m, s = -Float32.inf, Float32(0.0)\n    for": "    m, s = Float32(-1e38), Float32(0.0)\n    for"},
        "float32, the result is wrong"),
    Wrong("every second round", {"k in range(warp, mX.shape[0], 8):\n            e": "k in range(warp, mX.shape[0], 16):\n            e"}, "no thread stores 75 of the 155 elements"),
    Wrong("two warps do the second pass", {"k in range(warp, mX.shape[0], 8):\n            e": "k in range(warp if warp < 2 else mX.shape[0], mX.shape[0], 2):\n            e"},
          "of columns 0 to 31 of mY: 2 with"),
    Wrong("short columns for warp 0 alone", {"        for k in range(warp, mX.shape[0], 8):\n            m, s":
          "        short = mX.shape[0] <= 32\n        for k in range(warp * 32 if short else warp, mX.shape[0], 1 if short else 8):\n            m, s"},
          "Warps per block that share the loads: 1 with"),
    Wrong("the maximum begins in row 0", {"        for k in range(warp, mX.shape[0], 8):\n            m, s":
          "        m = mX[0, col].to(Float32)\n        for k in range(warp, mX.shape[0], 8):\n            m, s"}, "more than twice; the first is mX[0, 0]"),
)  # fmt: skip
