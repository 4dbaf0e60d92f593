"""Wrong solutions of week1/tree_max."""

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
INTERLEAVED = """    for k in cutlass.range_constexpr(7):
        cute.arch.sync_threads()
        step = 1 << k
        if tidx * 2 * step < 128:
            sMax[tidx * 2 * step] = cutlass.max(sMax[tidx * 2 * step], sMax[tidx * 2 * step + step])
"""
ONE_THREAD = """    cute.arch.sync_threads()
    if tidx == 0:
        for k in range(1, 128):
            sMax[0] = cutlass.max(sMax[0], sMax[k])
"""

WRONG = (
    Wrong("begins at 0", {"-Float32.inf": "Float32(0.0)"}, "0 is larger than any of these"),
    Wrong("smallest", {"largest = -Float32.inf": "largest = Float32.inf",
                       "cutlass.max(largest": "cutlass.min(largest",
                       "cutlass.max(sMax": "cutlass.min(sMax"}, "this is the smallest element"),
    Wrong("no barrier", {ROUND: "        half = 64 >> k"}, "Race in shared memory"),
    Wrong("one barrier", {TREE: TREE.replace("        cute.arch.sync_threads()\n", "").replace(
        "    for", "    cute.arch.sync_threads()\n    for")}, "(0, 0, 0) reads shared memory, byte 128"),
    Wrong("barrier in the if", {TREE: TREE.replace("        cute.arch.sync_threads()\n", "").replace(
        "half:\n", "half:\n            cute.arch.sync_threads()\n")}, "take it out of the `if`"),
    Wrong("tail ignored", {LOOP: "range(tidx, mX.shape[1] // 128 * 128, 128)"}, "every element of actual is -inf"),
    Wrong("128 elements", {LOOP: "range(tidx, cutlass.min(mX.shape[1], 128), 128)"},
          "only the first 128 elements"),
    Wrong("a round too few", {"range_constexpr(7)": "range_constexpr(6)"}, "the result is wrong"),
    Wrong("a round too many", {"half = 64 >> k": "half = 128 >> k",
                               "range_constexpr(7)": "range_constexpr(8)"}, "sMax[tidx + half]"),
    Wrong("no tree", {TREE: ""}, "nothing reaches it from the other threads"),
    Wrong("two barriers a round",
          {TREE: TREE + "        cute.arch.sync_threads()\n"}, "Barriers that a warp arrives at"),
    Wrong("bank conflicts", {TREE: INTERLEAVED}, "Wavefronts of shared memory"),
    Wrong("one thread reads all", {TREE: ONE_THREAD}, "Percent of the lanes idle"),
    Wrong("a fixed grid", {"grid=(mX.shape[0], 1, 1)": "grid=(64, 1, 1)"}, "Out of bounds"),
    Wrong("shared memory as long as a row", {"cute.make_layout(128)": "cute.make_layout(2048)"},
          "Bytes of shared memory a block"),
)  # fmt: skip
