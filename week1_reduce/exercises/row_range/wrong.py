"""Wrong solutions of week1/row_range."""

from forgekit.lessons.wrong import Wrong

FIRST = "    high, low = -Float32.inf, Float32.inf\n    for"
READ = """        high, low = -Float32.inf, Float32.inf
        if tidx < 8:
            high, low = sMax[tidx], sMin[tidx]
        for k in cutlass.range_constexpr(3):"""
SERIAL = """        if tidx == 0:
            for k in range(1, 8):
                high, low = cutlass.max(high, sMax[k]), cutlass.min(low, sMin[k])
            mY[row] = (high - low).to(mY.element_type)"""
TAIL = """            low = cutlass.min(low, cute.arch.shuffle_sync_bfly(low, offset=4 >> k))
        if tidx == 0:"""

WRONG = (
    Wrong("both begin at 0", {FIRST: "    high, low = Float32(0.0), Float32(0.0)\n    for"},
          "comes out as 0"),
    Wrong("exchanged", {"(high - low)": "(low - high)"}, "subtracted from the smallest"),
    Wrong("twice the largest", {"(high - low)": "(high - high)"}, "are the same"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong("two barriers", {"    cute.arch.sync_threads()\n": "    cute.arch.sync_threads()\n" * 2},
          "Barriers that a warp arrives at"),
    Wrong("only 8 lanes shuffle", {READ: """        high, low = -Float32.inf, Float32.inf
        if tidx < 8:
            high, low = sMax[tidx], sMin[tidx]
        for k in cutlass.range_constexpr(4):""", "4 >> k))\n            low": "8 >> k))\n            low",
          "    if tidx < 32:\n": "    if tidx < 8:\n"}, "which takes no part"),
    Wrong("32 words read", {"        if tidx < 8:\n": "        if tidx < 32:\n"}, "reads 4 bytes at shared-memory offset 64"),
    Wrong("one round of shuffles", {"range_constexpr(3)": "range_constexpr(2)"}, "the result is wrong"),
    Wrong("first warp alone", {TAIL: TAIL, "sMax[tidx], sMin[tidx]": "sMax[0], sMin[0]"},
          "With m = 2, n = 1,000"),
    Wrong("tail ignored", {"mX.shape[1], 256)": "mX.shape[1] // 32 * 32, 256)"}, "every element of actual is -inf"),
    Wrong("shared memory as long as a row", {"sMax = smem.allocate_tensor(Float32, cute.make_layout(8)":
          "sMax = smem.allocate_tensor(Float32, cute.make_layout(1024)"}, "Bytes of shared memory"),
    Wrong("a fixed grid", {"grid=(mX.shape[0], 1, 1)": "grid=(64, 1, 1)"}, "Out of bounds"),
)  # fmt: skip

EQUIVALENT = {
    "line 15: no predicate": "after a butterfly all lanes store the same number, in one wavefront",
    "line 18: no predicate": "the other warps do the same in vain; thread 0 alone stores",
}
