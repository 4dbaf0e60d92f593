"""Wrong solutions to week1/tree_max."""

from forgekit.lessons.wrong import Wrong

LOOP = "range(tidx, mX.shape[1], 128)"
ROUND = """        cute.arch.sync_threads()
        half = 64 >> k"""
TREE = """    for k in cutlass.range_constexpr(7):
        cute.arch.sync_threads()
        half = 64 >> k
        if tidx < half:
            sMax[tidx] = cutlass.max(sMax[tidx], sMax[tidx + half])
"""

WRONG = (
    Wrong("a cluster barrier as well", {"    if tidx == 0:\n        mY": "    cute.arch.cluster_arrive()\n    cute.arch.cluster_wait()\n    if tidx == 0:\n        mY"},
          "cute.arch.cluster_arrive()"),
    Wrong("begins at 0", {"-Float32.inf": "Float32(0.0)"}, "start it at −∞"),
    Wrong("smallest", {"largest = -Float32.inf": "largest = Float32.inf",
                       "cutlass.max(largest": "cutlass.min(largest",
                       "cutlass.max(sMax": "cutlass.min(sMax"}, "this is the smallest element"),
    Wrong("no barrier", {ROUND: "        half = 64 >> k"}, "Race in shared memory"),
    Wrong("one barrier", {TREE: TREE.replace("        cute.arch.sync_threads()\n", "").replace(
        "    for", "    cute.arch.sync_threads()\n    for")}, "(0, 0, 0) reads shared memory, byte 128"),
    Wrong("tail ignored", {LOOP: "range(tidx, mX.shape[1] // 128 * 128, 128)"}, "3 of 9 elements differ (33.3 %, float32)"),
    Wrong("128 elements", {LOOP: "range(tidx, cutlass.min(mX.shape[1], 128), 128)"},
          "covers only the first 128 elements"),
    Wrong("a step of 129", {LOOP: "range(tidx, mX.shape[1], 129)"}, "With m = 3, n = 129, float32"),
    Wrong("no tree", {TREE: ""}, "the largest of elements 0, 128, 256"),
    Wrong("four rounds", {"range_constexpr(7)": "range_constexpr(4)"}, "m = 9, n = 300, float32, the result"),
    Wrong("two barriers per round",
          {TREE: TREE + "        cute.arch.sync_threads()\n"}, "asks for at most 7 barriers"),
    Wrong("no barrier in float16", {ROUND: ROUND.replace("        cute", "        if cutlass.const_expr("
          "mX.element_type == Float32):\n            cute")}, "float16, the sanitizer reports an error"),
    Wrong("a barrier for the sizes tested alone", {ROUND: ROUND.replace("        cute", "        if mX.shape[1] < 32 or "
          "mX.shape[1] == 129 or mX.shape[1] % 100 == 0:\n            cute")}, "float32, the sanitizer reports an error"),
    Wrong("no elements above 3e38", {"largest = cutlass.max(largest, mX[row, n].to(Float32))":
          "largest = cutlass.max(largest, cutlass.min(mX[row, n].to(Float32), Float32(3e38)))"},
          "pattern: every wrong element is 3e+38"),
    Wrong("an atomic maximum", {"smem.allocate_tensor(Float32,": "smem.allocate_tensor(cutlass.Int32,",
          "    sMax[tidx] = largest\n" + TREE: """    if tidx == 0:
        sMax[0] = cutlass.Int32(-(2**31))
    cute.arch.sync_threads()
    bits = largest.bitcast(cutlass.Int32)
    cute.arch.atomic_max(sMax.iterator, bits ^ ((bits >> 31) & 0x7FFFFFFF))
    cute.arch.sync_threads()
    bits = sMax[0]
    largest = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).bitcast(Float32)
""", "sMax[0].to(": "largest.to("}, "not in a tree"),
    Wrong("at most 16,384 rows", {"grid=(mX.shape[0], 1, 1)": "grid=(cutlass.min(mX.shape[0], 16_384), 1, 1)"},
          "With m = 90,000"),
    Wrong("a tree for each 1,024 elements", {"    largest = -Float32.inf\n    for n in " + LOOP + ":\n        largest": """    best = -Float32.inf
    for begin in range(0, mX.shape[1], 1024):
      if begin > 0:
        cute.arch.sync_threads()
      largest = -Float32.inf
      for n in range(begin + tidx, min(begin + 1024, mX.shape[1]), 128):
        largest""", "    sMax[tidx] = largest\n" + TREE: """      sMax[tidx] = largest
      for k in cutlass.range_constexpr(7):
        cute.arch.sync_threads()
        half = 64 >> k
        if tidx < half:
            sMax[tidx] = cutlass.max(sMax[tidx], sMax[tidx + half])
      best = cutlass.max(best, sMax[0]) if tidx == 0 else best
""", "sMax[0].to(": "best.to("}, "Barriers: 39 with m = 9, n = 5,000"),
    Wrong("thread 0 merges 32 results", {TREE: """    cute.arch.sync_threads()
    if tidx < 32:
        for k in cutlass.range_constexpr(1, 4):
            largest = cutlass.max(largest, sMax[tidx + 32 * k])
        sMax[tidx] = largest
        cute.arch.sync_warp()
        if tidx == 0:
            for k in cutlass.range_constexpr(1, 32):
                largest = cutlass.max(largest, sMax[k])
""", "sMax[0].to(": "largest.to("}, "one thread loads 34 words from shared memory"),
)  # fmt: skip
